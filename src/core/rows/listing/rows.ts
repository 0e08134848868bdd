/** Reads the rows of a list with the members that are shown. */
import type { JsonObject } from "../../../json.ts";
import type { Reader } from "../../../store/transaction.ts";
import type { AgentState } from "../agents.ts";
import { PRESENT_AT, WITH_IDS_OF_AGENT } from "../entries.ts";
import { type EntryRow, type ListedEntry, readRows } from "./entry-rows.ts";
import { entryFilter } from "./filter.ts";
import { readByKey } from "./keys.ts";
import { orderBy, type Position } from "./order.ts";
import { type ListMoment, visible } from "./parts.ts";
import { type EntryPosition, findPositions, type Wanted } from "./positions.ts";

/** An entry and its position. The entry is null if it changed while the list was made. */
interface Listed {
  entry: ListedEntry | null;
  position: Position;
}

/**
 * The most rows that are read in a step: few with values, so that large values do not exceed the limit of a page by much.
 */
const WITH_VALUES_AT_ONCE = 32;
const WITHOUT_VALUES_AT_ONCE = 128;
/** The rows of the first step, and the length that the values of a step should not exceed, UTF-16 units. */
const FIRST_AT_ONCE = 8;
const CHARACTERS_AT_ONCE = 512 * 1024;

/** The number of rows that the next step of a list reads. Long values make it smaller, so that each step is short. */
class StepSize {
  rows = FIRST_AT_ONCE;
  readonly #most: number;

  constructor(includeValues: boolean) {
    this.#most = includeValues ? WITH_VALUES_AT_ONCE : WITHOUT_VALUES_AT_ONCE;
  }

  /** Adapts the number to the rows of a step. */
  follow(read: readonly EntryRow[]): void {
    const characters = read.reduce((sum, row) => sum + row.characters, 0);
    if (characters > CHARACTERS_AT_ONCE)
      this.rows = Math.max(1, Math.floor((this.rows * CHARACTERS_AT_ONCE) / characters));
    else if (2 * characters <= CHARACTERS_AT_ONCE) this.rows = Math.min(2 * this.rows, this.#most);
  }
}

/** A page of a list. */
interface WantedPage extends Wanted {
  after: Position | null;
  offset: number;
  limit: number;
  includeValues: boolean;
}

/**
 * Yields the entries of a page in their order, some at a time, and one more entry if the list continues.
 * @throws {OutOfOrder}
 */
export async function* listed(
  reader: Reader,
  agent: AgentState,
  wanted: WantedPage,
  moment: ListMoment,
): AsyncGenerator<Listed[]> {
  const { sort, filter, delimiter } = wanted;
  const isPlain = [sort, filter, delimiter, moment.asOf].every((one) => one === undefined);
  yield* isPlain ? listedByKey(reader, agent, wanted, moment) : listedElsewhere(reader, agent, wanted, moment);
}

async function* listedByKey(reader: Reader, agent: AgentState, wanted: WantedPage, moment: ListMoment) {
  const { prefix, order, limit, includeValues } = wanted;
  let after = wanted.after === null ? null : String(wanted.after[0]);
  let { offset } = wanted;
  const size = new StepSize(includeValues);
  for (let left = limit + 1; left > 0; ) {
    await moment.pause();
    const want = Math.min(size.rows, left);
    const range = { prefix, order, after, offset, limit: want };
    const rows = await readByKey(reader, agent, range, moment, {
      read: (rest, bound) => readRows(reader, includeValues, rest, bound),
      keyOf: ({ key }) => key,
    });
    size.follow(rows);
    yield rows.map((entry) => ({ entry, position: [entry.key] as const }));
    if (rows.length < want) return;
    after = rows.at(-1)?.key as string;
    left -= want;
    offset = 0;
  }
}

/** Yields the entries of a page that is filtered, sorted, grouped or of an earlier state. */
async function* listedElsewhere(reader: Reader, agent: AgentState, wanted: WantedPage, moment: ListMoment) {
  const { offset, limit, includeValues } = wanted;
  const places = await findPositions(reader, agent, { ...wanted, count: offset + limit + 1 }, moment);
  const size = new StepSize(includeValues);
  for (let at = offset; at < places.length; ) {
    await moment.pause();
    const step = places.slice(at, at + size.rows);
    at += step.length;
    yield await readPlaces(reader, agent, step, wanted, moment, size);
  }
}

/** Returns the entries at some places. On a reader thread, an entry may change after its place was found. */
async function readPlaces(
  reader: Reader,
  agent: AgentState,
  places: readonly EntryPosition[],
  { includeValues, filter, ...wanted }: WantedPage,
  moment: ListMoment,
  size: StepSize,
): Promise<Listed[]> {
  const { asOf } = moment;
  const shown = await visible(reader, agent, moment);
  const state = asOf === undefined ? "live_to IS NULL" : PRESENT_AT;
  const at = asOf === undefined ? [] : [asOf, asOf];
  const rest = `WHERE ${WITH_IDS_OF_AGENT} AND ${state} ${shown.sql} LIMIT ?`;
  const named = [JSON.stringify(places.map(({ id }) => id)), agent.firstSeq, ...at, ...shown.bound, places.length];
  const rows = await readRows(reader, includeValues, rest, named);
  size.follow(rows);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const { order } = orderBy(wanted);
  const matches = filter === undefined ? () => true : entryFilter(filter).matches;
  return places.map(({ id, position }) => {
    const entry = byId.get(id);
    if (entry === undefined || !matches(JSON.parse(entry.metadata) as JsonObject)) return { entry: null, position };
    const isThere = order.compare(order.positionOf(entry), position) === 0;
    return { entry: isThere ? entry : null, position };
  });
}
