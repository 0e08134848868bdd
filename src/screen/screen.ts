/** Screens one text: every reading of it goes through the scan, and findings come back in its own offsets. */
import { type Hit, spend } from "./check.ts";
import { BUDGET } from "./detectors.ts";
import { LONGEST_CONTEXT } from "./fields.ts";
import { nearIn, type Span } from "./near.ts";
import { type Dictionary, EncodedCandidates, isEnough, scan } from "./scan.ts";
import { decodedView, isQuotedPrintable } from "./text/decoded.ts";
import { type Decoded, encodedRuns } from "./text/encoded.ts";
import { latinText } from "./text/fold.ts";
import { NOT_ASCII, plainView } from "./text/plain.ts";
import { compose, identity, type View } from "./text/view.ts";

/** A text without any of these has no other reading, unless it is quoted-printable. */
const OTHERWISE_READ = /[^\x20-\x24\x27-\x5b\x5d-\x7e\t\r\n]/;
const NO_HITS: readonly Hit[] = [];
/** What a code unit of an encoded text costs, and of another reading when a text is screened again, units. */
const READING_UNITS = 1;

/**
 * What the detectors of a dictionary find in `text`; `context` is words from outside it (a key, metadata names). With
 * `changed`, the places of the text that changed since it was screened, and those where something was found, only what
 * is near them is returned, and text that is encoded.
 */
export function screen(
  text: string,
  context: string,
  dictionary: Dictionary,
  changed: readonly Span[] | null = null,
): readonly Hit[] {
  const label = context === "" ? "" : `${context.slice(-LONGEST_CONTEXT)}: `;
  const whole = label + text;
  const candidates = new EncodedCandidates();
  if (!OTHERWISE_READ.test(whole) && !isQuotedPrintable(whole)) {
    const near = changed === null ? null : nearIn(behind(whole, label.length), changed);
    const hits = scan(whole, dictionary, candidates, near);
    const runs = encodedRuns(whole, candidates.starts);
    // Most texts have no findings, so the mapping back to their offsets is never needed.
    if (hits.length === 0 && runs.length === 0) return NO_HITS;
    if (hits.some(({ detector }) => detector === BUDGET)) return [{ detector: BUDGET, start: 0, end: text.length }];
    const named = behind(whole, label.length);
    return distinct([...inOriginal(hits, named), ...readEncoded(named, runs, dictionary)]);
  }
  return screenViews(behind(whole, label.length), dictionary, changed);
}

/** Screens every reading of the text. */
function screenViews(named: View, dictionary: Dictionary, changed: readonly Span[] | null): Hit[] {
  const read = (view: View, candidates?: EncodedCandidates) =>
    inOriginal(scan(view.text, dictionary, candidates, changed === null ? null : nearIn(view, changed)), view);
  const plain = compose(plainView(named.text), named);
  if (changed !== null) spend(named.text.length * READING_UNITS);
  const candidates = new EncodedCandidates();
  const hits = read(plain, candidates);
  const decoded = decodedView(plain.text);
  if (decoded) {
    const unescaped = compose(decoded, plain);
    if (changed !== null) spend(plain.text.length * READING_UNITS);
    const inUnescaped = new EncodedCandidates();
    hits.push(...read(unescaped, inUnescaped));
    hits.push(...readEncoded(unescaped, encodedRuns(unescaped.text, inUnescaped.starts), dictionary));
  }
  const latin = NOT_ASCII.test(plain.text) ? latinText(plain.text) : null;
  if (latin !== null) hits.push(...read({ ...plain, text: latin }));
  hits.push(...readEncoded(plain, encodedRuns(plain.text, candidates.starts), dictionary));
  return distinct(hits);
}

/** The view of a text that stands after a label of `length` code units. */
function behind(whole: string, length: number): View {
  if (length === 0) return identity(whole);
  return { text: whole, start: (at) => at - length, end: (at) => at - length };
}

function inOriginal(hits: readonly Hit[], view: View): Hit[] {
  const moved: Hit[] = [];
  for (const hit of hits) {
    const start = Math.max(0, view.start(hit.start));
    const end = view.end(hit.end);
    // A finding in the context alone is dropped, since the context is screened as well.
    if (end > 0) moved.push({ ...hit, start, end });
  }
  return moved;
}

/** Screens the texts of encoded runs of a view. A finding in one covers the whole run. */
function readEncoded(view: View, runs: readonly Decoded[], dictionary: Dictionary): Hit[] {
  const hits: Hit[] = [];
  for (const { text, start, end } of runs) {
    spend(text.length * READING_UNITS);
    for (const { detector } of scan(text, dictionary)) hits.push({ detector, start, end, isEncoded: true });
    if (isEnough(hits, dictionary, end)) break;
  }
  return inOriginal(hits, view);
}

/** Returns the findings in order, each once: overlapping findings of one kind are merged. */
function distinct(hits: Hit[]): Hit[] {
  if (hits.length < 2) return hits;
  hits.sort((a, b) => a.start - b.start || b.end - a.end);
  /**
   * The end of the last finding of each kind. The findings are in order, so one that begins before that end overlaps.
   */
  const ends = new Map<string, number>();
  return hits.filter(({ detector, start, end }) => {
    if (start < (ends.get(detector) ?? 0)) return false;
    ends.set(detector, end);
    return true;
  });
}
