/** What each anchor word of the secrets side leads to. */
import { type Anchor, beginsWithin, type Check, continues, isUnspaced } from "../anchor.ts";
import { secretHit } from "../finding.ts";
import { INFIXES, jsonWebToken, privateKeyBlock, telegramToken, tokenAround } from "./blocks.ts";
import { authorizationHeader, passwordOption, schemeCredential, userOption } from "./header.ts";
import { announcedSecret } from "./keyed.ts";
import { serviceKey } from "./service.ts";
import { TOKEN_FORMATS, type TokenFormat, tokenEnd } from "./token-format.ts";
import { connectionString, webhookAnchors } from "./url.ts";
import { KEY_WORDS, PASSWORD_WORDS, SERVICES, type SecretWord, WHOLE_PART_WORDS } from "./words.ts";

/** Every anchor of the secrets side. */
export function secretAnchors(): Anchor[] {
  const found: { word: string; check: Check; exact?: boolean }[] = [
    ...tokenAnchors(),
    ...PASSWORD_WORDS.map((word) => ({ word, check: announced(word, "password") })),
    ...KEY_WORDS.map((word) => ({ word, check: announced(word, "key") })),
    ...SERVICES.map((word) => ({ word, check: serviceKey })),
    ...webhookAnchors(),
    { word: "://", check: connectionString },
    { word: ":A", check: telegramToken },
    { word: "authorization", check: authorizationHeader },
    { word: "basic", check: (text, start, end) => schemeCredential(text, "basic", start, end) },
    { word: "bearer", check: (text, start, end) => schemeCredential(text, "bearer", start, end) },
    { word: " -u", check: userOption },
    { word: "--user", check: userOption },
    { word: " -p", check: passwordOption },
    { word: " -pw", check: passwordOption },
    ...INFIXES.map((infix) => ({ word: infix.anchor, check: tokenAround(infix) })),
    { word: "ey", check: (text, start) => (text.startsWith("ey", start) ? jsonWebToken(text, start) : null) },
    { word: "-BEGIN", check: (text, start) => privateKeyBlock(text, dashesBefore(text, start)) },
  ];
  return found.map((anchor) => ({ ...anchor, policy: "block_secrets" }));
}

function dashesBefore(text: string, at: number): number {
  let start = at;
  while (start > 0 && at - start < 4 && text[start - 1] === "-") start--;
  return start;
}

/** Formats that share a prefix share the anchor. */
function tokenAnchors(): { word: string; check: Check; exact: boolean }[] {
  const byPrefix = new Map<string, TokenFormat[]>();
  for (const format of TOKEN_FORMATS) {
    byPrefix.set(format.prefix, [...(byPrefix.get(format.prefix) ?? []), format]);
  }
  return [...byPrefix].map(([word, formats]) => ({
    word,
    exact: true,
    check: (text, start, end) => {
      for (const format of formats) {
        const found = tokenEnd(format, text, start, end);
        if (found >= 0) return secretHit("provider_token", start, found);
      }
      return null;
    },
  }));
}

function announced(word: string, kind: SecretWord): Check {
  const wholePart = WHOLE_PART_WORDS.has(word) || word.length <= 4;
  const unspaced = isUnspaced(word);
  return (text, start, end) => {
    if (!unspaced && (continues(text, end) || (wholePart && beginsWithin(text, start)))) return null;
    return announcedSecret(text, kind, start, end);
  };
}
