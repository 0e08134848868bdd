import { STOP_WORDS } from "./stop-words.ts";
import { tokenize } from "./tokenize.ts";
import type { Vocabulary } from "./vocabulary.ts";
import { NONE } from "./vocabulary.ts";

/** Tokens of a query that are read; what follows says nothing that these do not. */
export const MAX_QUERY_TOKENS = 1024;
/** Terms of a query that are matched: the rarest, which decide the ranking. */
export const MAX_QUERY_TERMS = 64;

/** A form of the entries that a query term matches. */
export interface FormMatch {
  form: number;
  /** 1: the word itself; less: a word that resembles one that no entry has. */
  strength: number;
}

/** A word of the query as BM25 uses it. */
export interface QueryTerm {
  token: string;
  forms: FormMatch[];
  /** Inverse document frequency among the passages of this agent. */
  idf: number;
}

/** Robertson and Spärck Jones's inverse document frequency, in the form that is never negative. */
export function inverseFrequency(passages: number, frequency: number): number {
  return Math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5));
}

/** The tokens of a query that count for matching: without stop words, unless there are only those. */
export function contentTokens(tokens: readonly string[]): readonly string[] {
  const content = tokens.filter((token) => !STOP_WORDS.has(token));
  return content.length > 0 ? content : tokens;
}

export function queryTokens(query: string): string[] {
  return tokenize(query).slice(0, MAX_QUERY_TOKENS);
}

/** The terms of a query, each once, with the forms of the agent's vocabulary that are the same word. */
export function queryTerms(tokens: readonly string[], vocabulary: Vocabulary, passages: number): QueryTerm[] {
  const terms = new Map<number | string, QueryTerm>();
  for (const token of contentTokens(tokens)) {
    const number = vocabulary.findTerm(token);
    const identity = number === NONE ? token : number;
    if (terms.has(identity)) continue;
    const term: QueryTerm = { token, forms: [], idf: 0 };
    const frequency = number === NONE ? 0 : vocabulary.frequency(number);
    if (frequency > 0) vocabulary.eachForm(number, (form) => term.forms.push({ form, strength: 1 }));
    term.idf = inverseFrequency(passages, frequency);
    terms.set(identity, term);
  }
  const found = [...terms.values()];
  if (found.length <= MAX_QUERY_TERMS) return found;
  return found.sort((a, b) => b.idf - a.idf).slice(0, MAX_QUERY_TERMS);
}
