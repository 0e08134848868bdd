/** Folders of keys: groups keys by the text up to the first delimiter after a prefix. */
import { invalid } from "../../../problem.ts";
import type { Reader } from "../../../store/transaction.ts";
import type { AgentState } from "../agents.ts";
import { compareTexts } from "./order.ts";
import { type ListMoment, partsOf, visible, type Where } from "./parts.ts";

/** The keys with a common beginning up to a delimiter. */
interface Group {
  /** Ends with the delimiter. */
  prefix: string;
  entries: number;
}

/** The most groups of one list, since every page carries all of them. */
const MAX_GROUPS = 10_000;

/** SQL: the place of the first delimiter after the prefix; 0 without one. Its parameters: prefix length, delimiter. */
const PLACE = "instr(substr(key, 1 + ?), ?)";

/** Returns the condition that a key is in no group. A key that ends with its first delimiter is in none. */
export function ungrouped(prefix: string, delimiter: string | undefined): Where {
  if (delimiter === undefined) return { sql: "", bound: [] };
  const length = [...prefix].length;
  return { sql: `AND ${PLACE} IN (0, length(key) - ?)`, bound: [length, delimiter, length] };
}

/**
 * Returns the groups of the keys with a prefix, in the order of their keys.
 * @throws {Problem} `invalid_request` when there are too many
 */
export async function countGroups(
  reader: Reader,
  agent: AgentState,
  { prefix, delimiter }: { prefix: string; delimiter: string },
  moment: ListMoment,
): Promise<Group[]> {
  const groups = new Map<string, number>();
  const length = [...prefix].length;
  const group = `substr(key, 1, ? + ${PLACE})`;
  for await (const { sql, bound } of partsOf(reader, agent, prefix, moment, true)) {
    const rows = await reader.all<[prefix: string, entries: number]>(
      `SELECT ${group}, count(*) FROM entries
       WHERE ${sql} AND ${PLACE} NOT IN (0, length(key) - ?) GROUP BY 1`,
      [length, length, delimiter, ...bound, length, delimiter, length],
    );
    for (const [name, entries] of rows) groups.set(name, (groups.get(name) ?? 0) + entries);
    if (groups.size > MAX_GROUPS) throw tooMany();
  }
  return [...groups]
    .map(([name, entries]) => ({ prefix: name, entries }))
    .sort((a, b) => compareTexts(a.prefix, b.prefix));
}

const tooMany = () =>
  invalid(`There are more than ${MAX_GROUPS} groups. Send a longer prefix, or leave "delimiter" out.`, "delimiter");

/** Returns the number of entries on all pages of a list, without those in groups. */
export async function countListed(
  reader: Reader,
  agent: AgentState,
  { prefix, delimiter }: { prefix: string; delimiter?: string | undefined },
  moment: ListMoment,
): Promise<number> {
  const shown = ungrouped(prefix, delimiter);
  const isAll = prefix === "" && shown.sql === "" && moment.asOf === undefined;
  if (isAll && (await visible(reader, agent, moment)).sql === "") return agent.liveEntries;
  let total = 0;
  for await (const { sql, bound } of partsOf(reader, agent, prefix, moment, true)) {
    const statement = `SELECT count(*) FROM entries WHERE ${sql} ${shown.sql}`;
    total += (await reader.value<number>(statement, [...bound, ...shown.bound])) ?? 0;
  }
  return total;
}
