/**
 * Pages of the trail, the newest or the oldest events first, of one chain or of the whole log. Some filters have an
 * index; for others, events are read part by part. A query that takes too long returns what it has found, and where it
 * stopped: rare filters have no index, since every write would pay for it.
 */
import { ID_ALPHABET, positionOf } from "../../../ids.ts";
import type { JsonObject } from "../../../json.ts";
import { bodyOf, presentEventJson } from "../../../log/present.ts";
import type { TimeWindow } from "../../../operation-facts.ts";
import type { OperationInputs } from "../../../operations.ts";
import type { Reader } from "../../../store/transaction.ts";
import type { SqlValue } from "../../../store/values.ts";
import { fits, isWhole, type TrailFilter } from "../../../trail-filter.ts";
import { eventsIn } from "../counts/activity.ts";
import { type Direction, directionOf } from "../direction.ts";
import { readEvents, timesIn } from "./events.ts";
import type { FileEvent } from "./stored-events.ts";

/** How long a query reads events before it returns what it has found, ms. */
const BUDGET_MS = 300;
/** The events of the first part, and the most events of a part. Parts double while they take less than `MOMENT_MS`. */
const FIRST_PART = 1_000;
const LARGEST_PART = 64_000;
const MOMENT_MS = 15;

/** How far the clock may have been set back without a window of time missing events, ms. */
const CLOCK_MARGIN_MS = 3_600_000;
/** The last moment whose text has a year of four digits. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

type Wanted = OperationInputs["audit.query"];
/** Conditions as SQL with their parameters. */
type Conditions = readonly (readonly [sql: string, ...parameters: SqlValue[]])[];

/**
 * The order of the trail. Events are ordered by a number that decreases from row to row: their position, or its
 * negative if the oldest event comes first.
 */
interface TrailDirection extends Direction {
  sign: 1 | -1;
}

const NEWEST_FIRST: TrailDirection = { sign: 1, ...directionOf(undefined) };
const OLDEST_FIRST: TrailDirection = { sign: -1, ...directionOf("asc") };

/** A source of the events of a query, ordered by a number. */
interface TrailSource {
  /** One more than the number of the first event of the list. */
  end: number;
  /**
   * Returns events of the next part before a number that may match, at most `limit`, in the order of the list; and the
   * number before which the following part begins, null when there is none.
   */
  part(before: number, size: number, limit: number): Promise<{ rows: FileEvent[]; next: number | null }>;
  /**
   * Skips the first `count` events of the list before a number, and reads only an index for that. Returns the number of
   * the last skipped event; null when there are fewer events. Absent when no index determines which events match.
   */
  skip?(before: number, count: number): Promise<number | null>;
}

/** The clock of a query, and a function that gives other work a turn. */
interface Pace {
  monotonicMs(): number;
  pause(): Promise<void>;
}

/** Returns a page of events as JSON texts of the API, and the number before which the next page begins. */
export async function listTrail(reader: Reader, wanted: Wanted, pace: Pace) {
  const { page, window, scope, order: _order, ...filter } = wanted;
  const isListed = conditionOf(filter, window);
  const place = await sourceOf(reader, wanted);
  const events: string[] = [];
  const until = pace.monotonicMs() + BUDGET_MS;
  let before = page.after === undefined ? place.end : Math.min(Number(page.after), place.end);
  let toSkip = page.offset;
  while (toSkip > 0 && place.skip !== undefined) {
    const count = Math.min(toSkip, LARGEST_PART);
    const last = await place.skip(before, count);
    if (last === null) return { events, next: null };
    before = last;
    toSkip -= count;
    await pace.pause();
  }
  let size = FIRST_PART;
  for (;;) {
    const beganMs = pace.monotonicMs();
    const { rows, next } = await place.part(before, size, toSkip + page.limit + 1 - events.length);
    let last = before;
    for (const row of rows) {
      if (isListed !== null && !isListed(row)) continue;
      if (toSkip > 0) toSkip -= 1;
      else if (events.length === page.limit) return { events, next: last };
      else events.push(presentEventJson(row));
      last = row.place;
    }
    if (next === null) return { events, next: null };
    before = next;
    const nowMs = pace.monotonicMs();
    // A cursor cannot state how many events are still to be skipped, so skipping is not interrupted.
    if (nowMs > until && toSkip === 0) return { events, next: before };
    if (nowMs - beganMs < MOMENT_MS) size = Math.min(size * 2, LARGEST_PART);
    await pace.pause();
  }
}

/** Returns whether an event is in a window of time and matches a filter; null when all do. */
function conditionOf(filter: TrailFilter, window: TimeWindow): ((event: FileEvent) => boolean) | null {
  if (isWhole(filter) && window.startMs === undefined && window.endMs === undefined) return null;
  const { sessions, subjects, key, detectors, modes, text } = filter;
  const readsDetails = !isWhole({ sessions, subjects, key, detectors, modes, text });
  const [from, to] = timesIn(window);
  return (event) => {
    const body = bodyOf(event);
    const time = Date.parse(body.timestamp);
    const details = readsDetails && event.details !== null ? (JSON.parse(event.details) as JsonObject) : null;
    return time >= from && time < to && fits(filter, { ...body, details });
  };
}

/** The results that have their own index. */
const REFUSED: readonly string[] = ["blocked", "denied"];

function sourceOf(reader: Reader, { scope, page: _page, window, order, ...filter }: Wanted): Promise<TrailSource> {
  const direction = order === "asc" ? OLDEST_FIRST : NEWEST_FIRST;
  if (!("scope" in scope)) return chain(reader, scope.agentId, filter, window, direction);
  if (scope.scope === "workspace") return chain(reader, null, filter, window, direction);
  const { agentIds, results } = filter;
  if (results?.every((result) => REFUSED.includes(result)) === true) {
    // SQLite uses the index only if the condition has exactly the index's own text.
    const refused: Conditions = [
      ["result IN ('blocked', 'denied')"],
      ...times(window),
      ...words({ agentIds, results }),
    ];
    return picked(reader, "events_refused", refused, filter, direction);
  }
  if (agentIds !== undefined) {
    const { operations } = filter;
    const own: Conditions = [...words({ agentIds, operations, results }), ...times(window)];
    return picked(reader, "events_by_agent", own, filter, direction);
  }
  return wholeLog(reader, filter, window, direction);
}

/** Returns the events of one chain, in the order of the index with its operations, results and times. */
async function chain(
  reader: Reader,
  agentId: string | null,
  filter: TrailFilter,
  window: TimeWindow,
  direction: TrailDirection,
): Promise<TrailSource> {
  const indexed: Conditions = [["agent_id IS ?", agentId], ...words(filter), ...times(window)];
  const { agentIds: _, operations: __, results: ___, ...others } = filter;
  const end = await reader.value<number | null>("SELECT max(agent_seq) + 1 FROM events WHERE agent_id IS ?", [agentId]);
  const place = stretch(reader, "agent_seq", [0, end ?? 0], [...indexed, ...texts(filter)], direction);
  if (!isWhole(others)) return place;
  const { sign, order, behind } = direction;
  return {
    ...place,
    async skip(before, count) {
      const [where, parameters] = joined([...indexed, [`agent_seq ${behind} ?`, sign * before]]);
      const sql = `SELECT agent_seq FROM events WHERE ${where} ORDER BY agent_seq ${order} LIMIT 1 OFFSET ?`;
      const last = await reader.value<number>(sql, [...parameters, count - 1]);
      return last === undefined ? null : sign * last;
    },
  };
}

/**
 * Returns the events of the log in a window of time. Binary search finds it, with a margin, since clocks are set back.
 */
async function wholeLog(
  reader: Reader,
  filter: TrailFilter,
  window: TimeWindow,
  direction: TrailDirection,
): Promise<TrailSource> {
  const startMs = Math.max((window.startMs ?? 0) - CLOCK_MARGIN_MS, 0);
  const endMs = Math.min((window.endMs ?? LAST_MS) + CLOCK_MARGIN_MS, LAST_MS);
  const range = await eventsIn(reader, { agentId: null, startMs, endMs });
  return stretch(reader, "seq", range, [...words(filter), ...texts(filter)], direction);
}

/** Returns the events with positions from `first` to before `end`. */
function stretch(
  reader: Reader,
  position: "seq" | "agent_seq",
  [first, end]: readonly [first: number, end: number],
  conditions: Conditions,
  direction: TrailDirection,
): TrailSource {
  const { sign, behind } = direction;
  const lowest = sign === 1 ? first : 1 - end;
  return {
    end: sign === 1 ? end : 1 - first,
    async part(before, size, limit) {
      const low = Math.max(before - size, lowest);
      const range: Conditions = [
        [`${position} ${behind} ?`, sign * before],
        [`${position} ${sign === 1 ? ">=" : "<="} ?`, sign * low],
      ];
      const rows = await select(reader, position, [...range, ...conditions], limit, direction);
      return { rows, next: rows.length === limit ? (rows.at(-1) as FileEvent).place : low > lowest ? low : null };
    },
  };
}

/** Returns the events that an index selects from the whole log. */
async function picked(
  reader: Reader,
  index: string,
  conditions: Conditions,
  filter: TrailFilter,
  direction: TrailDirection,
): Promise<TrailSource> {
  const { sign, order, behind } = direction;
  const end = sign === 1 ? await reader.value<number | null>("SELECT max(seq) + 1 FROM events") : 1;
  return {
    end: end ?? 0,
    async part(before, size, limit) {
      const [where, parameters] = joined([...conditions, [`seq ${behind} ?`, sign * before]]);
      const sql = `SELECT seq FROM events INDEXED BY ${index} WHERE ${where} ORDER BY seq ${order} LIMIT ?`;
      const seqs = (await reader.all<[number]>(sql, [...parameters, size])).map(([seq]) => seq);
      const among = ["seq IN (SELECT value FROM json_each(?))", JSON.stringify(seqs)] as const;
      const rows = await select(reader, "seq", [among, ...texts(filter)], limit, direction);
      if (rows.length === limit) return { rows, next: (rows.at(-1) as FileEvent).place };
      return { rows, next: seqs.length < size ? null : sign * (seqs.at(-1) as number) };
    },
  };
}

async function select(
  reader: Reader,
  position: "seq" | "agent_seq",
  conditions: Conditions,
  limit: number,
  { sign, order }: TrailDirection,
): Promise<FileEvent[]> {
  const [where, parameters] = joined(conditions);
  const rest = `FROM events WHERE ${where} ORDER BY ${position} ${order} LIMIT ?`;
  return readEvents(reader, rest, [...parameters, limit], `${sign} * ${position}`);
}

function joined(conditions: Conditions): [where: string, parameters: SqlValue[]] {
  const parameters = conditions.flatMap(([, ...values]) => values);
  return [conditions.map(([sql]) => `(${sql})`).join(" AND "), parameters];
}

/** Returns the conditions on indexed columns. */
function words({ agentIds, operations, results }: TrailFilter): Conditions {
  const columns = { agent_id: agentIds, operation: operations, result: results };
  return Object.entries(columns).flatMap(([column, among]) =>
    among === undefined ? [] : [[`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(among)] as const],
  );
}

function times({ startMs, endMs }: TimeWindow): Conditions {
  return [
    ...(startMs === undefined ? [] : [["time >= ?", startMs] as const]),
    ...(endMs === undefined ? [] : [["time < ?", endMs] as const]),
  ];
}

/**
 * Returns conditions that every event of a filter meets, and few others. Details are canonical JSON, so a member has only
 * one text; searching for it costs much less than parsing the JSON.
 */
function texts({ actors, sessions, subjects, key, detectors, modes, policies, text }: TrailFilter): Conditions {
  const member = (name: string) => (value: string) => `"${name}":${JSON.stringify(value)}`;
  const holds = (column: string, parts: readonly string[] | undefined): Conditions =>
    parts === undefined ? [] : [[parts.map(() => `instr(${column}, ?) > 0`).join(" OR "), ...parts]];
  const among = (column: string, values: readonly string[] | undefined): Conditions =>
    values === undefined ? [] : [[`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values)]];
  return [
    ...among("actor", actors),
    ...among(
      "blocked_by",
      policies?.map((policy) => `policy:${policy}`),
    ),
    ...holds("details", sessions?.map(member("session"))),
    ...holds("details", subjects?.map(member("sub"))),
    ...holds("details", key === undefined ? undefined : [member("key")(key)]),
    ...holds("details", detectors?.map(member("detector"))),
    ...holds("details", modes?.map(member("mode"))),
    ...(text === undefined ? [] : idHolds(text.toLowerCase())),
  ];
}

/** A text that may be a part of an event's id, which no column has. */
const MAY_BE_IN_ID = new RegExp(`^[aud_]*[${ID_ALPHABET}]*$`);

/** Returns conditions that every event meets that has or names an id with this part. */
function idHolds(part: string): Conditions {
  const seq = positionOf(part);
  if (seq === null && MAY_BE_IN_ID.test(part)) return [];
  const inColumn = ["actor", "agent_id", "details"].map((column) => `instr(lower(${column}), ?) > 0`);
  return [[`${inColumn.join(" OR ")} OR seq = ?`, part, part, part, seq]];
}
