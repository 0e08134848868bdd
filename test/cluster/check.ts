/**
 * Compares the history of answers with the audit trail: no acknowledged operation is lost or doubled, none that was not
 * acknowledged is half applied, what was refused did not happen, and the history is linearizable with the trail as its
 * order (Herlihy and Wing, 1990): each answer is the one that the replay of the trail gives, and an operation that ended
 * before another began is before it in the trail.
 */

import { sha256Hex, valueDigest } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import { type Call, isPersonal, type Wish } from "./history.ts";
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
    if (call === undefined) wrong.push(`${refusalOf(refused.take(event))}: seq ${event.seq} ${signatureOf(event)}`);
    const events = trail.slice(at, at + (call === undefined ? 1 : eventsOf(call.wish)));
    if (call !== undefined) {
      if (!isOf(call.wish, events)) wrong.push(`half applied, or another's: seq ${event.seq} ${call.wish.kind}`);
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

/** Requests whose outcome is not known, by the signatures of the events that they may have. */
class Pool {
  readonly #bySignature = new Map<string, Call[]>();
  readonly #taken = new Set<Call>();

  constructor(calls: readonly Call[]) {
    for (const call of calls)
      for (const signature of signaturesOf(call.wish))
        this.#bySignature.set(signature, [...(this.#bySignature.get(signature) ?? []), call]);
  }

  /** Of those that cannot be told apart, the earliest. */
  take(event: TrailEvent): Call | undefined {
    const call = this.#bySignature.get(signatureOf(event))?.find((one) => !this.#taken.has(one));
    if (call !== undefined) this.#taken.add(call);
    return call;
  }
}

/** What of an event tells which request may have caused it. */
function signatureOf({ operation, result, agent_id, details }: TrailEvent): string {
  const isRestore = operation === "checkpoint.restore";
  const subject: unknown = isRestore
    ? details.checkpoint_id
    : (details.value_digest ?? details.config_digest ?? details.key);
  return JSON.stringify([operation, agent_id, operation === "data.write" ? result : null, subject ?? null]);
}

/** Of a request, the signatures that its first event may have. */
function signaturesOf(wish: Wish): string[] {
  const { agent } = wish;
  const operation = OPERATIONS[wish.kind];
  const signature = (subject: string | null, result: string | null = null) =>
    JSON.stringify([operation, agent, result, subject]);
  switch (wish.kind) {
    case "write":
      return [
        signature(digestOf(wish), "allowed"),
        ...(wish.condition === null ? [] : [signature(wish.key, "conflict")]),
        ...(isPersonal(wish.value) ? [signature(wish.key, "blocked")] : []),
      ];
    case "batch":
      return wish.entries.slice(0, 1).map((entry) => signature(digestOf(entry), "allowed"));
    case "read":
    case "delete":
      return [signature(wish.key)];
    case "configure":
      return [signature(configDigest({ nonce: wish.nonce, policies: { block_pii: wish.blocks } }))];
    case "policies":
      return [signature(floorDigest(wish.blocks))];
    case "restore":
      return [signature(wish.checkpoint)];
    default:
      return [signature(null)];
  }
}

const digestOf = ({ key, value }: { key: string; value: string }): string =>
  valueDigest(key, "{}", JSON.stringify(value));

const configDigest = (config: Parameters<typeof canonicalJson>[0]): string => sha256Hex(canonicalJson(config));

/** The workspace's policies are recorded with all of their members. */
const floorDigest = (blocks: boolean): string =>
  configDigest({ exceptions_from_agents: false, policies: { block_pii: blocks }, require_config: false });

/** Whether these are the events of one request. */
function isOf(wish: Wish, events: readonly TrailEvent[]): boolean {
  if (events.length < eventsOf(wish)) return false;
  const [event] = events as [TrailEvent];
  if (event.operation !== OPERATIONS[wish.kind] || event.agent_id !== wish.agent) return false;
  if (wish.kind === "read" || wish.kind === "delete") return event.details.key === wish.key;
  if (wish.kind === "restore") return event.details.checkpoint_id === wish.checkpoint;
  if (wish.kind === "write") return event.result !== "allowed" || event.details.value_digest === digestOf(wish);
  if (wish.kind !== "batch") return true;
  return wish.entries.every((entry, at) => events[at]?.details.value_digest === digestOf(entry));
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
