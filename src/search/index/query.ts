import { MIN_RELATEDNESS, type RelatedWords, type Relations } from "../words/related-words.ts";
import { STOP_WORDS } from "../words/stop-words.ts";
import { tokenize } from "../words/tokenize.ts";
import { NONE, stemOf, type Vocabulary } from "../words/vocabulary.ts";
import { MAX_COMPARED, type WordTable } from "../words/word-table.ts";
import type { Passages } from "./passages.ts";
import type { FormMatch, SpellingRepair } from "./repair.ts";

/** The most tokens of a query that are read. */
const MAX_QUERY_TOKENS = 1024;
/** The most terms of a query that are matched: the rarest, which decide the ranking. */
export const MAX_QUERY_TERMS = MAX_COMPARED;

/** The most that a related word counts, compared with the word itself. */
const RELATED_STRENGTH = 0.5;
/** Words of the model beyond this rank are rare enough to be typing errors. */
const COMMON_WORDS = 30_000;

/** What BM25 needs to know about entries that the index does not hold. */
export interface CorpusStatistics {
  /** How many entries the agent has. */
  entries: number;
  /** Returns how many of them hold a word of `searchTerms`. */
  frequencyOf(token: string): number;
}

/** A word of the query as BM25 uses it. */
export interface QueryTerm {
  token: string;
  /** Its row in the model, or `NONE`. */
  row: number;
  forms: FormMatch[];
  /** The form that corrects it, or `NONE`. */
  repairedTo: number;
  /** Inverse document frequency among the passages of this agent. */
  idf: number;
}

/** What a query is matched against. */
interface QueryContext {
  vocabulary: Vocabulary;
  words: WordTable;
  related: RelatedWords;
  repair: SpellingRepair;
  passages: Passages;
  /** The frequencies of the whole agent, when the index holds only part of it. */
  corpus: CorpusStatistics | undefined;
}

/**
 * Returns Robertson and Spärck Jones's inverse document frequency, in the form that is never negative. `frequency` is
 * that of the token's term in the index.
 */
function inverseFrequency(token: string, frequency: number, { passages, corpus }: QueryContext): number {
  const found = corpus?.frequencyOf(token) ?? frequency;
  return Math.log(1 + ((corpus?.entries ?? passages.liveCount) - found + 0.5) / (found + 0.5));
}

/** Returns the tokens of a query without stop words, or all when there are only stop words. */
export function contentTokens(tokens: readonly string[]): readonly string[] {
  const content = tokens.filter((token) => !STOP_WORDS.has(token));
  return content.length > 0 ? content : tokens;
}

export const queryTokens = (query: string): string[] => tokenize(query).slice(0, MAX_QUERY_TOKENS);

/**
 * Returns the terms of a query, each once, with the forms of the agent's vocabulary that match them: the
 * same word; more weakly, words of related meaning; for a word that neither the agent nor common
 * English has, words with a similar spelling.
 */
export function queryTerms(tokens: readonly string[], context: QueryContext): QueryTerm[] {
  const terms = exactTerms(tokens, context)
    .sort((a, b) => b.idf - a.idf)
    .slice(0, MAX_QUERY_TERMS);
  const exact = new Set(terms.filter(({ forms }) => forms.length > 0));
  addRelated(terms, context);
  for (const term of terms) {
    if (!exact.has(term) && (term.row === NONE || term.row > COMMON_WORDS || term.forms.length === 0))
      repairTerm(term, context);
  }
  return terms;
}

function exactTerms(tokens: readonly string[], context: QueryContext): QueryTerm[] {
  const { vocabulary, words } = context;
  const terms = new Map<string, QueryTerm>();
  for (const token of contentTokens(tokens)) {
    const stem = stemOf(token);
    if (terms.has(stem)) continue;
    const number = vocabulary.findTerm(stem);
    const forms: FormMatch[] = [];
    const frequency = number === NONE ? 0 : vocabulary.frequency(number);
    if (frequency > 0) vocabulary.eachForm(number, (form) => forms.push({ form, strength: 1 }));
    const idf = inverseFrequency(token, frequency, context);
    terms.set(stem, { token, row: words.vectors.find(token), forms, repairedTo: NONE, idf });
  }
  return [...terms.values()];
}

/** Adds the words of the entries that are related to each term. */
function addRelated(terms: readonly QueryTerm[], { vocabulary, related }: QueryContext): void {
  const known = terms.filter(({ row }) => row !== NONE);
  const relations = related.find(known.map(({ row }) => row));
  known.forEach((term, place) => {
    const same = new Set(term.forms.map(({ form }) => form));
    const { forms, cosines } = relations[place] as Relations;
    forms.forEach((form, i) => {
      if (!vocabulary.isUsed(form) || same.has(form)) return;
      const strength = (RELATED_STRENGTH * ((cosines[i] as number) - MIN_RELATEDNESS)) / (1 - MIN_RELATEDNESS);
      term.forms.push({ form, strength });
    });
  });
}

/** Adds the words that may correct a term, and uses the frequency of the nearest. */
function repairTerm(term: QueryTerm, context: QueryContext): void {
  const { vocabulary, repair } = context;
  const alike = repair.find(term.token);
  const [nearest] = alike;
  if (nearest === undefined) return;
  term.forms.push(...alike);
  term.repairedTo = nearest.form;
  const frequency = vocabulary.frequency(vocabulary.termOf(nearest.form));
  term.idf = inverseFrequency(vocabulary.spelling(nearest.form), frequency, context);
}
