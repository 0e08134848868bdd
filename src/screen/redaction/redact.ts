/** Replaces matches in some content by the names of their detectors. */
import type { JsonObject } from "../../json.ts";
import { type FieldMatches, isPart, type Match, withTexts } from "../fields.ts";
import { isStronger } from "../modes.ts";
import type { Span } from "../near.ts";
import type { Finding } from "../policy.ts";
import { PATTERNS } from "../screening.ts";
import { isQuotedPrintable } from "../text/decoded.ts";
import { Fitting, type Piece } from "./fitting.ts";
import { firstEndingAfter, markOf, type Names } from "./marks.ts";

/** Where a text was changed, and where something was found in it, by the position of its field in `fieldsOf`. */
export type Changes = ReadonlyMap<number, readonly Span[]>;

interface Redacted<C> {
  content: C;
  changes: Changes;
  /** What cannot be replaced, since it is in the name of a member. */
  fixed: readonly Match[];
}

/**
 * Returns the content with every place replaced that has a finding in the mode `redact`, and what changed. What is JSON, a
 * table or a settings file stays that: see {@link Fitting}. `names`: of the detectors and patterns.
 */
export function redacted<C extends { value: string; metadata: JsonObject }>(
  content: C,
  found: readonly FieldMatches[],
  names: Names,
): Redacted<C> {
  const texts = new Map<number, string>();
  const changes = new Map<number, readonly Span[]>();
  const fixed: Match[] = [];
  for (const { field, index, matches, places } of found) {
    if (field === null || !matches.some(({ finding }) => finding.mode === "redact")) continue;
    const fitting = new Fitting(field.text, names, isPart(field));
    const pieces = matches.flatMap((match): NamedPlace[] => {
      const { finding } = match;
      const fitted = fitting.piecesOf(finding, finding.detector, finding.policy === PATTERNS);
      if (fitted === null && finding.mode === "redact") fixed.push(match);
      return (fitted ?? []).map((piece) => ({ ...piece, finding }));
    });
    const replaced = merged(pieces).filter(({ finding }) => finding.mode === "redact");
    const text = redactedText(field.text, replaced);
    texts.set(index, text);
    changes.set(index, changedPlaces(field.text, text, replaced, places));
  }
  return { content: withTexts(content, texts), changes, fixed };
}

function redactedText(text: string, replaced: readonly NamedPlace[]): string {
  let result = "";
  let at = 0;
  for (const place of replaced) {
    result += text.slice(at, place.start) + replacementOf(place);
    at = place.end;
  }
  return result + text.slice(at);
}

/** Returns the places in the new text: of the replacements, and of everything else that was found. In order. */
function changedPlaces(
  before: string,
  after: string,
  replaced: readonly NamedPlace[],
  places: readonly Span[],
): readonly Span[] {
  // The whole text reads otherwise.
  if (isQuotedPrintable(before) !== isQuotedPrintable(after)) return [{ start: 0, end: after.length }];
  const shifts = [0];
  for (const place of replaced)
    shifts.push((shifts.at(-1) as number) + replacementOf(place).length - (place.end - place.start));
  const moved = (at: number): number => {
    const next = firstEndingAfter(replaced, at);
    return Math.min(at, replaced[next]?.start ?? at) + (shifts[next] as number);
  };
  return [...replaced, ...places]
    .map(({ start, end }) => ({ start: moved(start), end: moved(end) }))
    .toSorted((a, b) => a.start - b.start);
}

interface NamedPlace extends Piece {
  /** The first of the findings in the strongest mode. */
  finding: Finding;
}

const replacementOf = ({ quote, finding }: NamedPlace): string => quote + markOf(finding.detector) + quote;

/** Merges overlapping pieces of matches into one place; `pieces` in the order of the findings. */
function merged(pieces: readonly NamedPlace[]): NamedPlace[] {
  const order = new Map(pieces.map(({ finding }, index) => [finding, index]));
  const places: NamedPlace[] = [];
  for (const piece of pieces.toSorted((a, b) => a.start - b.start)) {
    const last = places.at(-1);
    if (last === undefined || piece.start >= last.end) {
      places.push({ ...piece });
      continue;
    }
    const { finding } = piece;
    last.end = Math.max(last.end, piece.end);
    const isFirst = (order.get(finding) as number) < (order.get(last.finding) as number);
    const isSame = finding.mode === last.finding.mode;
    if (isStronger(finding.mode, last.finding.mode) || (isSame && isFirst)) last.finding = finding;
  }
  return places;
}
