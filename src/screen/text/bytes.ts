/** Bytes that are text: in UTF-8, or in UTF-16 of either byte order. */

/** A shorter text cannot hide anything worth finding, and ordinary words sometimes decode to text. */
const SHORTEST_TEXT = 8;
/** A shorter text must be one line of ASCII: this few bytes of an identifier can be other text by chance. */
export const SHORTEST_BEYOND_ASCII = 16;
const ASCII_LAST = 0x7f;
const SPACE = 0x20;
/** Data that is not text nearly always shows it within this many units. */
const TELLING_UNITS = 6;
const BYTE_ORDER_MARK = 0xfeff;
/** Latin, Greek, Cyrillic, Armenian and Hebrew. UTF-16 in other scripts needs its byte order mark to be known. */
const LAST_USUAL_UNIT = 0x5ff;
/** Code points that text does not contain: controls, lone surrogates and noncharacters. */
const NOT_TEXT = /[\p{Cs}\ufffe\uffff]|(?![\t-\r])\p{Cc}/u;

/** Returns whether text in UTF-16 may begin with these bytes. */
export const canBeginUtf16 = (first: number, second: number): boolean =>
  first <= LAST_USUAL_UNIT >> 8 || second <= LAST_USUAL_UNIT >> 8 || (first | second) === 0xff;

/** Returns the text that some bytes encode; null when they are data. */
export function textOf(bytes: Buffer): string | null {
  if (bytes.length < SHORTEST_TEXT) return null;
  for (let at = 0; at < bytes.length; at++) if (!isTextByte(bytes[at] as number)) return utf16Text(bytes);
  if (bytes.length < SHORTEST_BEYOND_ASCII && bytes.some((byte) => byte > ASCII_LAST || byte < SPACE)) return null;
  return utf8Text(bytes);
}

function utf8Text(bytes: Buffer): string | null {
  const said = bytes.toString("utf8");
  // Not UTF-8: data, not text.
  return said.includes("\ufffd") ? null : said;
}

function utf16Text(bytes: Buffer): string | null {
  if (bytes.length % 2 !== 0 || bytes.length < 2 * SHORTEST_TEXT) return null;
  const isLittleEndian = isUtf16(bytes, 0);
  if (!isLittleEndian && !isUtf16(bytes, 1)) return null;
  const said = (isLittleEndian ? bytes : Buffer.from(bytes).swap16()).toString("utf16le");
  if (NOT_TEXT.test(said)) return null;
  return said.charCodeAt(0) === BYTE_ORDER_MARK ? said.slice(1) : said;
}

/** Whether bytes begin like UTF-16; `low` is the place of a unit's lower byte. */
function isUtf16(bytes: Buffer, low: 0 | 1): boolean {
  for (let at = 0; at < 2 * TELLING_UNITS; at += 2) {
    const unit = (bytes[at + low] as number) | ((bytes[at + 1 - low] as number) << 8);
    if (at === 0 && unit === BYTE_ORDER_MARK) return true;
    if (unit > LAST_USUAL_UNIT || (unit < 0x20 && (unit < 9 || unit > 13))) return false;
  }
  return true;
}

const TEXT_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => {
  const isControl = byte < 0x20 ? byte < 9 || byte > 13 : byte === 0x7f;
  // The last values never occur in UTF-8 (RFC 3629 section 1).
  return isControl || byte === 0xc0 || byte === 0xc1 || byte >= 0xf5 ? 0 : 1;
});

export const isTextByte = (byte: number): boolean => TEXT_BYTES[byte] === 1;
