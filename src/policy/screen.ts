/** Screens one text: every reading of it goes through the scan, and findings come back in its own offsets. */
import { beginEffort, type Hit } from "./check.ts";
import { BUDGET } from "./detectors.ts";
import { type Dictionary, EncodedCandidates, isEnough, scan } from "./scan.ts";
import { decodedView, isQuotedPrintable } from "./text/decoded.ts";
import { encodedRuns } from "./text/encoded.ts";
import { latinText } from "./text/fold.ts";
import { NOT_ASCII, plainView } from "./text/plain.ts";
import { compose, identity, type View } from "./text/view.ts";

/** How much of the context is read, from its end, which is nearest to the text. */
const LONGEST_CONTEXT = 96;

/** A text without any of these has no other reading, unless it is quoted-printable. */
const OTHERWISE_READ = /[^\x20-\x24\x27-\x5b\x5d-\x7e\t\r\n]/;
const NO_HITS: readonly Hit[] = [];

/** What the detectors of a dictionary find in `text`; `context` is words from outside it (a key, metadata names). */
export function screen(text: string, context: string, dictionary: Dictionary): readonly Hit[] {
  const whole = context === "" ? text : labelOf(context) + text;
  if (!OTHERWISE_READ.test(whole) && !isQuotedPrintable(whole)) {
    // Most texts have no findings, so the mapping back to their offsets is never needed.
    beginEffort(whole.length);
    const candidates = new EncodedCandidates();
    const hits = scan(whole, dictionary, candidates);
    if (hits.length === 0 && encodedRuns(whole, candidates.starts).length === 0) return NO_HITS;
    // Another reading would cost as much again.
    if (hits.some(({ detector }) => detector === BUDGET)) return [{ detector: BUDGET, start: 0, end: text.length }];
  }
  return screenViews(text, context, dictionary);
}

/** Screens every reading of the text. */
function screenViews(text: string, context: string, dictionary: Dictionary): Hit[] {
  const named = withContext(text, context);
  beginEffort(named.text.length);
  const plain = plainView(named.text);
  const candidates = new EncodedCandidates();
  const hits = readAs(plain, dictionary, named, candidates);
  const decoded = decodedView(plain.text);
  if (decoded) {
    const unescaped = compose(decoded, plain);
    const inUnescaped = new EncodedCandidates();
    hits.push(...readAs(unescaped, dictionary, named, inUnescaped));
    hits.push(...readEncoded(unescaped, inUnescaped, dictionary, named));
  }
  const latin = NOT_ASCII.test(plain.text) ? latinText(plain.text) : null;
  if (latin !== null) hits.push(...readAs({ ...plain, text: latin }, dictionary, named));
  hits.push(...readEncoded(plain, candidates, dictionary, named));
  return hits.length < 2 ? hits : distinct(hits);
}

/** The text after its context, as in "context: text". */
function withContext(text: string, context: string): View {
  if (context === "") return identity(text);
  const label = labelOf(context);
  return { text: label + text, start: (at) => at - label.length, end: (at) => at - label.length };
}

const labelOf = (context: string): string => `${context.slice(-LONGEST_CONTEXT)}: `;

function readAs(view: View, dictionary: Dictionary, named: View, candidates?: EncodedCandidates): Hit[] {
  const hits = scan(view.text, dictionary, candidates);
  return hits.length === 0 ? hits : inOriginal(hits, view, named);
}

function inOriginal(hits: readonly Hit[], view: View, named: View): Hit[] {
  const moved: Hit[] = [];
  for (const hit of hits) {
    const start = Math.max(0, named.start(view.start(hit.start)));
    const end = named.end(view.end(hit.end));
    // A finding in the context alone is dropped, since the context is screened as well.
    if (end > 0) moved.push({ ...hit, start, end });
  }
  return moved;
}

/** Screens the texts of encoded runs. A finding in one covers the whole run. */
function readEncoded(view: View, candidates: EncodedCandidates, dictionary: Dictionary, named: View): Hit[] {
  const hits: Hit[] = [];
  for (const { text, start, end } of encodedRuns(view.text, candidates.starts)) {
    for (const { detector } of scan(text, dictionary)) hits.push({ detector, start, end, isEncoded: true });
    if (isEnough(hits, dictionary, end)) break;
  }
  return inOriginal(hits, view, named);
}

/** Returns the findings in order, each once: overlapping findings of one kind are merged. */
function distinct(hits: Hit[]): Hit[] {
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
