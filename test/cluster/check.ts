/**
 * Compares the history of answers with the audit trail: no acknowledged operation is lost or doubled, none that was not
 * acknowledged is half applied, what was refused did not happen, and the history is linearizable with the trail as its
 * order (Herlihy and Wing, 1990): each answer is the one that the replay of the trail gives, and an operation that ended
 * before another began is before it in the trail.
 */

import type { Call, Wish } from "./history.ts";
import { Model, type TrailEvent } from "./model.ts";

/** A request and its events. */
interface Done {
  call: Call;
  events: TrailEvent[];
}

/** @param trail all events of the workspace, in order. @returns what does not hold, in words; nothing if all does */
export function violations(calls: readonly Call[], trail: readonly TrailEvent[]): string[] {
  const { done, wrong } = assigned(calls, trail.filter(isOfClients));
  const model = new Model();
  for (const { call, events } of done) {
    const answer = call.outcome.kind === "answered" ? call.outcome.answer : null;
    const mistakes = model.step(call.wish, events, answer);
    wrong.push(...mistakes.map((mistake) => `seq ${events[0]?.seq}, ${call.wish.kind}: ${mistake}`));
  }
  return [...wrong, ...outOfOrder(done)];
}

/** What the clients of `history.ts` cause; the rest is of keys, seals, exports and sweeps. */
const OPERATIONS: Record<Wish["kind"], string> = {
  write: "data.write",
  batch: "data.write",
  read: "data.read",
  delete: "data.delete",
  list: "data.list",
  checkpoint: "checkpoint.create",
  restore: "checkpoint.restore",
  configure: "config.update",
  policies: "policies.update",
};
const CLIENTS_OPERATIONS = new Set(Object.values(OPERATIONS));
const isOfClients = ({ operation }: TrailEvent) => CLIENTS_OPERATIONS.has(operation);

/** Finds the request of each event. */
function assigned(calls: readonly Call[], trail: readonly TrailEvent[]): { done: Done[]; wrong: string[] } {
  const wrong: string[] = [];
  const places = new Map(trail.map(({ id }, at) => [id, at]));
  if (places.size < trail.length) wrong.push("two events have one id");
  const callAt = new Map<number, Call>();
  for (const call of calls) {
    if (call.outcome.kind !== "answered") continue;
    const last = places.get(call.outcome.answer.headers.get("x-audit-id") as string);
    const first = last === undefined ? -1 : last - eventsOf(call.wish) + 1;
    if (first < 0) wrong.push(`lost: ${call.wish.kind} ${call.outcome.answer.headers.get("x-audit-id")}`);
    else if (callAt.has(first)) wrong.push(`one event answers two requests: seq ${trail[first]?.seq}`);
    else callAt.set(first, call);
  }
  const unknown = new Pool(calls.filter(({ outcome }) => outcome.kind === "unknown"));
  const refused = new Pool(calls.filter(({ outcome }) => outcome.kind === "refused"));
  const done: Done[] = [];
  for (let at = 0; at < trail.length; ) {
    const event = trail[at] as TrailEvent;
    const call = callAt.get(at) ?? unknown.take(event);
    if (call === undefined) wrong.push(`${refusalOf(refused.take(event))}: seq ${event.seq} ${event.operation}`);
    const events = trail.slice(at, at + (call === undefined ? 1 : eventsOf(call.wish)));
    if (call !== undefined) {
      if (!isOf(call, events)) wrong.push(`half applied, or another's: seq ${event.seq} ${call.wish.kind}`);
      else done.push({ call, events });
    }
    at += events.length;
  }
  return { done, wrong };
}

/** Says what is wrong with an event that no request explains, or only one that was refused. */
const refusalOf = (call: Call | undefined): string =>
  call?.outcome.kind === "refused" ? `refused (${call.outcome.why}), and done` : "nobody asked for, or not as often";

const eventsOf = (wish: Wish): number => (wish.kind === "batch" ? wish.entries.length : 1);

/** Requests by their traces. */
class Pool {
  readonly #byTrace: Map<string, Call>;

  constructor(calls: readonly Call[]) {
    this.#byTrace = new Map(calls.map((call) => [call.trace, call]));
  }

  /** Returns the request that names this event, once. */
  take({ details }: TrailEvent): Call | undefined {
    const call = this.#byTrace.get(details.trace);
    this.#byTrace.delete(details.trace);
    return call;
  }
}

/** Whether these are the events of one request. */
const isOf = ({ wish, trace }: Call, events: readonly TrailEvent[]): boolean =>
  events.length === eventsOf(wish) &&
  events.every(
    ({ operation, agent_id, details }) =>
      operation === OPERATIONS[wish.kind] && agent_id === wish.agent && details.trace === trace,
  ) &&
  keysOf(wish).every((key, at) => events[at]?.result === "blocked" || events[at]?.details.key === key);

/** The keys that the events of a request name. */
function keysOf(wish: Wish): string[] {
  if (wish.kind === "batch") return wish.entries.map(({ key }) => key);
  return "key" in wish ? [wish.key] : [];
}

/** Operations that began after another one had ended, and are before it in the trail. */
function outOfOrder(done: readonly Done[]): string[] {
  const wrong: string[] = [];
  let earliestEnd = Number.POSITIVE_INFINITY;
  let itsSeq = -1;
  for (const { call, events } of done.toReversed()) {
    const seq = events[0]?.seq as number;
    if (earliestEnd < call.begunAt) wrong.push(`seq ${seq} began after seq ${itsSeq} had been answered`);
    if (call.endedAt >= earliestEnd) continue;
    earliestEnd = call.endedAt;
    itsSeq = seq;
  }
  return wrong;
}
