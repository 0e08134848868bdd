/** The lineage of a stored write: what led to it, or what followed from it. */
import { itemCount, listBody } from "../../core/lists.ts";
import type { LineageItem } from "../../core/rows/lineage/depths.ts";
import { walkLineage } from "../../core/rows/lineage/walk.ts";
import { readEvent } from "../../core/rows/log/events.ts";
import { answered, type OperationsOf, operation, refused } from "../../core/writer/operation.ts";
import { TimeSlice } from "../../core/writer/time-slice.ts";
import { eventId, showTime } from "../../ids.ts";
import { effectKind } from "../../log/effects.ts";
import type { AuditEventBody } from "../../log/event.ts";
import { bodyOf } from "../../log/present.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";
import { findAllowed, noEvent } from "./proofs.ts";

const NOT_A_WRITE =
  "Only a write that was stored has causes and effects. Send the id of a data.write event with the result allowed: GET /v1/data/versions lists those of an entry.";

const isStoredWrite = ({ operation, result }: AuditEventBody): boolean => effectKind(operation, result) === "put";

/** The end of a page as one number, for its cursor: the position, and the depth in its last digit. */
const DEPTHS = 10;
const placeOf = ({ depth, seq }: LineageItem): number => seq * DEPTHS + depth;
const behind = (place: number) => ({ depth: place % DEPTHS, seq: Math.floor(place / DEPTHS) });

const readLineage = operation("lineage.read", {
  /** Returns a page of items, each as JSON text. Of an event that is no stored write, `run` says so. */
  async look(reader, { principal: { agents } }, { eventId: id, direction, depth, page: { limit, after } }) {
    const event = await readEvent(reader, id, agents);
    if (event === undefined || !isStoredWrite(bodyOf(event.stored))) return { items: [], next: null };
    const slice = new TimeSlice(() => performance.now(), nextTurn);
    slice.begin();
    const found = await walkLineage(reader, [event.seq], {
      ...{ direction, depth, agents, limit: limit + 1, pause: () => slice.pause() },
      ...(after !== undefined && { after: behind(Number(after)) }),
    });
    const items = found.slice(0, limit);
    const last = found.length > limit ? items.at(-1) : undefined;
    return { items: await shown(reader, items), next: last === undefined ? null : placeOf(last) };
  },
  async run(reader, context, input, { items, next }) {
    const { eventId: id, direction, depth } = input;
    const found = await findAllowed(reader, context, id);
    if (found === null) return noEvent(context, id);
    const { event, agent } = found;
    if (!isStoredWrite(bodyOf(event.stored)))
      return refused(agent, "conflict", { event_id: id }, { code: "not_a_write", detail: NOT_A_WRITE });
    const details = { event_id: id, direction, depth, count: itemCount(items) };
    return answered(agent, details, listBody("lineage.read", input, items, next, { observed: true }));
  },
});

type EventRow = [seq: number, random: Uint8Array, agentId: string | null, time: number, key: string | null];

/** Returns items as JSON texts. What was pruned is left out. */
async function shown(reader: Reader, items: readonly LineageItem[]): Promise<string[]> {
  const seqs = new Set(items.flatMap(({ seq, from, through }) => [seq, from, through]));
  const rows = await reader.all<EventRow>(
    `SELECT seq, random, agent_id, time, details ->> '$.key' FROM events
     WHERE seq IN (SELECT value FROM json_each(?))`,
    [JSON.stringify([...seqs])],
  );
  const events = new Map(rows.map((row) => [row[0], row]));
  const idOf = (seq: number) => eventId(seq, (events.get(seq) as EventRow)[1]);
  return items.flatMap(({ seq, from, through, depth }) => {
    const write = events.get(seq);
    if (write === undefined || !events.has(from) || !events.has(through)) return [];
    const [, , agent_id, time, key] = write;
    const ends = { audit_id: idOf(seq), agent_id, key, seq, timestamp: showTime(time) };
    return [JSON.stringify({ ...ends, from: idOf(from), through: idOf(through), depth })];
  });
}

export const lineageOperations: OperationsOf<"lineage"> = { "lineage.read": readLineage };
