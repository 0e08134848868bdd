import words from "./stop-words.txt" with { type: "text" };

/**
 * English words that carry grammar rather than subject. A query drops them unless it consists of
 * nothing else; entries keep them, since their length and such a query need them.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(words.trim().split("\n"));
