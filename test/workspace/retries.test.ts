/** Stored answers in the workspace's file: when they end, what they count, and what goes with them. */
import { afterAll, expect, test } from "bun:test";
import { answerBytes } from "../../src/core/rows/answers.ts";
import type { OperationRequest, Reply, Retry } from "../../src/core/writer/contract.ts";
import type { AnyJob } from "../../src/core/writer/perform.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { MAX_STORED_BODY } from "../../src/core/writer/retries.ts";
import { expiryBefore, sweepWorkspace } from "../../src/core/writer/sweep.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const directory = temporaryDirectory();
afterAll(() => directory[Symbol.dispose]());

const HOUR_MS = 60 * 60 * 1_000;
const START_MS = Date.UTC(2026, 10, 1);

class Bench implements Disposable {
  nowMs = START_MS;
  #retries = 0;

  private constructor(readonly workspace: OpenWorkspace) {}

  static async make(): Promise<Bench> {
    let bench: Bench | undefined;
    const workspace = await OpenWorkspace.make(directory.path, () => bench?.nowMs ?? START_MS);
    bench = new Bench(workspace);
    return bench;
  }

  retry(): Retry {
    const id = (++this.#retries).toString(16).padStart(32, "0");
    return { id, request: id.repeat(2), requestId: `req_${id}` };
  }

  async ask(name: OperationRequest["name"], input: unknown, retry?: Retry): Promise<Reply> {
    const { principal, writer } = this.workspace;
    const request = { name, input, principal, ...(retry && { retry }) } as OperationRequest;
    const [reply] = await writer.perform([{ ...jobOf(request), before: expiryBefore(request) } as AnyJob]);
    return reply as Reply;
  }

  get events(): number {
    return this.workspace.writer.headSeq;
  }

  count(): number {
    return this.workspace.connection.value<number>("SELECT count(*) FROM answers") ?? 0;
  }

  [Symbol.dispose](): void {
    this.workspace[Symbol.dispose]();
  }
}

const written = (key: string, value = "v") => ({ agentId: "a", key, value, metadata: {} });

test("answers end after 24 hours, and the sweep removes them", async () => {
  using bench = await Bench.make();
  const [first, second] = [bench.retry(), bench.retry()];
  const reply = await bench.ask("data.write", written("k"), first);
  bench.nowMs += HOUR_MS;
  await bench.ask("data.write", written("l"), second);
  const { events } = bench;
  bench.nowMs = START_MS + 24 * HOUR_MS - 1;
  await sweepWorkspace(bench.workspace.connection, bench.workspace.writer);
  expect(await bench.ask("data.write", written("k"), first)).toEqual({ ...reply, firstRequestId: first.requestId });
  expect([bench.count(), bench.events]).toEqual([2, events]);
  bench.nowMs += 1;
  // An ended answer counts no more, also before the sweep.
  expect((await bench.ask("data.write", written("k"), first)).auditId).not.toBe(reply.auditId);
  expect([bench.count(), bench.events]).toEqual([2, events + 1]);
  bench.nowMs += HOUR_MS;
  await sweepWorkspace(bench.workspace.connection, bench.workspace.writer);
  expect(bench.count()).toBe(1);
  bench.nowMs += 24 * HOUR_MS;
  await sweepWorkspace(bench.workspace.connection, bench.workspace.writer);
  expect([bench.count(), await answerBytes(bench.workspace.connection)]).toEqual([0, 0]);
});

test("a configuration that is not saved again removes nothing before it", async () => {
  using bench = await Bench.make();
  const saved = { agentId: "a", config: { policies: { retention_days: 1 } } };
  await bench.ask("config.update", saved);
  await bench.ask("data.write", written("k"));
  bench.nowMs += 23 * HOUR_MS;
  const retry = bench.retry();
  const reply = await bench.ask("config.update", saved, retry);
  bench.nowMs += 2 * HOUR_MS;
  const { events } = bench;
  expect((await bench.ask("config.update", saved, retry)).auditId).toBe(reply.auditId as string);
  expect(bench.events).toBe(events);
  await bench.ask("config.update", saved);
  expect(bench.events).toBe(events + 2);
});

test("two requests with one key in one transaction are done once", async () => {
  using bench = await Bench.make();
  const { principal, writer } = bench.workspace;
  const retry = bench.retry();
  const job = () => jobOf({ name: "data.write", input: written("k"), principal, retry });
  const [one, two] = await writer.perform([job(), job()]);
  expect(two).toEqual({ ...(one as Reply), firstRequestId: retry.requestId });
  expect(bench.events).toBe(1);
});

test("a job that fails after it has written leaves no answer, and those beside it keep theirs", async () => {
  using bench = await Bench.make();
  const { workspace } = bench;
  const { principal, writer } = workspace;
  const [good, bad] = [bench.retry(), bench.retry()];
  const jobs = [good, bad].map((retry) => jobOf({ name: "data.write", input: written(retry.id), principal, retry }));
  const failing = workspace.failing(jobs[1] as (typeof jobs)[1], new Error("a defect"));
  const replies = await writer.perform([jobs[0] as (typeof jobs)[0], failing]);
  expect(replies.map(({ auditId }) => auditId !== null)).toEqual([true, false]);
  expect([bench.count(), bench.events]).toEqual([1, 1]);
  expect((await bench.ask("data.write", written(bad.id), bad)).firstRequestId).toBeUndefined();
});

test("an operation whose answer is too large to be stored is not done", async () => {
  using bench = await Bench.make();
  const { principal, writer } = bench.workspace;
  const job = jobOf({ name: "data.write", input: written("k"), principal, retry: bench.retry() });
  const { run } = job;
  const answering = (body: string): typeof job => ({
    ...job,
    run: async (...given) => ({ ...(await run(...given)), answer: { kind: "json", status: 200, body } }) as never,
  });
  const [refused] = await writer.perform([answering(" ".repeat(MAX_STORED_BODY + 1))]);
  expect(refused?.answer).toMatchObject({ code: "invalid_request", extra: { param: "Idempotency-Key" } });
  expect([bench.count(), bench.events]).toEqual([0, 0]);
  const [stored] = await writer.perform([answering(" ".repeat(MAX_STORED_BODY))]);
  expect([stored?.auditId === null, bench.count(), bench.events]).toEqual([false, 1, 1]);
});

test("stored answers are counted, and none is stored beyond the limit", async () => {
  using bench = await Bench.make();
  const { connection, principal } = bench.workspace;
  const most = 1_000;
  const writer = new WorkspaceWriter(connection, { clock: () => bench.nowMs, answerBytes: () => most });
  const ask = async (retry: Retry) => {
    const [reply] = await writer.perform([jobOf({ name: "data.write", input: written("k"), principal, retry })]);
    return reply as Reply;
  };
  const retries = Array.from({ length: 20 }, () => bench.retry());
  const replies: Reply[] = [];
  const texts = "SELECT sum(octet_length(reply) + octet_length(body)) FROM answers";
  for (const retry of retries) {
    replies.push(await ask(retry));
    expect(await answerBytes(connection)).toBeGreaterThan(connection.value<number>(texts) as number);
  }
  const stored = replies.filter(({ answer }) => answer.kind === "json").length;
  expect(stored).toBeGreaterThan(1);
  expect(stored).toBeLessThan(10);
  expect(replies.at(-1)?.answer).toMatchObject({ code: "quota_exceeded", extra: { quota: "answers", limit: most } });
  expect([bench.count(), writer.headSeq]).toEqual([stored, stored]);
  // What is stored is still given.
  expect((await ask(retries[0] as Retry)).auditId).toBe(replies[0]?.auditId as string);
});

test("an erasure destroys what names the key or the prefix, of this agent only", async () => {
  using bench = await Bench.make();
  const { connection } = bench.workspace;
  const bodies = () =>
    connection.all<[string | null]>("SELECT body FROM answers ORDER BY event_seq").map(([body]) => body);
  const read = (agentId: string, key: string) => bench.ask("data.read", { agentId, key }, bench.retry());
  for (const key of ["a/1", 'a/"2"', "b"]) await bench.ask("data.write", written(key));
  await bench.ask("data.write", { ...written("a/1"), agentId: "other" });
  for (const key of ["a/1", 'a/"2"', "b"]) expect(bodyOf(await read("a", key)).value).toBe("v");
  await read("other", "a/1");
  expect(bodies()).not.toContain(null);
  await bench.ask("data.erase", { agentId: "a", key: 'a/"2"' });
  expect(bodies().map((body) => body === null)).toEqual([false, true, false, false]);
  await bench.ask("data.erase", { agentId: "a", prefix: "a/" });
  expect(bodies().map((body) => body === null)).toEqual([true, true, false, false]);
});
