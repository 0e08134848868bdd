/**
 * Refuses passwords that attackers try first (NIST SP 800-63B-4 section 3.1.1.2): common passwords, words that the
 * context suggests, and their usual extensions to the minimum length: repetitions, sequences of characters, and a few
 * digits or signs around a word.
 */
import { invalid } from "../../problem.ts";
import { digestOf } from "../directory/secret.ts";
import digests from "./common-passwords.txt" with { type: "text" };

/** The most digits and signs around a common word that still make a common password. */
const MAX_DECORATION = 6;
/** A password that repeats fewer characters than this is common, whatever the characters are. */
const MIN_PERIOD = 6;

const PRODUCT = "governd";

/**
 * The bytes of a word's digest in the list. With 15,000 words, one other password in 70 million has a listed digest.
 */
export const LISTED_BYTES = 5;

let listed: Float64Array | undefined;

/** Returns the number that stands for a word in the list of `scripts/build-passwords.ts`. */
export const listNumber = (word: string): number => Buffer.from(digestOf(word)).readUIntBE(0, LISTED_BYTES);

function isListed(word: string): boolean {
  listed ??= readList();
  return listed.includes(listNumber(word));
}

function readList(): Float64Array {
  const bytes = Buffer.from(digests, "base64");
  const count = bytes.length / LISTED_BYTES;
  return Float64Array.from({ length: count }, (_, at) => bytes.readUIntBE(at * LISTED_BYTES, LISTED_BYTES));
}

/** Reports whether a password is one that attackers try first. `suggested` are words that the context suggests. */
export function isCommon(password: string, suggested: readonly string[]): boolean {
  const text = password.normalize("NFKC").toLowerCase();
  const words = new Set(suggested.map((word) => word.normalize("NFKC").toLowerCase()));
  const isWord = (word: string) => words.has(word) || isListed(word);
  const unit = text.slice(0, periodOf(text));
  if (unit.length < MIN_PERIOD || isRow(text)) return true;
  return [text, unit].some((one) => isWord(one) || isWord(withoutDecoration(one)));
}

/** Returns the length of the shortest text that repeats to make this one. The last repetition may be cut short. */
function periodOf(text: string): number {
  for (let period = 1; period < text.length; period++) {
    if (text.startsWith(text.slice(period))) return period <= Math.ceil(text.length / 2) ? period : text.length;
  }
  return text.length;
}

/**
 * Reports whether the characters follow one another in their code, up or down, as in `abcdefghijkl` or `890123456789`.
 */
function isRow(text: string): boolean {
  // After 9 comes 0, and after z comes a.
  const round = /^\d+$/.test(text) ? 10 : 26;
  const step = (at: number) => (text.charCodeAt(at) - text.charCodeAt(at - 1) + round) % round;
  const steps = new Set(Array.from(text.slice(1), (_, at) => step(at + 1)));
  return steps.size === 1 && (steps.has(1) || steps.has(round - 1));
}

/** Returns a word without the digits and signs around it, or the whole text when these are too many. */
function withoutDecoration(text: string): string {
  const word = text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "");
  return text.length - word.length <= MAX_DECORATION ? word : text;
}

/**
 * Refuses a new password that is common, or that the account's mail address or the product's name suggests.
 * @param param the field of the request, for the error, which never repeats the password
 * @throws {Problem} `invalid_request`
 */
export function refuseCommonPassword(password: string, email: string, param: string): void {
  const at = email.lastIndexOf("@");
  const suggested = [email, email.slice(0, at), email.slice(at + 1), email.slice(at + 1).split(".")[0] as string];
  if (!isCommon(password, [...suggested, PRODUCT])) return;
  throw invalid(
    "This password is one of those that attackers try first: a commonly used one, your mail address, the product's name, " +
      "or one of these repeated or with a few digits around it. Choose another one; a few unrelated words do well.",
    param,
  );
}
