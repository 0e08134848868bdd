/** Screens one text: every reading of it goes through the scan, and findings come back in its own offsets. */
import type { Hit, ScreeningPolicy } from "./finding.ts";
import { scan } from "./scan.ts";
import { decodedView } from "./text/decoded.ts";
import { plainView } from "./text/plain.ts";
import { compose, identity, type View } from "./text/view.ts";

/** How much of the context is read: its end is nearest to the text. */
const LONGEST_CONTEXT = 96;

/** What the detectors find in `text`; `context` is words from outside it (a key, metadata names). */
export function screen(text: string, context: string, wanted: ReadonlySet<ScreeningPolicy>): Hit[] {
  const named = withContext(text, context);
  const plain = plainView(named.text);
  const hits = [...readAs(plain, wanted, named)];
  const decoded = decodedView(plain.text);
  if (decoded) hits.push(...readAs(compose(decoded, plain), wanted, named));
  return distinct(hits);
}

/** The text behind its context, as if somebody had written "context: text". */
function withContext(text: string, context: string): View {
  if (context === "") return identity(text);
  const label = `${context.slice(-LONGEST_CONTEXT)}: `;
  return { text: label + text, start: (at) => at - label.length, end: (at) => at - label.length };
}

function* readAs(view: View, wanted: ReadonlySet<ScreeningPolicy>, named: View): Generator<Hit> {
  for (const hit of scan(view.text, wanted)) {
    const start = Math.max(0, named.start(view.start(hit.start)));
    const end = named.end(view.end(hit.end));
    // What is found in the context alone is found where the context itself is screened.
    if (end > 0) yield { ...hit, start, end };
  }
}

/** In order, and each finding once: overlapping findings of one kind are one. */
function distinct(hits: Hit[]): Hit[] {
  hits.sort((a, b) => a.start - b.start || b.end - a.end);
  const kept: Hit[] = [];
  for (const hit of hits) {
    const same = kept.some(
      (one) => one.detector === hit.detector && one.start < hit.end && hit.start < one.end,
    );
    if (!same) kept.push(hit);
  }
  return kept;
}
