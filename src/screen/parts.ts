/** Arrays whose items are the parts of one text: the characters of an address, the groups of a card number. */
import type { JsonValue } from "../json.ts";

/** An array as one text, since a list of secrets may be found where its items alone are not. */
export interface ListText {
  text: string;
  items: readonly string[];
  /** Where each item begins. */
  starts: readonly number[];
}

/** A longer array is no list of secrets, and fewer items are none. */
const LONGEST_LIST = 4096;
const FEWEST_ITEMS = 2;

/** Returns the text of an array of strings and numbers, as JSON; null for others, and when an item needs escapes. */
export function listText(items: readonly JsonValue[]): ListText | null {
  if (items.length < FEWEST_ITEMS) return null;
  const starts: number[] = [];
  let text = "[";
  for (const item of items) {
    if ((typeof item !== "string" && typeof item !== "number") || text.length > LONGEST_LIST) return null;
    const json = JSON.stringify(item);
    const said = String(item);
    if (json.length - said.length !== (typeof item === "string" ? 2 : 0)) return null;
    starts.push(text.length + (json.length - said.length) / 2);
    text += `${json},`;
  }
  return { text: `${text.slice(0, -1)}]`, items: items.map(String), starts };
}

const FEWEST_PARTS = 3;
/** Fewer single characters are not joined: they are too few to mean anything. */
const FEWEST_CHARACTERS = 8;
/** A longer item is a text of its own. */
const LONGEST_PART = 8;
const LONGEST_BESIDE_AT = 64;
const NUMBER = /^\d+$/;
/** Groups of digits; the first may have the letters of a country or a plus, the last a check letter. */
const GROUPED_NUMBER = /^\+?[A-Z]{0,2}\d*(?: \d+)+[A-Z]?$/;

/**
 * Returns the texts of which `items` may be the parts. Numbers are not joined, nor are strings of sorted numbers: they
 * are counts, years and ports.
 */
export function joinedParts(items: readonly JsonValue[]): string[] {
  if (items.length < FEWEST_PARTS || !items.every((item) => typeof item === "string" && item !== "")) return [];
  const parts = items as readonly string[];
  const longest = parts.reduce((most, part) => Math.max(most, part.length), 0);
  if (longest > LONGEST_PART) return longest <= LONGEST_BESIDE_AT && parts.includes("@") ? [parts.join("")] : [];
  if (longest === 1) return parts.length < FEWEST_CHARACTERS ? [] : [parts.join("")];
  if (isSorted(parts)) return [];
  const texts: string[] = [];
  if (parts.includes("@") || parts.every((part, i) => part.length === longest || i === parts.length - 1))
    texts.push(parts.join(""));
  const spaced = parts.join(" ");
  if (GROUPED_NUMBER.test(spaced)) texts.push(spaced, parts.join("-"));
  return texts;
}

const isSorted = (parts: readonly string[]): boolean =>
  parts.every((part, i) => NUMBER.test(part) && (i === 0 || Number(part) >= Number(parts[i - 1])));
