/** The effect that an operation states is the one that its event records, and nothing else changes rows. */

import { expect, test } from "bun:test";
import { AgentDirectory } from "../../src/core/rows/agents.ts";
import { type Effect, NO_EFFECT } from "../../src/core/rows/apply.ts";
import { HAS_ID, positionedId } from "../../src/core/rows/log/events.ts";
import { countPrunable, keptBy, PRUNE } from "../../src/core/rows/log/pruning.ts";
import type { FileEvent } from "../../src/core/rows/log/stored-events.ts";
import type { Reply } from "../../src/core/writer/contract.ts";
import { type Job, recordingJob } from "../../src/core/writer/job.ts";
import { answered } from "../../src/core/writer/operation.ts";
import { expiryBefore } from "../../src/core/writer/sweep.ts";
import type { JsonObject } from "../../src/json.ts";
import { recordedEffect } from "../../src/log/effects.ts";
import { parseEvent } from "../../src/log/event.ts";
import { EVENT_NAMES, eventFacts, type OperationInputs, type OperationName } from "../../src/operations.ts";
import { headsEvent } from "../../src/ops/directory/heads-event.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { typeId } from "../log/sample.ts";
import { exampleDetails } from "../support/event-examples.ts";
import { storedEvents } from "../support/event-rows.ts";
import { bodyOf, OpenWorkspace, SINK_WISH } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;

/** A workspace whose operations are watched: each effect is compared with the event's. */
class Watched {
  readonly kinds = new Set<string>();
  nowMs = START_MS;
  readonly workspace: Promise<OpenWorkspace>;

  constructor(directory: string) {
    this.workspace = OpenWorkspace.make(directory, () => this.nowMs);
  }

  async ask<N extends OperationName>(name: N, input: OperationInputs[N]): Promise<Reply> {
    const workspace = await this.workspace;
    const { connection } = workspace;
    const before = expiryBefore({ name, input, principal: workspace.principal });
    const circumstances = { agents: new AgentDirectory(connection), nowMs: this.nowMs };
    for (const job of (await before?.(connection, circumstances)) ?? []) await this.run(job);
    return this.run(workspace.job(name, input) as Job);
  }

  async run(job: Job): Promise<Reply> {
    const { writer, connection, failures } = await this.workspace;
    let stated: Effect = NO_EFFECT;
    const run: Job["run"] = async (...given) => {
      const outcome = await job.run(...given);
      stated = "effect" in outcome ? outcome.effect : NO_EFFECT;
      return outcome;
    };
    const [settled] = await writer.perform([{ ...job, run }]);
    expect(failures).toEqual([]);
    if (settled?.auditId == null) return settled as Reply;
    const [event] = storedEvents(connection, `WHERE ${HAS_ID}`, positionedId(settled.auditId));
    const { canonical, details } = event as FileEvent;
    const recorded = recordedEffect(parseEvent(canonical), JSON.parse(details as string) as JsonObject);
    expect(recorded.kind).toBe(stated.kind);
    expect(stated).toMatchObject(recorded);
    this.kinds.add(recorded.kind);
    return settled as Reply;
  }
}

test("every effect that is applied is the one that the event records", async () => {
  using directory = temporaryDirectory();
  const watched = new Watched(directory.path);
  const ask: Watched["ask"] = (name, input) => watched.ask(name, input);
  using workspace = await watched.workspace;
  const write = (key: string, value = "tea") => ask("data.write", { agentId: "a", key, value, metadata: { n: 1 } });
  const policies = (asked: JsonObject) =>
    ask("config.update", { agentId: "a", config: { model: "any", policies: asked } });
  const restore = (checkpointId: string, restoreConfig: boolean, restoreData: boolean) =>
    ask("checkpoint.restore", { checkpointId, restoreConfig, restoreData });
  const checkpoint = async () =>
    bodyOf(await ask("checkpoint.create", { agentId: "a", label: null, metadata: { k: [1] } })).id as string;

  await ask("data.delete_prefix", { agentId: "nobody", prefix: "" });
  await ask("data.delete", { agentId: "nobody", key: "k" });
  await ask("data.erase", { agentId: "nobody", key: "k" });
  await ask("data.erase", { agentId: "nobody", prefix: "k" });
  for (const key of ["one", "two", "under/1", "under/2", "under/3"]) await write(key);
  await policies({});
  const first = await checkpoint();
  await write("one", "changed");
  await ask("data.delete", { agentId: "a", key: "two" });
  await ask("data.delete", { agentId: "a", key: "two" });
  await ask("data.delete_prefix", { agentId: "a", prefix: "under/" });
  await policies({ block_pii: true });
  await write("blocked", "write to maria.keller@posteo.de about it");
  await ask("config.update", { agentId: "a", config: {}, condition: { versions: ["v1"] } });
  await restore(first, true, true);
  await restore(first, true, true);
  await restore(first, false, true);
  await write("new");
  await restore(first, true, false);
  await ask("config.rollback", { agentId: "a", version: "v2" });
  await ask("agent.suspend", { agentId: "a", reason: "why" });
  await write("suspended");
  await ask("agent.resume", { agentId: "a", reason: null });
  const second = await checkpoint();
  await write("one", "again");
  await policies({ retention_days: 1 });
  watched.nowMs += 2 * DAY_MS;
  await write("one", "fresh");
  await ask("data.delete", { agentId: "a", key: "new" });
  await ask("data.delete_prefix", { agentId: "a", prefix: "" });
  await restore(second, true, true);
  await policies({});
  await ask("data.erase", { agentId: "a", key: "one" });
  await ask("data.erase", { agentId: "a", prefix: "" });
  await ask("checkpoint.delete", { checkpointId: first });
  const looked = async <N extends OperationName>(name: N, input: OperationInputs[N]) =>
    watched.run(
      jobOf<OperationName>({ name, input, principal: workspace.principal }, await workspace.look(name, input)) as Job,
    );
  await write("aside");
  const aside = { agentId: "a", key: "aside", version: null, effects: null };
  const { digest } = bodyOf(await workspace.performLooked("quarantine.preview", aside));
  const set = bodyOf(await looked("quarantine.set", { ...aside, reason: "r", digest }));
  await looked("quarantine.release", { agentId: null, quarantine: set.audit_id, reason: "r" });
  const { id: sinkId } = bodyOf(await ask("sink.create", SINK_WISH));
  await ask("sink.change", { sinkId, change: { enabled: false, filter: { results: ["blocked"] } } });
  await ask("sink.change", { sinkId, change: { url: SINK_WISH.url.replace("t0ken", "another") } });
  await ask("sink.rotate", { sinkId });
  await ask("sink.remove", { sinkId });
  const principal = { actor: "cli", workspaceId: workspace.writer.workspaceId, scope: "full" as const, agents: null };
  await watched.run({
    operation: PRUNE,
    principal,
    async run(reader) {
      const events = await countPrunable(reader, 0);
      const effect = { kind: "prune" as const, beforeSeq: 0, events };
      const kept = await keptBy(reader, 0, async () => {});
      return answered(null, { ...exampleDetails(PRUNE), before_seq: 0, events, kept }, "{}", { effect });
    },
  });

  expect((await verifyWorkspace(workspace.connection, { scope: "workspace" })).problems).toEqual([]);
  // Only the log of the installation has this event.
  const grown = [{ workspaceId: typeId("ws", 1), size: 1, hash: "ab".repeat(32) }];
  await watched.run(recordingJob(workspace.principal.workspaceId, headsEvent({ grown, gone: [] })));
  const kinds = new Set<string>(EVENT_NAMES.map((name) => eventFacts(name)?.effect ?? "none"));
  expect(watched.kinds).toEqual(kinds);
});

test("an operation that is carried out without its effect, or with a wrong one, is undone", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const { writer, principal } = workspace;
  const write = workspace.job("data.write", { agentId: "a", key: "k", value: "v", metadata: {} });
  await writer.perform([write]);
  const { headSeq } = writer;
  const altered = (job: Job, effect: Effect): Job => ({
    ...job,
    async run(...given) {
      const outcome = await job.run(...given);
      return { ...outcome, effect };
    },
  });
  const read = workspace.job("data.read", { agentId: "a", key: "k" });
  const remove = workspace.job("data.delete_prefix", { agentId: "a", prefix: "" });
  for (const job of [
    altered(write, NO_EFFECT),
    altered(write, { kind: "end", key: "k" }),
    altered(read, { kind: "end", key: "k" }),
    altered(remove, { kind: "end_prefix", prefix: "", count: 2 }),
    { operation: "key.create" as const, principal, run: altered(write, { kind: "end", key: "k" }).run },
  ]) {
    const [settled] = await writer.perform([job]);
    expect(settled).toMatchObject({ auditId: null, answer: { kind: "problem", code: "internal" } });
  }
  expect(writer.headSeq).toBe(headSeq);
  expect(bodyOf(await workspace.perform("data.read", { agentId: "a", key: "k" })).value).toBe("v");
});
