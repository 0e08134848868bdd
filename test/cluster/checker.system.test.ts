/** The checker of histories accepts what one daemon answers to many clients, and nothing that is a little otherwise. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { violations } from "./check.ts";
import { type Call, Clients, type Outcome } from "./history.ts";
import type { TrailEvent } from "./model.ts";
import { trailOf } from "./trail.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const CALLS = 500;
const CLIENTS = 6;

let calls: readonly Call[];
let trail: readonly TrailEvent[];

beforeAll(async () => {
  await using daemon = await TestDaemon.start();
  const { client } = await daemon.workspace();
  const clients = new Clients(() => [client], new Seeded(SEED));
  await clients.begin();
  await Promise.all(Array.from({ length: CLIENTS }, () => clients.run(() => clients.calls.length >= CALLS)));
  await clients.finish();
  expect(clients.violations).toEqual([]);
  calls = clients.calls;
  trail = await trailOf(client);
});
afterAll(() => {
  calls = [];
  trail = [];
});

/** The same, with one thing changed. */
const withCall = (call: Call, changed: Partial<Call>): Call[] =>
  calls.map((one) => (one === call ? { ...one, ...changed } : one));
const unknown: { outcome: Outcome; endedAt: number } = {
  outcome: { kind: "unknown" },
  endedAt: Number.POSITIVE_INFINITY,
};
const callOf = (kind: Call["wish"]["kind"], status = 200): Call => {
  const found = calls.findLast(
    ({ wish, outcome }) =>
      wish.kind === kind &&
      outcome.kind === "answered" &&
      outcome.answer.status === status &&
      outcome.answer.json.allowed !== false,
  );
  if (found === undefined) throw new Error(`nobody asked for ${kind}`);
  return found;
};
const auditIdOf = ({ outcome }: Call): string =>
  outcome.kind === "answered" ? (outcome.answer.headers.get("x-audit-id") as string) : "";
const eventOf = (call: Call): TrailEvent => trail.find(({ id }) => id === auditIdOf(call)) as TrailEvent;
const without = (gone: TrailEvent) => trail.filter((event) => event !== gone);
const answering = ({ outcome }: Call, json: object): { outcome: Outcome } => {
  if (outcome.kind !== "answered") throw new Error("it has no answer");
  return { outcome: { kind: "answered", answer: { ...outcome.answer, json: { ...outcome.answer.json, ...json } } } };
};

test("what one daemon answers to clients at once is linearizable", () => {
  expect(violations(calls, trail)).toEqual([]);
});

const RARE: ReadonlySet<string> = new Set(["restore", "policies", "configure", "checkpoint"]);

test("whoever was told nothing may have been served, or not", () => {
  const read = callOf("read");
  expect(violations(withCall(read, unknown), trail)).toEqual([]);
  expect(violations(withCall(read, unknown), without(eventOf(read)))).toEqual([]);
  for (const call of calls.filter(({ wish }) => RARE.has(wish.kind)))
    expect(violations(withCall(call, unknown), trail)).toEqual([]);
  const written = withCall(callOf("write"), unknown);
  expect(violations(written, trail)).toEqual([]);
  expect(violations(withCall(callOf("batch"), unknown), trail)).toEqual([]);
});

test.each(["write", "read", "delete", "list", "batch", "configure"] as const)(
  "an answer to %s without its event is found",
  (kind) => {
    expect(violations(calls, without(eventOf(callOf(kind))))).toContainEqual(expect.stringContaining("lost"));
  },
);

test.each(["write", "read", "delete", "list", "configure"] as const)("%s that is done twice is found", (kind) => {
  const call = callOf(kind);
  const event = eventOf(call);
  const twice = trail.flatMap((one) => (one === event ? [one, { ...one, id: "aud_again" }] : [one]));
  for (const history of [calls, withCall(call, unknown)])
    expect(violations(history, twice)).toContainEqual(expect.stringContaining("nobody asked for"));
});

test("a batch of which only a part was done is found, whether it was answered or not", () => {
  const call = callOf("batch");
  const middle = trail[trail.indexOf(eventOf(call)) - 1] as TrailEvent;
  for (const history of [calls, withCall(call, unknown)]) expect(violations(history, without(middle))).not.toEqual([]);
});

test("what was refused and happened is found", () => {
  const refused = withCall(callOf("write"), { outcome: { kind: "refused", why: "unavailable" } });
  expect(violations(refused, trail)).toContainEqual(expect.stringContaining("refused (unavailable), and done"));
});

test("an answer that the trail does not give is found", () => {
  const read = callOf("read");
  expect(violations(withCall(read, answering(read, { value: "another" })), trail)).not.toEqual([]);
  const listed = callOf("list");
  expect(violations(withCall(listed, answering(listed, { data: [] })), trail)).not.toEqual([]);
  const configured = callOf("configure");
  expect(violations(withCall(configured, answering(configured, { version: "v1" })), trail)).not.toEqual([]);
});

test("a stale read is found: its value was right before", () => {
  const written = callOf("write");
  if (written.wish.kind !== "write") throw new Error("it is no write");
  const { agent, key, value } = written.wish;
  const event = {
    ...eventOf(written),
    seq: 1e6,
    id: "aud_later",
    operation: "data.read",
    result: "ok",
    details: { key, trace: "later" },
  };
  const overwritten = { ...eventOf(written), seq: 1e6 - 1, id: "aud_over" };
  const wish = { ...written.wish, value: "newest", condition: null };
  const later = Number.MAX_SAFE_INTEGER;
  const answered = (json: object, id: string) =>
    ({
      kind: "answered",
      answer: { status: 200, headers: new Headers({ "x-audit-id": id }), text: "", json },
    }) as const;
  const over: Call = {
    wish,
    trace: "over",
    begunAt: later,
    endedAt: later + 1,
    outcome: answered({ allowed: true, audit_id: "aud_over" }, "aud_over"),
  };
  const stale: Call = {
    wish: { kind: "read", agent, key },
    trace: "later",
    begunAt: later,
    endedAt: later,
    outcome: answered({ value }, "aud_later"),
  };
  overwritten.details = { key, trace: over.trace };
  expect(violations([...calls, over, stale], [...trail, overwritten, event])).toContainEqual(
    expect.stringContaining("the answer's value"),
  );
});

test("operations in another order than that in which they ended and began are found", () => {
  const [first, last] = [calls.find(({ wish }) => wish.kind === "list") as Call, calls.at(-1) as Call];
  const swapped = calls.map((one) => {
    if (one === first) return { ...one, begunAt: last.begunAt + 1e6, endedAt: last.endedAt + 1e6 };
    return one;
  });
  expect(violations(swapped, trail)).toContainEqual(expect.stringContaining("had been answered"));
});
