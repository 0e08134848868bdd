/** Tokens and addresses with a fixed part: compiles their tables, and recognizes them around the fixed part. */

import type { Anchor } from "../anchor.ts";
import { hitOf, spend } from "../check.ts";
import { isAlphanumeric, matchEnd } from "../text/ascii.ts";
import { isInPaddedBase64 } from "../text/identifier.ts";
import { columnsOf, linesOf, listsOf, stickyOf } from "../words/lists.ts";
import patterns from "../words/patterns.txt" with { type: "text" };
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
/** The upper bound for `{20,}`. */
const LONGEST_TOKEN = 512;
/** The cost of trying a format, units. */
const FORMAT_UNITS = 20;
/** An item of a body. Unlimited repetitions get a limit in the pattern, and literals are escaped. */
const ITEM = /'([^']*)'|([a-zA-Z])|(\{\d+),\}|\{\d+(?:,\d+)?\}|\?|([^a-zA-Z'?])/g;

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
  const source = body.replace(ITEM, (item, quoted, alphabet, atLeast, literal) => {
    if (alphabet !== undefined) return ALPHABETS[alphabet] as string;
    if (atLeast !== undefined) return `${atLeast},${LONGEST_TOKEN}}`;
    const itself = quoted ?? literal;
    return itself === undefined ? item : RegExp.escape(itself);
  });
  return { prefix, body: new RegExp(`(?:${source})(?![A-Za-z0-9])`, "y") };
}

/** The prefix of a random identifier of a named kind: `call_`, `thread_`. A secret is named key or token. */
const NAMED_IDENTIFIER =
  /(?:^|[^A-Za-z0-9_-])(?!\w*(?:key|token|secret|access|api|pass|auth|pat_|sk_|pk_))[a-z]{2,10}_$/;
const LONGEST_NAME = 16;
/** `pk_live_`: the key of Stripe that its pages show to everybody. */
const OF_PAGES = /(?:^|[^A-Za-z0-9])pk_(?:live|test)_$/;
/** The text after a fixed part in the middle may be too short to judge. */
const SHORTEST_JUDGED = 12;

/** Returns the end of the token whose prefix is `text[start, bodyStart)`, or -1 when there is none. */
function tokenEnd(format: TokenFormat, text: string, start: number, bodyStart: number): number {
  if (start > 0 && isAlphanumeric(text.charCodeAt(start - 1))) return -1;
  if (!text.startsWith(format.prefix, start)) return -1;
  const end = matchEnd(format.body, text, bodyStart);
  spend(FORMAT_UNITS + (end < 0 ? 0 : 300 + end - bodyStart));
  if (end < 0 || NAMED_IDENTIFIER.test(text.slice(Math.max(0, start - LONGEST_NAME), start))) return -1;
  if (OF_PAGES.test(text.slice(Math.max(0, start - 4), bodyStart))) return -1;
  return looksInvented(text.slice(bodyStart, end)) || isInPaddedBase64(text, start, end) ? -1 : end;
}

const patternRows = (section: "infixes" | "webhooks") =>
  listsOf(patterns, ["infixes", "webhooks"])[section].map((row) => columnsOf(row));

/** The anchors of tokens that are known by something in their middle or at their end (words/patterns.txt). */
export function infixAnchors(): Anchor[] {
  return patternRows("infixes").map(([, word = "", before = "", longestBefore, after]) => {
    const front = new RegExp(before.slice(1, -1));
    const rest = stickyOf(after);
    return {
      word,
      check: (text, start, end) => {
        // In small letters four signs are in one of some thousands of digests.
        const last = text.startsWith(word, start) ? matchEnd(rest, text, end) : -1;
        const match = last < 0 ? null : front.exec(text.slice(Math.max(0, start - Number(longestBefore)), start));
        if (match === null || looksInvented(text.slice(end, last).padEnd(SHORTEST_JUDGED, "7Qw9Zk3Rb5Xt"))) return null;
        return hitOf("provider_token", start - match[0].replace(/^[^A-Za-z0-9_~.]/, "").length, last);
      },
    };
  });
}

/** The anchors of webhooks, whose addresses are secrets themselves (words/patterns.txt). */
export function webhookAnchors(): Anchor[] {
  return patternRows("webhooks").map(([word = "", pattern]) => {
    const rest = stickyOf(pattern);
    return {
      word,
      check: (text, start, end) => {
        const last = matchEnd(rest, text, end);
        // An address made up for a manual, not issued.
        if (last < 0 || /x{6,}|(.)\1{7,}|your[-_]|example/i.test(text.slice(end, last))) return null;
        return hitOf("webhook_url", start, last);
      },
    };
  });
}
