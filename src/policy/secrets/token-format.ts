/** Compiles the bodies of the token table, and recognises a token at a prefix. */

import type { Anchor } from "../anchor.ts";
import { hitOf, spend } from "../check.ts";
import { isAlphanumeric } from "../text/ascii.ts";
import { isInPaddedBase64 } from "../text/identifier.ts";
import { columnsOf, linesOf } from "../words/lists.ts";
import tokens from "../words/tokens.txt" with { type: "text" };
import { looksInvented } from "./plausible.ts";

const ALPHABETS: Readonly<Record<string, string>> = {
  d: "[0-9]",
  h: "[0-9a-f]",
  H: "[0-9a-fA-F]",
  l: "[a-z]",
  u: "[A-Z]",
  a: "[A-Za-z]",
  t: "[a-z0-9]",
  s: "[A-Z0-9]",
  n: "[A-Za-z0-9]",
  w: "[A-Za-z0-9_-]",
  b: "[A-Za-z0-9+/]",
  x: "[A-Za-z0-9_+/.=~-]",
  U: "[0-9A-Za-z]{8}-[0-9A-Za-z]{4}-[0-9A-Za-z]{4}-[0-9A-Za-z]{4}-[0-9A-Za-z]{12}",
};
/** What `{20,}` is bounded by. */
const LONGEST_TOKEN = 512;
/** What trying a format costs. */
const FORMAT_UNITS = 20;
const ITEM = /'([^']*)'|([a-zA-Z])(?:\{(\d+)(,)?(\d+)?\})?|(=)\{(\d+),(\d+)\}|([^a-zA-Z'?])|(\?)/g;

interface TokenFormat {
  prefix: string;
  /** Sticky, matched right after the prefix. */
  body: RegExp;
}

/** An anchor for each prefix, with all formats that share it. */
export function tokenAnchors(): Anchor[] {
  const byPrefix = Map.groupBy(tokenRows().map(compile), ({ prefix }) => prefix);
  return Array.from(byPrefix, ([word, formats]) => ({
    word,
    exact: true,
    check: (text, start, end) => {
      for (const format of formats) {
        const found = tokenEnd(format, text, start, end);
        if (found >= 0) return hitOf("provider_token", start, found);
      }
      return null;
    },
  }));
}

/** The rows of the table: provider, prefix, body. */
export function tokenRows(): [provider: string, prefix: string, body: string][] {
  return linesOf(tokens).map((line) => {
    const [provider, prefix, body] = columnsOf(line) as [string, string, string];
    return [provider, prefix.replace(/^"(.*)"$/, "$1"), body];
  });
}

function compile([, prefix, body]: readonly [string, string, string]): TokenFormat {
  let source = "";
  for (const [, quoted, alphabet, min, open, max, pad, padMin, padMax, literal] of body.matchAll(ITEM)) {
    if (quoted !== undefined) source += escapeLiteral(quoted);
    else if (alphabet !== undefined) {
      const upper = max ?? (open === undefined ? min : String(LONGEST_TOKEN));
      source += `${ALPHABETS[alphabet]}${min === undefined ? "" : `{${min},${upper}}`}`;
    } else if (pad !== undefined) source += `={${padMin},${padMax}}`;
    else if (literal !== undefined) source += escapeLiteral(literal);
    else source += "?";
  }
  return { prefix, body: new RegExp(`(?:${source})(?![A-Za-z0-9])`, "y") };
}

function escapeLiteral(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}

/** What stands before a random identifier of a named kind: `call_`, `thread_`. A secret is named key or token. */
const NAMED_IDENTIFIER =
  /(?:^|[^A-Za-z0-9_-])(?!\w*(?:key|token|secret|access|api|pass|auth|pat_|sk_|pk_))[a-z]{2,10}_$/;
const LONGEST_NAME = 16;

/** Returns the end of the token whose prefix is `text[start, bodyStart)`, or -1 when there is none. */
function tokenEnd(format: TokenFormat, text: string, start: number, bodyStart: number): number {
  if (start > 0 && isAlphanumeric(text.charCodeAt(start - 1))) return -1;
  if (!text.startsWith(format.prefix, start)) return -1;
  format.body.lastIndex = bodyStart;
  const fits = format.body.test(text);
  spend(FORMAT_UNITS + (fits ? 300 + format.body.lastIndex - bodyStart : 0));
  if (!fits || NAMED_IDENTIFIER.test(text.slice(Math.max(0, start - LONGEST_NAME), start))) return -1;
  const end = format.body.lastIndex;
  return looksInvented(text.slice(bodyStart, end)) || isInPaddedBase64(text, start, end) ? -1 : end;
}
