/** One layer of Base64 or hexadecimal: a run that decodes to text is read as that text, too. */
import { isAnyBase64, matchEnd } from "./ascii.ts";

/** A shorter run hides nothing worth finding, and words decode to something now and then. */
const SHORTEST_ENCODED = 16;
const SHORTEST_DECODED = 8;

/** An encoded run and its text. */
export interface Decoded {
  start: number;
  end: number;
  text: string;
}

/** Returns the runs around some tokens that encode text. `tokens` are the beginnings of the tokens, ascending. */
export function encodedRuns(text: string, tokens: readonly number[]): Decoded[] {
  const runs: Decoded[] = [];
  let readTo = 0;
  for (const at of tokens) {
    if (at < readTo) continue;
    let start = at;
    while (start > 0 && isAnyBase64(text.charCodeAt(start - 1))) start--;
    let end = at;
    while (end < text.length && isAnyBase64(text.charCodeAt(end))) end++;
    readTo = end;
    if (end - start < SHORTEST_ENCODED) continue;
    const run = text.slice(start, end);
    const decoded = hexText(run) ?? base64Text(run);
    if (decoded !== null) runs.push({ start, end: matchEnd(PADDING, text, end), text: decoded });
  }
  return runs;
}

const PADDING = /={0,2}/y;
const HEX = /^[0-9a-fA-F]*$/;

function hexText(run: string): string | null {
  const digits = run.startsWith("0x") ? run.slice(2) : run;
  if (digits.length % 2 !== 0 || !HEX.test(digits)) return null;
  return isTextByte(Number.parseInt(digits.slice(0, 2), 16)) ? asText(Buffer.from(digits, "hex")) : null;
}

function base64Text(run: string): string | null {
  // Data that is not text nearly always shows it within a few bytes.
  for (let at = 0; at + 4 <= run.length; at += 4) {
    const second = sextet(run, at + 1);
    const third = sextet(run, at + 2);
    if (
      !isTextByte((sextet(run, at) << 2) | (second >> 4)) ||
      !isTextByte(((second & 15) << 4) | (third >> 2)) ||
      !isTextByte(((third & 3) << 6) | sextet(run, at + 3))
    )
      return null;
  }
  return asText(Buffer.from(run, "base64url"));
}

function asText(bytes: Buffer): string | null {
  if (bytes.length < SHORTEST_DECODED || !bytes.every(isTextByte)) return null;
  const said = bytes.toString("utf8");
  // Not UTF-8: data, not text.
  return said.includes("\ufffd") ? null : said;
}

function isTextByte(byte: number): boolean {
  return (byte >= 0x20 && byte !== 0x7f && byte !== 0xc0 && byte !== 0xc1 && byte < 0xf5) || (byte >= 9 && byte <= 13);
}

/** The six bits of a Base64 digit, in either alphabet (RFC 4648). */
function sextet(run: string, at: number): number {
  const code = run.charCodeAt(at);
  if (code >= 97) return code - 71;
  if (code >= 65 && code <= 90) return code - 65;
  if (code <= 57 && code >= 48) return code + 4;
  return code === 43 || code === 45 ? 62 : 63;
}
