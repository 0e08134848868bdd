/** Makes distinct texts that policies match, and finds them in bytes, however they are encoded there. */

export interface Kind {
  detector: string;
  policy: "block_pii" | "block_secrets" | "patterns";
  /** The text with this number, below a million. */
  text(number: number): string;
  /** Matches every text of the kind. */
  shape: string;
  /** Whether it is recognised in a key, after a prefix. */
  isFoundInKeys: boolean;
  /** The text as items of an array; null when it is not read in parts. */
  parts: ((text: string) => string[]) | null;
}

const padded = (number: number, digits = 6) => String(number).padStart(digits, "0");

/** The last digit of a card number (ISO/IEC 7812-1, annex B). */
function checkDigit(digits: string): number {
  const doubled = [...digits].reverse().map((digit, at) => Number(digit) * (at % 2 === 0 ? 2 : 1));
  const sum = doubled.reduce((all, one) => all + (one > 9 ? one - 9 : one), 0);
  return (10 - (sum % 10)) % 10;
}

function cardNumber(number: number): string {
  const digits = `492900${padded(number, 9)}`;
  return digits + checkDigit(digits);
}

/** A German IBAN (ISO 13616): 131400 stands for DE00. */
function iban(number: number): string {
  const account = `37040044${padded(number, 10)}`;
  return `DE${padded(Number(98n - (BigInt(`${account}131400`) % 97n)), 2)}${account}`;
}

const inGroups = (text: string): string[] => text.match(/.{1,4}/g) ?? [];

export const KINDS: readonly Kind[] = [
  {
    detector: "email",
    policy: "block_pii",
    text: (number) => `maria.keller${padded(number)}@posteo.de`,
    shape: "maria\\.keller\\d{6}@posteo\\.de",
    isFoundInKeys: true,
    parts: (text) => text.split(/(@)/),
  },
  {
    detector: "credit_card",
    policy: "block_pii",
    text: cardNumber,
    shape: "492900\\d{10}",
    isFoundInKeys: true,
    parts: inGroups,
  },
  {
    detector: "iban",
    policy: "block_pii",
    text: iban,
    shape: "DE\\d\\d37040044\\d{10}",
    isFoundInKeys: true,
    parts: inGroups,
  },
  {
    detector: "us_ssn",
    policy: "block_pii",
    text: (number) => `536-${10 + (Math.floor(number / 9_000) % 89)}-${1_000 + (number % 9_000)}`,
    shape: "536-\\d{2}-\\d{4}",
    isFoundInKeys: false,
    parts: null,
  },
  {
    detector: "provider_token",
    policy: "block_secrets",
    text: (number) => `ghp_${"aB3dE5fG7h".repeat(3)}${padded(number)}`,
    shape: "ghp_(?:aB3dE5fG7h){3}\\d{6}",
    isFoundInKeys: true,
    parts: null,
  },
  {
    detector: "project",
    policy: "patterns",
    text: (number) => `PRJ-${padded(number)}`,
    shape: "(?:PRJ|prj)-\\d{6}",
    isFoundInKeys: true,
    parts: null,
  },
];

const SHAPES = new RegExp(KINDS.map(({ shape }) => shape).join("|"), "g");

/** Runs that may be encoded text: long enough for the shortest planted text. */
const BASE64 = /[A-Za-z0-9+/_-]{14,}/g;
const HEXADECIMAL = /(?:[0-9A-Fa-f]{2}){10,}/g;

/** Returns the planted texts in some bytes: unchanged, escaped, in UTF-16, in Base64 and in hexadecimal. */
export function plantedIn(bytes: Buffer): Set<string> {
  const found = new Set<string>();
  // As in reserved space of a file.
  if (bytes.every((byte) => byte === 0)) return found;
  const plain = bytes.toString("latin1");
  const look = (text: string) => {
    for (const [one] of text.matchAll(SHAPES)) found.add(one);
  };
  look(plain);
  // ASCII in UTF-16, in either byte order.
  look(plain.replaceAll("\0", ""));
  look(unescaped(plain));
  const runs = plain.match(BASE64) ?? [];
  // A text may begin within a group of four.
  for (let at = 0; at < 4; at++) look(decoded(wholeGroups(runs, at), "base64"));
  look(decoded((plain.match(HEXADECIMAL) ?? []).join("ff"), "hex"));
  return found;
}

/**
 * Returns the runs from a position on as one text, which is decoded in a fraction of the time. Each is filled up to
 * groups of four. What separates them decodes to bytes that are not ASCII.
 */
const wholeGroups = (runs: readonly string[], at: number): string =>
  runs.map((run) => run.slice(at) + "A".repeat((4 - ((run.length - at) % 4)) % 4)).join("////");

const decoded = (text: string, encoding: "base64" | "hex"): string =>
  Buffer.from(text, encoding).toString("latin1").replaceAll("\0", "");

/** Undoes the escapes of JSON and URLs: `\u0040`, `%40`, `+`. */
const unescaped = (text: string): string =>
  text
    .replaceAll("\\\\", "\\")
    .replace(/\\u00([0-9a-fA-F]{2})|%([0-9a-fA-F]{2})/g, (_, json, url) =>
      String.fromCharCode(Number.parseInt(json ?? url, 16)),
    )
    .replaceAll("\\/", "/")
    .replaceAll("+", " ");
