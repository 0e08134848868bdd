/** Runs every detector over one text. */
import type { Hit } from "./finding.ts";
import { findPii } from "./pii/first.ts";
import { scan } from "./scan.ts";
import { decodedView } from "./text/decoded.ts";
import { plainView } from "./text/plain.ts";
import { compose, type View } from "./text/view.ts";

/** What the detectors find in `text`; `context` is words from outside it (a key, metadata names). */
export function screen(text: string, context: string): Hit[] {
  const plain = plainView(text);
  const hits = through(plain, scan(plain.text));
  const decoded = decodedView(plain.text);
  if (decoded) hits.push(...through(compose(decoded, plain), scan(decoded.text)));
  hits.push(...findPii(text, context));
  return hits.sort((a, b) => a.start - b.start || a.end - b.end);
}

function through(view: View, hits: readonly Hit[]): Hit[] {
  return hits.map((hit) => ({ ...hit, start: view.start(hit.start), end: view.end(hit.end) }));
}
