/** Misspelt words of a query, looked for among the stems of an agent's full text. */
import { isMisspellable, misspeltStems } from "../search/index/repair.ts";
import type { Reader } from "../store/transaction.ts";
import type { AgentState } from "./agents.ts";
import { termOf } from "./full-text.ts";

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
export async function repairStem(reader: Reader, agent: AgentState, token: string, stem: string) {
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
