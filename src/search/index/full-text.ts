import { STOP_WORDS } from "../words/stop-words.ts";
import { stemOf } from "../words/vocabulary.ts";
import { searchTerms } from "./candidates.ts";
import { documentTokens, type SearchDocument } from "./document.ts";

/**
 * The words of an entry for a full-text search by `queryStems`: stems, without stop words, as often
 * as they occur. None holds white space.
 */
export function documentStems(document: SearchDocument): string[] {
  const { key, value, metadata } = documentTokens(document);
  return [...value, ...metadata, ...key].filter((token) => !STOP_WORDS.has(token)).map(stemOf);
}

/** The stems by which to look for a query's candidates, each with the first of its tokens. */
export function queryStems(query: string): Map<string, string> {
  const stems = new Map<string, string>();
  for (const token of searchTerms(query)) {
    const stem = stemOf(token);
    if (!STOP_WORDS.has(token) && !stems.has(stem)) stems.set(stem, token);
  }
  return stems;
}
