/** What is blocked stays blocked when it is disguised, and the finding still covers it in the original. */
import { expect, test } from "bun:test";
import { decide } from "../../src/policy/decide.ts";
import { policiesOf } from "../../src/policy/policies.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const KEY = "q8Zt2LmW0vXr5Hs7Bd1Ky4Np";

const SECRETS: readonly (readonly [text: string, detector: string])[] = [
  ["write to anna.berg@posteo.de now", "email"],
  ["card 4929 7226 5379 7141", "credit_card"],
  ["her SSN is 543-21-9876", "us_ssn"],
  ["IBAN DE89370400440532013000", "iban"],
  ["date of birth: 1984-03-12", "date_of_birth"],
  ["client IP: 54.44.111.148", "ip_address"],
  [`api_key=${KEY}`, "generic_credential"],
  ["the password is Lark5502!x", "generic_credential"],
  [`token ghp_${KEY}q8Zt2LmW0vXr`, "provider_token"],
  ["postgres://app:s3cretPass@db.internal/app", "connection_string"],
];

const each = (text: string, change: (char: string) => string) => [...text].map(change).join("");
const code = (char: string) => char.charCodeAt(0);
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: "а",
  e: "е",
  o: "о",
  p: "р",
  c: "с",
  s: "ѕ",
  i: "і",
  x: "х",
};

const DISGUISES: Readonly<Record<string, (text: string) => string>> = {
  "full-width": (text) => each(text, (c) => (c > " " && c <= "~" ? String.fromCharCode(code(c) + 0xfee0) : c)),
  "mathematical letters and digits": (text) =>
    each(text, (c) =>
      /[a-z]/.test(c)
        ? String.fromCodePoint(0x1d5ba + code(c) - 97)
        : /\d/.test(c)
          ? String.fromCodePoint(0x1d7e2 + code(c) - 48)
          : c,
    ),
  "zero-width spaces": (text) => each(text, (c) => `${c}\u200b`),
  "soft hyphens": (text) => each(text, (c) => `${c}\u00ad`),
  "word joiners": (text) => each(text, (c) => `\u2060${c}`),
  "percent-escapes": (text) => each(text, (c) => `%${code(c).toString(16).padStart(2, "0")}`),
  "HTML decimal": (text) => each(text, (c) => `&#${code(c)};`),
  "HTML hexadecimal": (text) => each(text, (c) => `&#x${code(c).toString(16)};`),
  "JSON escapes": (text) => each(text, (c) => `\\u${code(c).toString(16).padStart(4, "0")}`),
  Base64: (text) => Buffer.from(text).toString("base64"),
  "URL-safe Base64 in a sentence": (text) =>
    `the note says ${Buffer.from(text).toString("base64url")} to whom it may concern`,
  hexadecimal: (text) => Buffer.from(text).toString("hex"),
  "JSON in JSON": (text) => JSON.stringify({ note: JSON.stringify({ text }) }),
  "no-break spaces": (text) => text.replaceAll(" ", "\u00a0"),
};

for (const [name, disguise] of Object.entries(DISGUISES)) {
  test(name, () => {
    for (const [plain, detector] of SECRETS) {
      const value = disguise(plain);
      const decision = decide(BOTH, { key: "k", value, metadata: {} });
      if (decision.allowed) throw new Error(`${name}: ${plain} passed`);
      const finding = decision.findings.find((one) => one.detector === detector);
      if (!finding) throw new Error(`${name}: ${plain} was found as ${decision.findings.map((one) => one.detector)}`);
      expect(finding.start).toBeGreaterThanOrEqual(0);
      expect(finding.end).toBeLessThanOrEqual(value.length);
      expect(finding.end).toBeGreaterThan(finding.start);
    }
  });
}

test("look-alike letters in the words of a label", () => {
  for (const text of ["the password is Lark5502!x", `api_key=${KEY}`, "passport number: X12345678"]) {
    const [label, value] = [text.slice(0, text.search(/[A-Z0-9]/)), text.slice(text.search(/[A-Z0-9]/))];
    const disguised = each(label, (c) => LOOK_ALIKES[c] ?? c) + value;
    expect(decide(BOTH, { key: "k", value: disguised, metadata: {} }).allowed).toBe(false);
  }
});

test("offsets are the original's", () => {
  const value = `🙂 ｗｒｉｔｅ to an\u200bna.berg@posteo.de\u00ad now`;
  const decision = decide(BOTH, { key: "k", value, metadata: {} });
  if (decision.allowed) throw new Error("allowed");
  const [finding] = decision.findings;
  expect(value.slice(finding?.start, finding?.end)).toBe("an\u200bna.berg@posteo.de");
});

test("control characters are no digits of an escape", () => {
  const write = (value: string) =>
    decide(policiesOf({ policies: { block_pii: true } }), { key: "k", value, metadata: {} });
  expect(write("anna.berg%40posteo.de").allowed).toBe(false);
  expect(write("anna.berg%\u0014\u0010posteo.de").allowed).toBe(true);
});
