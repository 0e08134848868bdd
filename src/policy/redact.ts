/** Replaces matches in some content by the names of their detectors. */
import type { JsonObject } from "../json.ts";
import { type FieldMatches, withTexts } from "./fields.ts";
import { isStronger } from "./modes.ts";
import type { Place } from "./near.ts";
import type { Finding } from "./policy.ts";
import { isQuotedPrintable } from "./text/decoded.ts";

const OPENING = "[redacted:";

/** Returns the text that replaces a match. */
const replacement = (detector: string): string => `${OPENING}${detector}]`;

const REPLACEMENT = new RegExp(`\\${OPENING}([a-z][a-z0-9_]*)\\]`, "g");
const CONTENT = /[\p{L}\p{N}]/u;

/**
 * Returns a function that reports whether a place in the text holds only replacements with these names and the text
 * between them, in which nothing is left to find. Null when the text has no replacement.
 */
export function replacedPlaces(text: string, names: { has(name: string): boolean }) {
  if (!text.includes(OPENING)) return null;
  const places = [...text.matchAll(REPLACEMENT)]
    .filter(([, name]) => names.has(name as string))
    .map(({ index, 0: { length } }) => ({ start: index, end: index + length }));
  return (start: number, end: number): boolean => {
    let at = start;
    for (let next = firstEndingAfter(places, start); next < places.length; next++) {
      const place = places[next] as (typeof places)[number];
      if (place.start >= end) break;
      if (CONTENT.test(text.slice(at, Math.max(at, place.start)))) return false;
      at = place.end;
    }
    return at > start && !CONTENT.test(text.slice(at, end));
  };
}

/**
 * Returns the text with `x` for each letter of the names in its replacements. A name such as `iban` would be a label of
 * what stands behind it.
 */
export function withoutNames(text: string, names: { has(name: string): boolean }): string {
  if (!text.includes(OPENING)) return text;
  return text.replace(REPLACEMENT, (whole, name: string) =>
    names.has(name) ? `${OPENING}${"x".repeat(name.length)}]` : whole,
  );
}

/** Returns the index of the first place that ends after `at`; places are in order. */
function firstEndingAfter(places: readonly { end: number }[], at: number): number {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] as { end: number }).end <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where a text was changed, and where something was found in it, by the position of its field in `fieldsOf`. */
export type Changes = ReadonlyMap<number, readonly Place[]>;

/** Returns the content with every place replaced that has a finding in the mode `redact`, and what changed. */
export function redacted<C extends { value: string; metadata: JsonObject }>(
  content: C,
  found: readonly FieldMatches[],
): { content: C; changes: Changes } {
  const texts = new Map<number, string>();
  const changes = new Map<number, readonly Place[]>();
  for (const { field, index, matches, places } of found) {
    const findings = matches.map(({ finding }) => finding);
    if (field === null || !findings.some(({ mode }) => mode === "redact")) continue;
    const replaced = merged(findings).filter(({ finding }) => finding.mode === "redact");
    const text = redactedText(field.text, replaced);
    texts.set(index, text);
    changes.set(index, changedPlaces(field.text, text, replaced, places));
  }
  return { content: withTexts(content, texts), changes };
}

function redactedText(text: string, replaced: readonly NamedPlace[]): string {
  let result = "";
  let at = 0;
  for (const { start, end, finding } of replaced) {
    result += text.slice(at, start) + replacement(finding.detector);
    at = end;
  }
  return result + text.slice(at);
}

/** Returns the places in the new text: of the replacements, and of everything else that was found. In order. */
function changedPlaces(
  before: string,
  after: string,
  replaced: readonly NamedPlace[],
  places: readonly Place[],
): readonly Place[] {
  // The whole text reads otherwise.
  if (isQuotedPrintable(before) !== isQuotedPrintable(after)) return [{ start: 0, end: after.length }];
  const shifts = [0];
  for (const { start, end, finding } of replaced)
    shifts.push((shifts.at(-1) as number) + replacement(finding.detector).length - (end - start));
  const moved = (at: number): number => {
    const next = firstEndingAfter(replaced, at);
    return Math.min(at, replaced[next]?.start ?? at) + (shifts[next] as number);
  };
  return [...replaced, ...places]
    .map(({ start, end }) => ({ start: moved(start), end: moved(end) }))
    .toSorted((a, b) => a.start - b.start);
}

interface NamedPlace extends Place {
  /** The first of the findings in the strongest mode. */
  finding: Finding;
}

/** Merges overlapping matches into one place. */
function merged(findings: readonly Finding[]): NamedPlace[] {
  const order = new Map(findings.map((finding, index) => [finding, index]));
  const places: NamedPlace[] = [];
  for (const finding of findings.toSorted((a, b) => a.start - b.start)) {
    const last = places.at(-1);
    if (last === undefined || finding.start >= last.end) {
      places.push({ start: finding.start, end: finding.end, finding });
      continue;
    }
    last.end = Math.max(last.end, finding.end);
    const isFirst = (order.get(finding) as number) < (order.get(last.finding) as number);
    const isSame = finding.mode === last.finding.mode;
    if (isStronger(finding.mode, last.finding.mode) || (isSame && isFirst)) last.finding = finding;
  }
  return places;
}
