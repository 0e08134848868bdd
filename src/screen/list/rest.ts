/**
 * The other items of the list in which something was found behind a label. Only the first one has the label beside it,
 * but all of them are what the label names.
 */
import { type Hit, spend } from "../check.ts";
import { DETECTORS, type DetectorName } from "../detectors.ts";
import type { Span } from "../near.ts";
import { isPlaceholder, saysOfSecret } from "../secrets/plausible.ts";
import { cellsBelow } from "../text/table.ts";
import { type Following, following } from "./inline.ts";
import { type Item, isValue, MOST_ITEMS } from "./item.ts";
import { listBehind } from "./list.ts";

/** The cost of judging an item, units. */
const ITEM_UNITS = 10;
const LONGEST_ITEM = 256;
/** A group of so many digits is a code of its own. */
const FEWEST_DIGITS = 6;
const FEWEST_CHARACTERS = 3;

/** Returns the other items of the list behind the label `[start, end)` to which a hit belongs. */
export function restOfList(text: string, start: number, end: number, hit: Hit): Hit[] {
  const { detector } = hit;
  const isSecret = DETECTORS[detector as DetectorName].tier === null;
  // What was found may be several items, in lines or beside each other.
  const line = text.slice(hit.start, hit.end).split(LINE_BREAK).at(-1) as string;
  const group = line.split(/[ \t]+/).at(-1) as string;
  const first = isSecret && lengthOf(group) >= FEWEST_DIGITS ? group : line;
  const last = { start: hit.end - first.length, end: hit.end };
  const isItem = (word: string) => isLike(first, word) || (isSecret && looksSecret(word));
  // A line of the list may have another item behind what was found.
  const others = (places: readonly Span[]) =>
    places.flatMap((place) =>
      overlaps(place, hit)
        ? wordsLike(text, { start: hit.end, end: place.end }, isItem)
        : itemsIn(text, place, first, isSecret),
    );
  const place = (items: readonly Span[]) => items.map((item): Hit => ({ detector, ...item }));
  const all = listBehind(text, end);
  const found = all.find((item) => overlaps(item, hit));
  const values = all.filter((item) => isValue(text, item));
  const nameOf = ({ name }: Item) => name && text.slice(name.start, name.end);
  // In a list of objects, which have the same names, other members of an object are something else.
  const areObjects = values.some((item) => item !== found && found && nameOf(item) === nameOf(found));
  const listed = areObjects ? values : all;
  if (found !== undefined) return place(others(isSecret ? listed.filter((item) => !isOfSecret(text, item)) : listed));
  const isOfSeveral = PLURAL.test(text.slice(end - 1, end + 8)) || OF_SEVERAL.test(text.slice(start, end + 4));
  const isPlural = isSecret && isOfSeveral;
  if (text.slice(end, hit.start).includes("\n")) {
    const column = cellsBelow(text, start, end, MOST_ITEMS);
    if (column.some((cell) => overlaps(cell, hit))) return place(others(column));
    // Below a label of one, only what has the same form is the same.
    return place(itemsFollowing(text, last, { first, isSecret: isPlural, isPlural, isNamed: false }));
  }
  const isNamed = isOfSeveral && OWN_NAME.test(text.slice(end, hit.start));
  return place(itemsFollowing(text, last, { first, isSecret, isPlural, isNamed }));
}

const LINE_BREAK = /\r?\n|\\n/;
const isOfSecret = (text: string, { name }: Item): boolean =>
  name !== null && saysOfSecret(text.slice(name.start, name.end));

/** `passwords: …`; in languages that do not tell, items that only space joins must look alike. */
const PLURAL = /^\S?s["'`*)]{0,2}[ \t]?(?:[:=]|\r?\n)/i;

const OF_SEVERAL = /(?:passw|kennw)(?:ö|oe)rter|mots de passe|hasła|пароли|nummern/iu;

/** The name of the first item, behind the label. */
const OWN_NAME = /^s?["'`*]{0,2}[ \t]?[:=]\s{0,2}[A-Za-z][\w-]{0,23}[:=]$/i;

const overlaps = (a: Span, b: Span): boolean => a.start < b.end && b.start < a.end;

const NOTHING = /^(?:null|none|nil|true|false|undefined|n\/a|-+|~)$/i;
/** A placeholder; in a list of numbers, 0000 is one of them. */
const standsForAny = (item: string): boolean => /\p{L}|[<>]/u.test(item) && isPlaceholder(item);
const IS_WORD = /^[\p{L}\p{M}'’-]+$/u;
const DIGITS = /\d/g;

/** The parts of an item of a list with a syntax that belong to what its first item is. */
function itemsIn(text: string, { start, end }: Span, first: string, isSecret: boolean): Span[] {
  spend(ITEM_UNITS);
  const item = text.slice(start, end);
  if (item.length < FEWEST_CHARACTERS || item.length > LONGEST_ITEM || NOTHING.test(item)) return [];
  const isWhole = isSecret && (!/\s/.test(item) || /\s/.test(first) || /["'`]/.test(text[end] ?? ""));
  if (isWhole) return standsForAny(item) ? [] : [{ start, end }];
  if (isLike(first, item)) return [{ start, end }];
  return wordsLike(text, { start, end }, (word) => isLike(first, word) || (isSecret && looksSecret(word)));
}

/** A word without the sign behind it. */
const WORD = /[^\s,;|](?:\S*?[^\s,;|])?(?=[,;|]*(?:\s|$)|[,;|]\d)/g;

const wordsLike = (text: string, { start, end }: Span, isItem: (word: string) => boolean): Span[] =>
  text
    .slice(start, end)
    .matchAll(WORD)
    .take(MOST_ITEMS)
    .filter(([word]) => isItem(word))
    .map(({ index, 0: word }) => ({ start: start + index, end: start + index + word.length }))
    .toArray();

interface First {
  first: string;
  isSecret: boolean;
  /** The label says that there are several. */
  isPlural: boolean;
  /** A name stands before the first one: `passwords: ana=…, ben=…`. */
  isNamed: boolean;
}

/** The items that follow in a sentence: those that look like the first one, and the words between such items. */
function itemsFollowing(text: string, hit: Span, { first, isSecret, isPlural, isNamed }: First): Span[] {
  const run: { item: Following; isSure: boolean }[] = [];
  let isFollowed = false;
  for (const item of following(text, hit, isNamed).take(MOST_ITEMS)) {
    spend(ITEM_UNITS);
    const value = text.slice(item.start, item.end);
    const isAlone = ALONE.test(text.slice(item.end, item.end + 8));
    const isListed = item.joiner !== "line" || (isPlural && isAlone);
    const isSure = isLike(first, value) || (isSecret && looksSecret(value) && isListed);
    const isWord = isSecret && item.joiner === "comma" && IS_WORD.test(value) && !IS_NUMBER.test(first);
    isFollowed = item.joiner === "space" && !sameForm(first, value) && !(isPlural && (isSure || IS_WORD.test(value)));
    // A line break ends a list with commas.
    if (item.joiner === "line" && run.at(-1)?.item.joiner === "comma") break;
    if (isFollowed || !(isSure || isWord || item.joiner === "space")) break;
    run.push({ item, isSure });
  }
  // "…, please change it": the sentence continues, and the list has ended.
  while (run.length > 0 && run.at(-1)?.isSure === false && (isFollowed || run.at(-1)?.item.joiner === "space"))
    run.pop();
  const sure = run.filter(({ isSure }) => isSure).length;
  const isSpaced = run.some(({ item }) => item.joiner === "space");
  const isList = isSpaced ? 2 * sure >= run.length : run.length > 1 || sure > 0;
  const items = isList ? run : run.filter(({ isSure }) => isSure);
  return items.map(({ item }) => item).filter(({ start, end }) => !standsForAny(text.slice(start, end)));
}

/** Nothing else is in the line of an item. */
const ALONE = /^["'`)*]{0,2}[ \t]*(?:[,;<]|\r?\n|\\n|$)/;
const IS_NUMBER = /^[+(]?\d[\d .\-–/()]*$/;
const lengthOf = (value: string): number => value.match(DIGITS)?.length ?? 0;

/** Whether two values may be numbers of one kind: digits in similar number, letters in both or in neither. */
function isLike(first: string, other: string): boolean {
  const [one, two] = [lengthOf(first), lengthOf(other)];
  if (one === 0 || two < FEWEST_CHARACTERS || two * 2 < one || one * 2 < two) return false;
  if (IS_NUMBER.test(first)) return IS_NUMBER.test(other);
  return /^[\p{L}\d][\p{L}\d .\-–/]*$/u.test(other) && Math.abs(first.length - other.length) <= two;
}

const formOf = (value: string): string => value.replace(/[\p{L}\d]+/gu, ({ length }) => `${length}`);

/** Whether two values have digits, and the same groups between the same signs. */
const sameForm = (first: string, other: string): boolean =>
  lengthOf(first) > 0 && lengthOf(other) > 0 && formOf(first) === formOf(other);

const SHORTEST_SECRET = 5;
const ADDRESS = /^[^@\s]+@[\w-]+\.\w|:\/\//;

/** Letters with digits or with a sign among them. */
const looksSecret = (value: string): boolean =>
  value.length >= SHORTEST_SECRET && /\p{L}/u.test(value) && /\d|[!@#$%^&*+=?_~]./.test(value) && !ADDRESS.test(value);
