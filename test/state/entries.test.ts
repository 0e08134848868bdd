/** Versioned entries against the model: random histories of two agents in one workspace. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { wholeText } from "../../src/core/long-text.ts";
import { AGE_INDEX } from "../../src/core/rows/age-index.ts";
import { type AgentState, readAgent } from "../../src/core/rows/agents.ts";
import { findEntryAt, findMoment, isMoment, lossAt } from "../../src/core/rows/as-of.ts";
import { readVersion } from "../../src/core/rows/entries.ts";
import { IS_SEEN } from "../../src/core/rows/history.ts";
import { rowsByKey } from "../../src/core/rows/listing/keys.ts";
import { headOf } from "../../src/core/rows/log/events.ts";
import { listVersions, readableHistory } from "../../src/core/rows/versions.ts";
import type { Answer, OperationRequest, Principal, Reply } from "../../src/core/writer/contract.ts";
import type { Job } from "../../src/core/writer/job.ts";
import { expiryBefore, sweepWorkspace } from "../../src/core/writer/sweep.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { streamCheckpoint } from "../../src/ops/checkpoints/checkpoint.ts";
import { readPage } from "../../src/ops/data/page.ts";
import { freshAt } from "../../src/screen/retention.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";
import { DEFAULT_HISTORY, ModelAgent, type Shown } from "./model.ts";

const RUNS = 50;
const MAX_STEPS = 40;
const START_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const AGENTS = ["one", "two"] as const;
/** Few, so that they meet; some are prefixes of others. */
const KEYS = ["a", "ab", "b", "\u{10FFFF}"] as const;

const PROGRAM: Pick<Principal, "actor" | "workload"> = {
  actor: "wid_01h455vb4pex5vsknk084sn02q",
  workload: { issuer: "https://id.example.org", subject: "ci" },
};

/** How many comparisons it takes until every earlier moment was looked at. */
const MOMENT_TURNS = 4;

const agent = fc.constantFrom(...AGENTS);
const key = fc.constantFrom(...KEYS);
const pick = fc.nat({ max: 20 });

const parts = fc.constantFrom(
  { config: false, data: true },
  { config: true, data: false },
  { config: true, data: true },
);

type Step =
  | { kind: "write"; agent: string; key: string; value: string; hours: number | null; program: boolean }
  | { kind: "delete"; agent: string; key: string; program: boolean }
  | { kind: "delete prefix"; agent: string; prefix: string; program: boolean }
  | { kind: "checkpoint"; agent: string }
  | { kind: "set aside"; agent: string; key: string; pick: number }
  | { kind: "release"; agent: string; pick: number }
  | { kind: "restore"; agent: string; pick: number; parts: { config: boolean; data: boolean }; program: boolean }
  | { kind: "delete checkpoint"; agent: string; pick: number }
  | { kind: "configure"; agent: string; retentionDays: number | null; historyDays: number | null }
  | { kind: "pass time"; hours: number }
  | { kind: "sweep" }
  | { kind: "lose the index" };

/** After how many hours an entry ends by itself. */
const hours = fc.option(fc.integer({ min: 1, max: 60 }), { freq: 2 });
const kind = <K extends string>(name: K) => fc.constant(name);
/** Whether a program acts, which does not see what is set aside, or a person. */
const program = fc.boolean();
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: kind("write"), agent, key, value: fc.string({ maxLength: 3 }), hours, program }),
  },
  { weight: 2, arbitrary: fc.record({ kind: kind("delete"), agent, key, program }) },
  { weight: 5, arbitrary: fc.record({ kind: kind("set aside"), agent, key, pick }) },
  { weight: 2, arbitrary: fc.record({ kind: kind("release"), agent, pick }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind("delete prefix"), agent, prefix: fc.constantFrom("a", "\u{10FFFF}"), program }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind("checkpoint"), agent }) },
  { weight: 5, arbitrary: fc.record({ kind: kind("restore"), agent, pick, parts, program }) },
  { weight: 2, arbitrary: fc.record({ kind: kind("delete checkpoint"), agent, pick }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: kind("configure"),
      agent,
      retentionDays: fc.constantFrom(1, 2, null),
      historyDays: fc.constantFrom(null, 0, 1, 2),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind("pass time"), hours: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind("sweep") }) },
  // By age: nothing depends on it.
  { weight: 1, arbitrary: fc.record({ kind: kind("lose the index") }) },
);

/** A workspace and its model, taking the same steps. */
class Pair {
  nowMs = START_MS;
  #turns = 0;
  readonly models = new Map(AGENTS.map((name): [string, ModelAgent] => [name, new ModelAgent()]));

  /** The sets that were made, with the writes of each in its model. */
  readonly sets: { agent: string; auditId: string; writes: number[] }[] = [];

  constructor(readonly real: OpenWorkspace) {}

  /** Performs an operation as a program, or as a person. */
  async #perform<N extends OperationName>(name: N, input: OperationInputs[N], isProgram: boolean): Promise<Reply> {
    const principal = { ...this.real.principal, ...(isProgram && PROGRAM) };
    return (await this.real.writer.perform([jobOf<OperationName>({ name, input, principal })]))[0] as Reply;
  }

  async take(step: Step): Promise<void> {
    const { real, nowMs } = this;
    if (step.kind === "pass time") {
      this.nowMs += step.hours * HOUR_MS;
      return;
    }
    if (step.kind === "sweep") {
      await sweepWorkspace(real.connection, real.writer);
      for (const model of this.models.values()) model.sweep(nowMs);
      return;
    }
    if (step.kind === "lose the index") return real.connection.exec(`DROP INDEX IF EXISTS ${AGE_INDEX}`);
    const agentId = step.agent;
    const model = this.models.get(agentId) as ModelAgent;
    switch (step.kind) {
      case "write": {
        const { key, value, hours, program } = step;
        const input = { agentId, key, value, metadata: {} };
        const afterMs = (hours ?? 0) * HOUR_MS;
        await this.#perform("data.write", hours === null ? input : { ...input, expiry: { afterMs } }, program);
        return model.write(key, value, nowMs, hours === null ? null : nowMs + afterMs, !program);
      }
      case "delete": {
        const { answer } = await this.#perform("data.delete", { agentId, key: step.key }, step.program);
        const gone = model.delete((key) => key === step.key, nowMs, !step.program);
        return expect(answer.kind).toBe(gone === 1 ? "json" : "problem");
      }
      case "delete prefix": {
        const { prefix, program } = step;
        const { deleted } = bodyOf(await this.#perform("data.delete_prefix", { agentId, prefix }, program));
        return expect(deleted).toBe(model.delete((key) => key.startsWith(prefix), nowMs, !program));
      }
      case "checkpoint": {
        const made = bodyOf(await real.perform("checkpoint.create", { agentId, label: null, metadata: {} }));
        return expect(made.entry_count).toBe(model.checkpoint(made.id, nowMs));
      }
      case "set aside":
        return this.#setAside(model, step);
      case "release":
        return this.#release(step);
      case "restore":
        return this.#restore(model, step);
      case "delete checkpoint": {
        const checkpointId = chosen(model, step.pick);
        if (checkpointId === undefined) return;
        await real.perform("checkpoint.delete", { checkpointId });
        return model.deleteCheckpoint(checkpointId);
      }
      case "configure": {
        const { retentionDays, historyDays } = step;
        const policies = {
          ...(retentionDays !== null && { retention_days: retentionDays }),
          ...(historyDays !== null && { history_days: historyDays }),
        };
        await this.#performAfterSweep(model, "config.update", { agentId, config: { policies } });
        return model.configure(retentionDays, historyDays ?? DEFAULT_HISTORY);
      }
    }
  }

  /** Sets one of the versions of a key aside. */
  async #setAside(model: ModelAgent, { agent: agentId, key, pick }: Extract<Step, { kind: "set aside" }>) {
    const { real, nowMs } = this;
    const agent = await readAgent(real.connection, agentId);
    const writes = model.writesOf(key, nowMs);
    const write = writes[pick % Math.max(1, writes.length)];
    if (agent === null || write === undefined) return;
    const readable = await readableHistory(real.connection, agent, nowMs);
    const range = { before: Number.MAX_SAFE_INTEGER, limit: 100 };
    const versions = await listVersions(real.connection, agent, key, range, { readable, nowMs });
    const version = versions[writes.indexOf(write)];
    const wish = { agentId, key, version: version?.version as string, effects: null };
    expect(version?.isSetAside).toBe(model.isAside(write));
    const { answer } = await real.performLooked("quarantine.preview", wish);
    if (model.isAside(write)) return expect(answer).toMatchObject({ code: "already_quarantined" });
    const { digest } = JSON.parse(wholeText((answer as Extract<Answer, { kind: "json" }>).body)) as { digest: string };
    const set = bodyOf(await real.performLooked("quarantine.set", { ...wish, reason: "r", digest }));
    expect(set.items).toMatchObject([{ audit_id: wish.version, present: version?.ended === null }]);
    this.sets.push({ agent: agentId, auditId: set.audit_id, writes: [write] });
    model.place([write], true);
  }

  /** Releases what one of the sets has set aside. */
  async #release({ pick }: Extract<Step, { kind: "release" }>): Promise<void> {
    const [set] = this.sets.splice(pick % Math.max(1, this.sets.length), 1);
    if (set === undefined) return;
    const input = { agentId: null, quarantine: set.auditId, reason: "r" };
    const { answer } = await this.real.performLooked("quarantine.release", input);
    // A sweep may have dropped the version, which then never comes back.
    if (answer.kind === "json") this.models.get(set.agent)?.place(set.writes, false);
    else expect(answer).toMatchObject({ code: "quarantine_not_found" });
  }

  async #restore(model: ModelAgent, { pick, parts, program }: Extract<Step, { kind: "restore" }>): Promise<void> {
    const checkpointId = chosen(model, pick);
    if (checkpointId === undefined) return;
    const input = { checkpointId, restoreConfig: parts.config, restoreData: parts.data };
    const body = bodyOf(await this.#performAfterSweep(model, "checkpoint.restore", input, program));
    const counts = model.restore(checkpointId, parts, body.safety_checkpoint_id, this.nowMs, !program);
    expect(body).toMatchObject(counts);
  }

  /** Performs what may put other policies into force. What is past its time under those before is gone for good first. */
  async #performAfterSweep<N extends "config.update" | "checkpoint.restore">(
    model: ModelAgent,
    name: N,
    input: OperationInputs[N],
    isProgram = false,
  ): Promise<Reply> {
    const { writer } = this.real;
    const principal = { ...this.real.principal, ...(isProgram && PROGRAM) };
    const job = {
      ...jobOf<OperationName>({ name, input, principal }),
      before: expiryBefore({ name, input, principal } as OperationRequest),
    };
    model.sweep(this.nowMs);
    return (await writer.perform([job as Job]))[0] as Reply;
  }

  /** Everything that can be seen is the same on both sides. */
  async compare(): Promise<void> {
    for (const [agentId, model] of this.models) {
      const agent = await readAgent(this.real.connection, agentId);
      if (agent === null) {
        expect(model.list(this.nowMs)).toEqual([]);
        continue;
      }
      for (const sees of [true, false]) expect(await this.#listed(agent, sees)).toEqual(model.list(this.nowMs, sees));
      expect(agent.liveEntries).toBe(model.liveCount);
      for (const key of KEYS) expect(await this.#versionsOf(agent, key)).toEqual(model.versions(key, this.nowMs));
      for (const id of model.checkpoints) {
        for (const sees of [true, false])
          expect(await this.#stateOf(agent, id, sees)).toEqual(model.state(id, this.nowMs, sees));
      }
      model.passes(await headOf(this.real.connection));
      const turn = ++this.#turns % MOMENT_TURNS;
      const some = model.moments.filter((_, at) => at % MOMENT_TURNS === turn);
      for (const seq of some) for (const sees of [true, false]) await this.#compareMoment(agent, model, seq, sees);
    }
  }

  /** A moment shows what there was; or it is gone, when something of it is lost, or what is missing cannot be told apart. */
  async #compareMoment(agent: AgentState, model: ModelAgent, seq: number, sees: boolean): Promise<void> {
    const { real, nowMs } = this;
    const { connection } = real;
    const { shown: then, isLost, hasEnded } = model.at(seq, nowMs, sees);
    const moment = await findMoment(connection, {
      agentId: agent.agentId as string,
      name: { seq },
      nowMs,
      limit: null,
    });
    if (!isMoment(moment)) throw new Error("a position of the log is not found");
    const loss = await lossAt(connection, agent, moment, nowMs);
    if (loss !== null && !isLost) expect({ seq, hasEnded }).toEqual({ seq, hasEnded: true });
    if (loss !== null) return;
    expect({ seq, isLost }).toEqual({ seq, isLost: false });
    const page = { limit: 1_000, offset: 0 };
    const wanted = { prefix: "", page, includeValues: true, count: true } as const;
    const pause = async () => undefined;
    const found = await readPage(connection, agent, wanted, { nowMs, seesSetAside: sees, pause, asOf: seq });
    expect(found.items.map((item) => shown(JSON.parse(item)))).toEqual(then);
    expect(found.more.total).toBe(then.length);
    for (const key of KEYS) {
      const entry = await findEntryAt(connection, { nowMs, seesSetAside: sees }, agent, key, seq);
      expect(entry && JSON.parse(entry.value)).toBe(then.find((one) => one.key === key)?.value as string);
    }
  }

  async #versionsOf(agent: AgentState, key: string): Promise<[value: string, endedAt: number | null][]> {
    const { nowMs, real } = this;
    const readable = await readableHistory(real.connection, agent, nowMs);
    const range = { before: Number.MAX_SAFE_INTEGER, limit: 100 };
    const versions = await listVersions(real.connection, agent, key, range, { readable, nowMs });
    const values = versions.map(({ id }) => readVersion(real.connection, id));
    return (await Promise.all(values)).map(({ value }, at) => [value, versions[at]?.ended?.at ?? null]);
  }

  /** After a sweep, of the versions that ended before the history only those are there that a checkpoint sees. */
  async compareDropped(): Promise<void> {
    for (const agentId of this.models.keys()) {
      const agent = await readAgent(this.real.connection, agentId);
      if (agent === null) continue;
      const dropped = `agent = ? AND live_to < ? AND NOT ${IS_SEEN}`;
      const bound = [agent.firstSeq, agent.historyFrom];
      const left = this.real.connection.value<number>(`SELECT count(*) FROM entries WHERE ${dropped}`, bound);
      expect({ versionsBeforeTheHistory: left }).toEqual({ versionsBeforeTheHistory: 0 });
    }
  }

  // Looked at beside the operations, whose events would lie between any two steps otherwise.
  async #listed(agent: AgentState, seesSetAside: boolean): Promise<Shown[]> {
    type Row = [key: string, value: string, createdAt: number, updatedAt: number];
    const range = { order: undefined, prefix: "", after: null, limit: 1000 };
    const columns = "key, value, created_at, updated_at";
    const rows = await rowsByKey<Row>(this.real.connection, agent, columns, range, { nowMs: this.nowMs, seesSetAside });
    return rows.map(([key, value, createdAt, updatedAt]) => ({ key, value: JSON.parse(value), createdAt, updatedAt }));
  }

  async #stateOf(agent: AgentState, checkpointId: string, seesSetAside: boolean): Promise<Shown[]> {
    const fresh = freshAt(agent.policies, { nowMs: this.nowMs, seesSetAside });
    const plan = { kind: "checkpoint", checkpointId, head: '{"id":0', fresh } as const;
    let text = "";
    for await (const piece of streamCheckpoint(this.real.connection, plan)) text += piece;
    return JSON.parse(text).state.entries.map(shown);
  }
}

const chosen = (model: ModelAgent, pick: number): string | undefined =>
  model.checkpoints[pick % Math.max(1, model.checkpoints.length)];

function shown(entry: { key: string; value: string; created_at: string; updated_at: string }): Shown {
  const { key, value } = entry;
  return { key, value, createdAt: Date.parse(entry.created_at), updatedAt: Date.parse(entry.updated_at) };
}

test(
  "tell the same as the model, whatever happens",
  async () => {
    using directory = temporaryDirectory();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: MAX_STEPS, size: "max" }), async (steps) => {
        let pair: Pair | null = null;
        using real = await OpenWorkspace.make(directory.path, () => pair?.nowMs ?? START_MS);
        pair = new Pair(real);
        for (const one of steps) {
          await pair.take(one);
          await pair.compare();
          await pair.compareDropped();
        }
        expect(real.failures).toEqual([]);
        const report = await verifyWorkspace(real.connection, { scope: "workspace" });
        expect(report.problems).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  },
  PROCESS_TEST_MS,
);
