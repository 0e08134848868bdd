/** Finds the entries of one page of a list that is filtered, sorted, grouped or of an earlier state. Their rows are read later. */
import type { JsonObject } from "../../../json.ts";
import type { Filter, Sorting } from "../../../operation-facts.ts";
import type { Viewer } from "../../../screen/retention.ts";
import type { Reader } from "../../../store/transaction.ts";
import { nextTurn } from "../../../timer.ts";
import type { AgentState } from "../agents.ts";
import { type EntryFilter, entryFilter } from "./filter.ts";
import { ungrouped } from "./groups.ts";
import { rowsByKey } from "./keys.ts";
import { type Order, orderBy, type Position } from "./order.ts";
import { type ListMoment, partsOf, type Where } from "./parts.ts";

/** The id of an entry, and its position in the order of the list. */
export interface EntryPosition {
  id: number;
  position: Position;
}

/** The entries of a list, and their order. */
export interface Wanted extends Sorting {
  prefix: string;
  filter?: Filter;
  /** Keys with this character after the prefix are left out, unless they end with its first occurrence. */
  delimiter?: string;
}

/** The entries that a filtered list by key examines in their order before it examines all that are left. */
const LOOKED_AT_FIRST = 10_000;
const ENTRIES_AT_ONCE = 500;

/** Returns the first `count` places of a list after a position, in the order of the list. */
export async function findPositions(
  reader: Reader,
  agent: AgentState,
  wanted: Wanted & { after: Position | null; count: number },
  moment: ListMoment,
): Promise<EntryPosition[]> {
  const filter = wanted.filter === undefined ? null : entryFilter(wanted.filter);
  const isOrdered = filter !== null && wanted.sort === undefined && moment.asOf === undefined;
  if (!isOrdered) return scan(reader, agent, { ...wanted, filter }, moment);
  // If many entries match, walking in the order of keys fills the page soon.
  const { places, reached } = await walk(reader, agent, { ...wanted, filter }, moment);
  if (reached === null) return places;
  const rest = { ...wanted, filter, after: [reached] as const, count: wanted.count - places.length };
  return [...places, ...(await scan(reader, agent, rest, moment))];
}

type Walked = [key: string, id: number, metadata: string];

/** Examines entries in the order of their keys. `reached`: the last examined key; null at the end of the list. */
async function walk(
  reader: Reader,
  agent: AgentState,
  wanted: Omit<Wanted, "filter"> & { filter: EntryFilter; after: Position | null; count: number },
  moment: ListMoment,
): Promise<{ places: EntryPosition[]; reached: string | null }> {
  const { prefix, order, filter, count } = wanted;
  const places: EntryPosition[] = [];
  let after = wanted.after === null ? null : String(wanted.after[0]);
  for (let looked = 0; looked < LOOKED_AT_FIRST; looked += ENTRIES_AT_ONCE) {
    await moment.pause();
    const range = { prefix, order, after, limit: ENTRIES_AT_ONCE };
    const rows = await rowsByKey<Walked>(reader, agent, "key, id, metadata", range, moment);
    for (const [key, id, metadata] of rows) {
      if (filter.matches(JSON.parse(metadata) as JsonObject)) places.push({ id, position: [key] });
      if (places.length === count) return { places, reached: null };
    }
    if (rows.length < ENTRIES_AT_ONCE) return { places, reached: null };
    after = (rows.at(-1) as Walked)[0];
  }
  return { places, reached: after };
}

/** Examines all entries, in parts, and keeps the first places after a position. */
async function scan(
  reader: Reader,
  agent: AgentState,
  wanted: Omit<Wanted, "filter"> & { filter: EntryFilter | null; after: Position | null; count: number },
  moment: ListMoment,
): Promise<EntryPosition[]> {
  const { prefix, filter, count } = wanted;
  const { order, start, end } = orderBy(wanted);
  const shown = ungrouped(prefix, wanted.delimiter);
  const best = new Best(order, count, end);
  for await (const part of partsOf(reader, agent, prefix, moment)) {
    const where: Where = {
      sql: `${part.sql} AND ${order.between} ${shown.sql}`,
      bound: [...part.bound, ...(wanted.after ?? start), ...best.worst, ...shown.bound],
    };
    if (filter === null) best.add(await placesOf(reader, where, order, count));
    else {
      const ids = await matchingIds(reader, where, filter);
      const matching = { sql: "id IN (SELECT value FROM json_each(?))", bound: [JSON.stringify(ids)] };
      if (ids.length > 0) best.add(await placesOf(reader, matching, order, count));
    }
  }
  return best.places();
}

/** A filter, and for whom entries must be visible. */
export interface MatchedAt extends Viewer {
  conditions: Filter;
}

/** Returns the ids of the entries under a prefix that match a filter. */
export async function findMatching(
  reader: Reader,
  agent: AgentState,
  prefix: string,
  { conditions, ...viewer }: MatchedAt,
): Promise<Set<number>> {
  const found = new Set<number>();
  const compiled = entryFilter(conditions);
  for await (const part of partsOf(reader, agent, prefix, { ...viewer, pause: nextTurn })) {
    for (const id of await matchingIds(reader, part, compiled)) found.add(id);
  }
  return found;
}

/**
 * Returns the ids of matching entries of a part. Reads all metadata as one text: separate rows would cost twice the
 * rest.
 */
async function matchingIds(reader: Reader, { sql, bound }: Where, { needles, matches }: EntryFilter) {
  const row = await reader.get<[ids: string | null, metadata: string | null]>(
    `SELECT group_concat(id), group_concat(metadata) FROM entries
     WHERE ${sql} AND instr(metadata, ?) > 0 AND instr(metadata, ?) > 0`,
    [...bound, ...needles],
  );
  if (row === undefined || row[0] === null) return [];
  const ids = row[0].split(",");
  const metadata = JSON.parse(`[${row[1]}]`) as JsonObject[];
  return ids.filter((_, i) => matches(metadata[i] as JsonObject)).map(Number);
}

async function placesOf(reader: Reader, { sql, bound }: Where, order: Order, count: number): Promise<EntryPosition[]> {
  const rows = await reader.all<[id: number, ...Position]>(
    `SELECT id, ${order.columns} FROM entries WHERE ${sql} ORDER BY ${order.by} LIMIT ?`,
    [...bound, count],
  );
  return rows.map(([id, ...position]) => ({ id, position }));
}

/** Keeps the first `count` of the added places. */
class Best {
  #places: EntryPosition[] = [];
  /** Places after this position are not needed. */
  worst: Position;

  constructor(
    private readonly order: Order,
    private readonly count: number,
    end: Position,
  ) {
    this.worst = end;
  }

  add(places: readonly EntryPosition[]): void {
    this.#places.push(...places);
    // Sorting only now and then keeps the cost per place low.
    if (this.#places.length >= 2 * this.count + ENTRIES_AT_ONCE) this.places();
  }

  /** Returns the places in their order. */
  places(): EntryPosition[] {
    this.#places.sort((a, b) => this.order.compare(a.position, b.position));
    this.#places.length = Math.min(this.#places.length, this.count);
    const last = this.#places.at(-1);
    if (last !== undefined && this.#places.length === this.count) this.worst = last.position;
    return this.#places;
  }
}
