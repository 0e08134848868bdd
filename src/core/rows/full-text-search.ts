/** Searching an agent by its full text: candidates, and their ranking as an index of all would have it. */

import type { JsonObject } from "../../json.ts";
import { CANDIDATES, type Candidate, queryStems, rankCandidates } from "../../search/index/full-text.ts";
import type { CorpusStatistics } from "../../search/index/query.ts";
import type { SearchHit } from "../../search/index/ranking.ts";
import { isMisspellable, misspeltStems } from "../../search/index/repair.ts";
import type { QueryVector } from "../../search/vectors/query-embedder.ts";
import { stemOf } from "../../search/words/vocabulary.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";
import type { AgentState } from "./agents.ts";
import { vectorsOfEntries } from "./embeddings.ts";
import { contentOf, endOfPrefix, WITH_IDS_OF_AGENT } from "./entries.ts";
import { changesAfter } from "./entry-changes.ts";
import { type FullTextState, termOf } from "./full-text.ts";
import { entryFilter } from "./listing/filter.ts";
import type { MatchedAt } from "./listing/positions.ts";

/** The full text is searched while it lags by at most this many changes. */
const MAX_UNFOLLOWED = 1_000;
/**
 * Entries whose scores one search computes, roughly. The words that the most entries hold say the least, and are left
 * out of the search for candidates when they would exceed it.
 */
const MAX_MATCHES = 60_000;
/** The most misspelt words of one query that are corrected: each reads some of the full text's words. */
const MAX_REPAIRED = 8;

export interface FullTextOptions {
  limit: number;
  prefix: string;
  minSimilarity: number;
  /** Only entries whose metadata matches. */
  filter?: MatchedAt;
}

/** The hits by full text; null when it does not have all that was committed, or cannot soon enough. */
export async function searchFullText(
  reader: Reader,
  agent: AgentState,
  state: FullTextState,
  search: { query: string; options: FullTextOptions; queryVector?: QueryVector | null },
): Promise<SearchHit[] | null> {
  if (state.phase === "adding" || state.phase === "dropping") return null;
  const recent = await recentKeys(reader, agent, state);
  if (recent === null) return null;
  const { query, options } = search;
  const stems = queryStems(query);
  const frequencies = await frequenciesOf(reader, agent, stems);
  await addRepairs(reader, agent, stems, frequencies);
  const found = await findCandidates(reader, agent, frequencies, options);
  const candidates = [...found, ...matching(await readCandidates(reader, agent, "key", recent), options.filter)];
  const corpus = corpusOf(agent, frequencies, candidates.length);
  const { queryVector } = search;
  if (queryVector == null) return rankCandidates(query, candidates, options, corpus);
  await addVectors(reader, candidates, queryVector.model);
  return rankCandidates(query, candidates, { ...options, queryVector: queryVector.vector }, corpus);
}

/** The keys that were written since; null when the full text lacks more than keys can name. */
async function recentKeys(reader: Reader, agent: AgentState, state: FullTextState): Promise<string[] | null> {
  const changes = await changesAfter(reader, agent.agentId, {
    after: state.throughAgentSeq,
    through: agent.headSeq,
    limit: MAX_UNFOLLOWED + 1,
  });
  if (changes === null || changes.length > MAX_UNFOLLOWED) return null;
  const keys = new Set<string>();
  for (const { changed } of changes) {
    if (changed === "any") return null;
    if (changed !== "fewer") keys.add(changed.key);
  }
  return [...keys];
}

/** How many of the agent's entries hold each stem. */
async function frequenciesOf(reader: Reader, agent: AgentState, stems: ReadonlyMap<string, string>) {
  const frequencies = new Map<string, number>();
  for (const stem of stems.keys()) {
    const sql = "SELECT doc FROM search_terms WHERE term = ?";
    frequencies.set(stem, (await reader.value<number>(sql, [termOf(agent.firstSeq, stem)])) ?? 0);
  }
  return frequencies;
}

/** Adds the stems that words which no entry holds may be misspellings of. */
async function addRepairs(
  reader: Reader,
  agent: AgentState,
  stems: ReadonlyMap<string, string>,
  frequencies: Map<string, number>,
): Promise<void> {
  let repaired = 0;
  for (const [stem, token] of stems) {
    if (frequencies.get(stem) !== 0) continue;
    if (++repaired > MAX_REPAIRED) return;
    for (const [word, frequency] of await repairStem(reader, agent, token, stem)) frequencies.set(word, frequency);
  }
}

/** Candidates read at once, at the most: those of a filter that few match are looked for further and further. */
const MOST_AT_ONCE = 2_000;

/** Returns the best candidates that match the filter, as many as a ranking needs. */
async function findCandidates(
  reader: Reader,
  agent: AgentState,
  frequencies: ReadonlyMap<string, number>,
  options: FullTextOptions,
): Promise<Candidate[]> {
  const wanted = Math.max(CANDIDATES, options.limit);
  const { filter } = options;
  const count = filter === undefined ? wanted : Number.MAX_SAFE_INTEGER;
  const ids = await candidateIds(reader, agent, frequencies, options, count);
  const found: Candidate[] = [];
  const step = filter === undefined ? wanted : MOST_AT_ONCE;
  for (let at = 0; at < ids.length && found.length < wanted; at += step) {
    if (at > 0) await nextTurn();
    // In no order: the ranking brings them into theirs.
    found.push(...matching(await readCandidates(reader, agent, "id", ids.slice(at, at + step)), filter));
  }
  return found;
}

/** Returns the candidates whose metadata matches. */
function matching(candidates: Candidate[], filter: MatchedAt | undefined): Candidate[] {
  if (filter === undefined) return candidates;
  const { matches } = entryFilter(filter.conditions);
  return candidates.filter(({ document }) => matches(document.metadata as JsonObject));
}

async function candidateIds(
  reader: Reader,
  agent: AgentState,
  frequencies: ReadonlyMap<string, number>,
  { prefix }: FullTextOptions,
  count: number,
): Promise<number[]> {
  const terms = rarest(frequencies).map((stem) => `"${termOf(agent.firstSeq, stem).replaceAll('"', '""')}"`);
  if (terms.length === 0) return [];
  const match = terms.join(" OR ");
  const [sql, under] =
    prefix === ""
      ? ["SELECT rowid FROM search_texts WHERE search_texts MATCH ? ORDER BY rank LIMIT ?", []]
      : [
          `SELECT t.rowid FROM search_texts t CROSS JOIN search_rows s ON s.entry = t.rowid
           WHERE search_texts MATCH ? AND s.agent = ? AND s.key >= ? AND s.key < ? ORDER BY t.rank LIMIT ?`,
          [agent.firstSeq, prefix, endOfPrefix(prefix)],
        ];
  const rows = await reader.all<[number]>(sql, [match, ...under, count]);
  return rows.map(([id]) => id);
}

/** Returns the known stems, rarest first, as many as one search can afford, but at least one. */
function rarest(frequencies: ReadonlyMap<string, number>): string[] {
  const present = [...frequencies].filter(([, frequency]) => frequency > 0).sort((a, b) => a[1] - b[1]);
  const chosen: string[] = [];
  let matches = 0;
  for (const [stem, frequency] of present) {
    matches += frequency;
    if (matches > MAX_MATCHES && chosen.length > 0) break;
    chosen.push(stem);
  }
  return chosen;
}

type Row = [id: number, key: string, value: string, metadata: string];

/** Live entries of the agent by their ids or keys; an id may be another's by now. */
async function readCandidates(
  reader: Reader,
  agent: AgentState,
  column: "id" | "key",
  names: readonly (string | number)[],
): Promise<Candidate[]> {
  if (names.length === 0) return [];
  const rows = await reader.all<Row>(
    `SELECT id, key, value, metadata FROM entries
     WHERE ${column === "id" ? WITH_IDS_OF_AGENT : "key IN (SELECT value FROM json_each(?)) AND agent = ?"}
       AND live_to IS NULL`,
    [JSON.stringify(names), agent.firstSeq],
  );
  return rows.map(([id, key, value, metadata]) => ({ id, document: contentOf(key, value, metadata) }));
}

/** Gives the candidates the vectors that a model outside made of them. */
async function addVectors(reader: Reader, candidates: Candidate[], model: string): Promise<void> {
  const vectorsOf = await vectorsOfEntries(
    reader,
    candidates.map(({ id }) => id),
    model,
  );
  for (const candidate of candidates) {
    const vectors = vectorsOf.get(candidate.id);
    if (vectors !== undefined) candidate.vectors = { model, vectors };
  }
}

/** What the words weigh in the whole agent. One that is not of the query nor its repair counts as rare. */
function corpusOf(agent: AgentState, frequencies: ReadonlyMap<string, number>, candidates: number): CorpusStatistics {
  return {
    entries: Math.max(agent.liveEntries, candidates),
    frequencyOf: (token) => frequencies.get(stemOf(token)) ?? 1,
  };
}

/** Stems taken for one misspelt word. */
const MAX_REPAIRS = 4;
/** Stems read for one beginning of a word; where there are more, a longer beginning is taken. */
const MAX_READ = 3_000;
/** Letters of a beginning, the second when the first names too many stems; a stem is not shorter. */
const BEGINNINGS = [3, 4];

/**
 * The stems of the agent that a word of the query may be a misspelling of, nearest first, with how many entries hold
 * each. A slip within the beginning is found unless it put one letter in another's place or left one out.
 */
async function repairStem(reader: Reader, agent: AgentState, token: string, stem: string) {
  if (!isMisspellable(token)) return [];
  const frequencies = new Map<string, number>();
  for (const letters of BEGINNINGS) {
    let complete = true;
    for (const beginning of beginnings(token, letters)) {
      const read = await readStems(reader, agent, beginning, frequencies);
      if (read === MAX_READ) complete = false;
    }
    if (complete) break;
  }
  const alike = misspeltStems(token, stem, frequencies.keys()).slice(0, MAX_REPAIRS);
  return alike.map((word) => [word, frequencies.get(word) as number] as const);
}

/** Adds the agent's stems with this prefix. Returns how many were read. */
async function readStems(reader: Reader, agent: AgentState, beginning: string, into: Map<string, number>) {
  const from = termOf(agent.firstSeq, beginning);
  const rows = await reader.all<[string, number]>(
    "SELECT term, doc FROM search_terms WHERE term >= ? AND term < ? LIMIT ?",
    [from, `${from}\u{10ffff}`, MAX_READ],
  );
  const skipped = from.length - beginning.length;
  for (const [term, frequency] of rows) into.set(term.slice(skipped), frequency);
  return rows.length;
}

/** How the right word may begin: as this one, with two letters changed back, or with one taken out. */
function beginnings(token: string, letters: number): Set<string> {
  const found = new Set([token.slice(0, letters)]);
  for (let at = 0; at < letters; at++) {
    found.add((token.slice(0, at) + token.slice(at + 1)).slice(0, letters));
    const swapped = `${token.slice(0, at)}${token[at + 1]}${token[at]}${token.slice(at + 2)}`;
    if (at + 1 < letters) found.add(swapped.slice(0, letters));
  }
  return found;
}
