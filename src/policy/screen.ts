/** Runs every detector over one text. */
import type { Hit } from "./finding.ts";
import { findPii } from "./pii/first.ts";
import { findSecrets } from "./secrets/first.ts";

/** What the detectors find in `text`; `context` is words from outside it (a key, metadata names). */
export function screen(text: string, context: string): Hit[] {
  const hits = [...findSecrets(text), ...findPii(text, context)];
  return hits.sort((a, b) => a.start - b.start || a.end - b.end);
}
