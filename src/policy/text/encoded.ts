/** One layer of Base64 or hexadecimal: a run that decodes to text is read as that text, too. */
import { isAlphanumeric } from "./ascii.ts";

/** A shorter run hides nothing worth finding, and words decode to something now and then. */
export const SHORTEST_ENCODED = 16;
const SHORTEST_DECODED = 8;
const HEX = /^(?:0x)?(?:[0-9a-fA-F]{2})+$/;
const HEX_SEPARATED = /\\x/;

/** A run and what it says. */
export interface Decoded {
  start: number;
  end: number;
  text: string;
}

/** What the encoded run around the token that begins at `at` says, or null when it is no text. */
export function decodeRun(text: string, at: number): Decoded | null {
  let start = at;
  while (start > 0 && isEncodedUnit(text.charCodeAt(start - 1))) start--;
  let end = at;
  while (end < text.length && isEncodedUnit(text.charCodeAt(end))) end++;
  const run = text.slice(start, end);
  if (run.length < SHORTEST_ENCODED) return null;
  const decoded = hexText(run) ?? base64Text(run);
  return decoded === null ? null : { start, end: endOfPadding(text, end), text: decoded };
}

function endOfPadding(text: string, end: number): number {
  let last = end;
  while (last < text.length && last - end < 2 && text[last] === "=") last++;
  return last;
}

function isEncodedUnit(code: number): boolean {
  return isAlphanumeric(code) || code === 43 || code === 47 || code === 45 || code === 95;
}

function hexText(run: string): string | null {
  if (!HEX.test(run) || HEX_SEPARATED.test(run)) return null;
  return asText(Buffer.from(run.replace(/^0x/, ""), "hex"));
}

function base64Text(run: string): string | null {
  // The first three bytes decide nearly always.
  const head = Buffer.from(run.slice(0, 4), "base64url");
  if (!head.every(isTextByte)) return null;
  return asText(Buffer.from(run, "base64url"));
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function asText(bytes: Uint8Array): string | null {
  if (bytes.length < SHORTEST_DECODED || !bytes.every(isTextByte)) return null;
  try {
    return utf8.decode(bytes);
  } catch {
    // Not UTF-8: data, not text.
    return null;
  }
}

function isTextByte(byte: number): boolean {
  return (byte >= 0x20 && byte !== 0x7f && byte !== 0xc0 && byte !== 0xc1 && byte < 0xf5) || (byte >= 9 && byte <= 13);
}
