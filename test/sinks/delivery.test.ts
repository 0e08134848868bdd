/** The loop of deliveries under a clock of the test's own: hours pass at once. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { headOf } from "../../src/core/rows/log/events.ts";
import type { Batch, Message } from "../../src/follow/sinks/batch.ts";
import { linesOf } from "../../src/follow/sinks/batch.ts";
import { type SinkConfig, SinkFailed } from "../../src/follow/sinks/config.ts";
import { Delivery, type SinkState } from "../../src/follow/sinks/delivery.ts";
import type { Receiver, ReceiverConnection } from "../../src/follow/sinks/receiver.ts";
import { RandomPool } from "../../src/ids.ts";
import { eventually } from "../eventually.ts";
import { OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { pruneTiles } from "../verify/pruning.ts";
import { sinkWith } from "./config.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A clock that stands until somebody waits, and then is as late as that. */
class Time {
  now = 1_800_000_000_000;
  /** Pauses of a second and more, in order. */
  readonly pauses: number[] = [];
  readonly clock = () => this.now;
  /** Of a pause, as much as chance can add. */
  readonly random = new RandomPool((bytes) => bytes.fill(255));
  readonly timer = (ms: number, work: () => void) => {
    if (ms >= 1_000) this.pauses.push(ms);
    this.now += ms;
    const due = setImmediate(work);
    return () => clearImmediate(due);
  };
}

interface Taken {
  type?: string;
  seq?: number;
  position?: number;
  [member: string]: unknown;
}

let directory: TemporaryDirectory;
let workspace: OpenWorkspace;
beforeAll(async () => {
  directory = temporaryDirectory();
  workspace = await OpenWorkspace.make(directory.path);
  await write(1_199);
});
afterAll(() => {
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});

async function write(count: number, agentId = "a", on = workspace): Promise<void> {
  const job = (i: number) => on.job("data.write", { agentId, key: `k${i % 10}`, value: "v", metadata: {} });
  await on.writer.perform(Array.from({ length: count }, (_, i) => job(i)));
}

const sink = (more: Partial<SinkConfig> = {}): SinkConfig =>
  sinkWith({ workspaceId: workspace.writer.workspaceId, ...more });

const NEW: SinkState = {
  id: "snk_1",
  position: null,
  deliveredAt: null,
  lastError: null,
  lag: null,
  isFailing: false,
  delivered: 0,
  failed: 0,
};

/** Delivers to what `send` does. */
function deliver(
  send: Receiver["send"],
  given: {
    time?: Time;
    config?: SinkConfig;
    on?: OpenWorkspace;
    state?: SinkState;
    connection?: ReceiverConnection;
  } = {},
) {
  const { time = new Time(), config = sink(), on = workspace, state = NEW, connection } = given;
  const receiver: Receiver = { send, ...(connection && { connection }), [Symbol.dispose]() {} };
  const deps = { receiver, report() {}, onGone() {}, clock: time.clock };
  const delivery = new Delivery(config, state, { ...deps, read: (work) => work(on.connection) }, time);
  return { delivery, time };
}

const itemsOf = (message: Message): Taken[] => linesOf(message).map(({ text }) => JSON.parse(text) as Taken);
const seqsOf = (taken: readonly Taken[]): number[] => taken.flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
const unique = (seqs: readonly number[]): number[] => [...new Set(seqs)];
const upTo = (end: number) => Array.from({ length: end }, (_, seq) => seq);

test("a receiver that is away for an hour gets all of it, and is asked ever more seldom, every minute at last", async () => {
  const time = new Time();
  const back = time.now + HOUR_MS;
  const taken: Taken[] = [];
  let asked = 0;
  const { delivery } = deliver(
    async (message) => {
      asked += 1;
      if (time.now < back) throw new SinkFailed("away");
      taken.push(...itemsOf(message));
      return null;
    },
    { time },
  );
  await eventually("all is delivered", () => delivery.state.position === 1_199);
  await delivery[Symbol.asyncDispose]();
  expect(seqsOf(taken)).toEqual(upTo(1_200));
  expect(time.pauses.slice(0, 3)).toEqual([1_250, 2_500, 5_000]);
  expect(Math.max(...time.pauses)).toBe(MINUTE_MS);
  expect(asked).toBeLessThan(80);
  expect(delivery.state).toMatchObject({ isFailing: false, lastError: null, lag: 0 });
});

test.each(["fails", "never answers"])("the backlog of a receiver that %s is what is written meanwhile", async (how) => {
  using own = await OpenWorkspace.make(directory.path);
  await write(600, "a", own);
  let begun = 0;
  const send = async (_: Message, signal: AbortSignal) => {
    begun += 1;
    if (how === "fails") throw new SinkFailed("away");
    return new Promise<null>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  // The first pause lasts for ever: only a measurement looks at the log.
  const time = Object.assign(new Time(), { timer: () => () => {} });
  const { delivery } = deliver(send, { on: own, state: { ...NEW, position: 99 }, time });
  await eventually("it is tried", () => begun === 1);
  for (const more of [0, 1, 700]) {
    if (more > 0) await write(more, "a", own);
    await delivery.measure(own.connection);
    expect(delivery.state).toMatchObject({ position: 99, lag: (await headOf(own.connection)) - 99 });
  }
  await delivery[Symbol.asyncDispose]();
  expect(begun).toBe(1);
});

test("a receiver that wants no more is asked again only after the longest pause, if it is not switched off", async () => {
  let asked = 0;
  const send = async () => {
    asked += 1;
    if (asked < 3) throw new SinkFailed("the receiver answered 410", null, true);
    return null;
  };
  const { delivery, time } = deliver(send);
  await eventually("all is delivered", () => delivery.state.position === 1_199);
  await delivery[Symbol.asyncDispose]();
  expect(time.pauses).toEqual([MINUTE_MS, MINUTE_MS]);
});

test("a receiver that says when it wants to be asked again is not asked before", async () => {
  let asked = 0;
  const { delivery, time } = deliver(async () => {
    asked += 1;
    if (asked === 1) throw new SinkFailed("the receiver answered 429", 17 * MINUTE_MS);
    return null;
  });
  await eventually("all is delivered", () => delivery.state.position === 1_199);
  await delivery[Symbol.asyncDispose]();
  expect(time.pauses).toEqual([17 * MINUTE_MS]);
});

test("a receiver that fails every third time and forgets to answer every fifth gets each event once by its id, in order", async () => {
  const taken: Taken[] = [];
  const ids = new Set<string>();
  let asked = 0;
  const { delivery } = deliver(async (message) => {
    asked += 1;
    ids.add((message as Batch).id);
    if (asked % 3 === 0) throw new SinkFailed("the receiver answered 500");
    taken.push(...itemsOf(message));
    if (asked % 5 === 0) throw new SinkFailed("the receiver closed the connection");
    return null;
  });
  await eventually("all is delivered", () => delivery.state.position === 1_199);
  await delivery[Symbol.asyncDispose]();
  expect(unique(seqsOf(taken))).toEqual(upTo(1_200));
  // The same batch again, with the same id.
  expect(ids.size).toBe(3);
});

/** A connection as a test ends it. */
class TestConnection implements ReceiverConnection {
  readonly repeats = 100;
  isOpen = false;
  isProved = true;
  lost = false;

  takeLoss(): boolean {
    const { lost } = this;
    this.lost = false;
    return lost;
  }
}

test("over each new connection, the last 100 events that the filter wants are sent again", async () => {
  const connection = new TestConnection();
  const taken: Taken[] = [];
  const config = sink({ filter: { agents: ["b"] } });
  using own = await OpenWorkspace.make(directory.path);
  await write(300, "b", own);
  await write(900, "a", own);
  const head = 1_200;
  const send = async (message: Message) => {
    connection.isOpen = true;
    taken.push(...itemsOf(message));
    return null;
  };
  const { delivery } = deliver(send, { config, on: own, connection });
  await eventually("all is delivered", () => delivery.state.position === head);
  expect(seqsOf(taken)).toEqual(upTo(301).slice(1));
  // Nothing is new: a connection that ended long after it took something is left alone.
  connection.isOpen = false;
  taken.length = 0;
  await write(1, "a", own);
  await eventually("what the filter leaves out is passed", () => delivery.state.position === head + 1);
  expect(taken).toEqual([]);
  await write(1, "b", own);
  await eventually("the new one is delivered", () => delivery.state.position === head + 2);
  expect(seqsOf(taken)).toEqual([...upTo(301).slice(201), head + 2]);
  // It may have lost something: it does not wait for the next event.
  connection.isOpen = false;
  connection.lost = true;
  taken.length = 0;
  await eventually("the last ones come again", () => taken.length > 0);
  expect(seqsOf(taken)).toEqual([...upTo(301).slice(202), head + 2]);
  await eventually("nothing is behind", () => delivery.state.lag === 0 && !delivery.state.isFailing);
  // A receiver that closes what is idle does not get them for ever.
  let repetitions = 1;
  for (; repetitions < 20; repetitions++) {
    connection.isOpen = false;
    connection.lost = true;
    taken.length = 0;
    await write(1, "a", own);
    const { position: now } = delivery.state;
    await eventually("it goes on", () => delivery.state.position !== now && !connection.lost);
    if (taken.length === 0) break;
  }
  expect(repetitions).toBeLessThan(7);
  await delivery[Symbol.asyncDispose]();
});

test("what a prune removed is one gap, and what it kept is delivered behind it", async () => {
  const taken: Taken[] = [];
  using own = await OpenWorkspace.make(directory.path);
  // With a history, the stored versions would keep their events.
  await own.perform("config.update", { agentId: "a", config: { policies: { history_days: 0 } } });
  await write(700, "a", own);
  await pruneTiles(own, 2);
  const send = async (message: Message) => {
    taken.push(...itemsOf(message));
    return null;
  };
  const { delivery } = deliver(send, { on: own, state: { ...NEW, position: 20 } });
  await eventually("all is delivered", () => delivery.state.position === 702);
  await delivery[Symbol.asyncDispose]();
  const gaps = taken.filter(({ type }) => type === "gap");
  expect(gaps).toEqual([{ type: "gap", from: 21, to: 511 }]);
  const seqs = seqsOf(taken);
  expect(seqs.filter((seq) => seq >= 512)).toEqual(upTo(703).slice(512));
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
});

test("a log that was replaced by an older copy stops the deliveries, and says so", async () => {
  let asked = 0;
  const send = async () => {
    asked += 1;
    return null;
  };
  const { delivery } = deliver(send, { state: { ...NEW, position: 5_000 } });
  await eventually("it is told", () => delivery.state.isFailing);
  await delivery[Symbol.asyncDispose]();
  expect([asked, delivery.state.lastError?.message]).toEqual([0, expect.stringContaining("older copy")]);
});
