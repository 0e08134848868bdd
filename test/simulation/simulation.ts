/**
 * One run of the simulator: workspaces and the real code of both ends of a workspace thread. A seed decides everything
 * around them. Whatever happens, what was acknowledged is in the log and in effect, and nothing else is.
 */

import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { join } from "node:path";
import { readSealKey } from "../../src/core/datadir/seal-key.ts";
import { wholeText } from "../../src/core/long-text.ts";
import { readAgent } from "../../src/core/rows/agents.ts";
import { rowsByKey } from "../../src/core/rows/listing/keys.ts";
import type { OperationRequest, Reply } from "../../src/core/writer/contract.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import { recordingJob } from "../../src/core/writer/job.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { NO_SITE } from "../../src/core/writer/site.ts";
import { IdSource, RandomPool } from "../../src/ids.ts";
import { sha256Hex } from "../../src/log/hash.ts";
import { verifierKey } from "../../src/log/note.ts";
import { parseSeal, type Seal } from "../../src/log/seal.ts";
import type { OperationName } from "../../src/operations.ts";
import { streamCheckpoint } from "../../src/ops/checkpoints/checkpoint.ts";
import { freshAt } from "../../src/screen/retention.ts";
import { AMPLE } from "../../src/serve/threads/descriptors.ts";
import { ThreadGauges } from "../../src/serve/threads/gauges.ts";
import { KnownHeads } from "../../src/serve/threads/known-heads.ts";
import type { FailureReport, ThreadOptions } from "../../src/serve/threads/messages.ts";
import { type Rejection, WriterThread } from "../../src/serve/threads/writer-thread.ts";
import { DiskSpace } from "../../src/store/disk-space.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { Seeded } from "../seeded.ts";
import { type SeenEvent, WorkspaceView } from "../support/workspace-view.ts";
import { temporaryDirectory } from "../temporary.ts";
import { SimulatedDisk } from "./disk.ts";
import { type Asked, ModelWorkspace } from "./model.ts";
import { newKey, randomOperation, writesAroundRestore } from "./operations.ts";
import { SimulatedThreads } from "./thread.ts";
import { SimulatedTime } from "./time.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** How long the answer to a request is stored, in case the request is repeated. */
const ANSWERS_KEPT_MS = 24 * HOUR_MS;
const MAX_TRACE = Number(process.env.TRACE ?? 60);

/** What the client of an operation gets: a reply, or why there is none. */
type Told = Reply | Rejection;

class SimulatedWorkspace {
  readonly model = new ModelWorkspace();
  readonly asked = new Map<string, Asked>();
  readonly told = new Map<string, Told>();
  /** Events of requests with an Idempotency-Key whose clients have no answer yet: the event's id by the actor. */
  readonly unanswered = new Map<string, string>();
  /** Hashes of the checked events, by position, which must never change. */
  readonly hashes: string[] = [];
  /** Announced seals, with which the log must stay consistent. */
  readonly seals: Seal[] = [];

  constructor(readonly id: string) {}
}

export interface Counts {
  operations: number;
  acknowledged: number;
  stops: number;
  failures: number;
  events: number;
  /** The hash over all events of all workspaces: the same for the same seed. */
  digest: string;
}

export interface SimulationOptions {
  seed: number;
  steps: number;
}

/** Does one run. @throws {Error} with the seed, the last steps and the command that repeats the run, when it fails */
export async function simulate(options: SimulationOptions): Promise<Counts> {
  using directory = temporaryDirectory();
  const simulation = new Simulation(options, directory.path);
  try {
    return await simulation.run();
  } catch (error) {
    const command = `npm run simulate -- --seed ${options.seed} --steps ${options.steps}`;
    const trace = simulation.trace.join("\n  ");
    const message = `the simulation of seed ${options.seed} failed: ${(error as Error).message}\n  ${trace}\nRepeat it with: ${command}`;
    throw new Error(message, { cause: error });
  }
}

/** After this many turns of the event loop without a message, nothing is in flight if every client has its reply. */
const IDLE_TICKS = 8;
/** The most turns that the thread works without a message: replies that are missing by then were lost. */
const MAX_WORK_TICKS = 200;

/** A client that repeats its request with its Idempotency-Key until it gets an answer. */
interface Retrying {
  workspace: SimulatedWorkspace;
  actor: string;
  request: OperationRequest;
  /** When the client stops repeating the request, ms: {@link PATIENCE_MS} after the first one. */
  giveUpMs: number;
}

/** How long a client repeats a request: less than answers are stored, since a request is in flight for some time. */
const PATIENCE_MS = 8 * HOUR_MS;
/** Requests without an Idempotency-Key: reads need none to be repeated, and the answer to an export is not stored. */
const WITHOUT_KEY: ReadonlySet<OperationName> = new Set(["data.read", "audit.export"]);

/** How often another process tries to write beside a transaction of the thread. */
const MAX_TRIES = 1_000;

class Simulation {
  readonly trace: string[] = [];
  readonly #steps: number;
  readonly #random: Seeded;
  readonly #time = new SimulatedTime();
  readonly #disk: SimulatedDisk;
  readonly #threads: SimulatedThreads;
  readonly #sealKey: { kind: "pem"; pem: string };
  readonly #publicKey: Uint8Array;
  readonly #workspaces: SimulatedWorkspace[] = [];
  readonly #space = DiskSpace.ample();
  /** Clients whose answers were lost, or did not say whether the request was carried out. */
  readonly #retrying: Retrying[] = [];
  /** Whether clients repeat requests. Time passes slowly then, since answers are stored for 24 hours only. */
  readonly #repeats: boolean;
  #main: WriterThread | null = null;
  #step = 0;
  #operations = 0;
  #acknowledged = 0;
  #stops = 0;
  #failures = 0;

  constructor({ seed, steps }: SimulationOptions, directory: string) {
    this.#steps = steps;
    this.#random = new Seeded(seed);
    this.#disk = new SimulatedDisk(directory, this.#random, () => this.#stopped("the machine stops"));
    this.#repeats = this.#random.chance(0.5);
    // Some runs have a channel without faults.
    const channel = { overtaken: this.#random.pick([0, 0.1]), lost: this.#random.pick([0, 0, 0.01]) };
    this.#threads = new SimulatedThreads(this.#time, this.#disk, this.#random, channel);
    this.#sealKey = { kind: "pem", pem: keyOf(this.#random.bytes(32)) };
    this.#publicKey = readSealKey(this.#sealKey).publicBytes;
  }

  async run(): Promise<Counts> {
    for (let count = this.#random.between(1, 2); count > 0; count--) await this.#makeWorkspace();
    this.#main = new WriterThread(this.#threadOptions(), this.#events(), this.#threads);
    for (this.#step = 1; this.#step <= this.#steps; this.#step++) {
      await this.#act();
      for (let ticks = this.#random.below(4); ticks > 0; ticks--) await this.#tick();
      if (this.#random.chance(0.02)) await this.#settleAndCheck(this.#random.chance(0.3));
    }
    // Clients whose messages were lost are told that the thread crashed.
    this.#kill();
    await this.#settleAndCheck(true);
    await this.#requireUsable();
    this.#threads.end(null);
    return this.#counts();
  }

  async #makeWorkspace(): Promise<void> {
    const random = new RandomPool((bytes) => this.#random.fill(bytes));
    const id = new IdSource(this.#time.clock, random).next("ws");
    const sealKey = verifierKey(`test.example/${id}`, this.#publicKey);
    const path = join(this.#disk.directory, `${id}.db`);
    await createWorkspaceFile(
      path,
      { workspaceId: id, name: "simulated", actor: "cli", sealKey },
      this.#time.clock,
      random,
    );
    const workspace = new SimulatedWorkspace(id);
    using view = new WorkspaceView(path);
    workspace.hashes.push(view.connection.get<[string]>("SELECT hex(hash) FROM events")?.[0] as string);
    this.#workspaces.push(workspace);
  }

  #threadOptions(): ThreadOptions {
    return {
      workspacesDir: "",
      encryptionKey: null,
      server: null,
      clockOffsetMs: 0,
      searchMemoryBytes: 0,
      fullTextFrom: 300_000,
      embeddings: null,
      quota: null,
      site: NO_SITE,
      answerBytes: 0,
      sealing: { sealsDir: "", key: this.#sealKey, intervalMs: 20_000 },
      open: AMPLE,
      gauges: new ThreadGauges().memory,
      heads: new KnownHeads().memory,
      space: this.#space.memory,
      behind: 0,
    };
  }

  #events() {
    return {
      onFailure: (failure: FailureReport) => {
        this.#failures++;
        this.#note(`failure: ${failure.where} ${failure.name}`);
        if (!isExpected(failure)) throw new Error(`an unexpected failure: ${JSON.stringify(failure)}`);
      },
      onSealed: (workspaceId: string, { note }: { note: string }) =>
        void this.#workspaces.find(({ id }) => id === workspaceId)?.seals.push(parseSeal(note)),
    };
  }

  #note(text: string): void {
    this.trace.push(`${this.#step}: ${text}`);
    if (this.trace.length > MAX_TRACE) this.trace.shift();
  }

  async #act(): Promise<void> {
    const random = this.#random;
    const act = random.weighted<() => unknown>([
      [
        60,
        () =>
          this.#ask(
            random.weighted([
              [6, 1],
              [3, 4],
              [1, 30],
            ]),
          ),
      ],
      [3, () => this.#askAroundRestore()],
      [10, () => this.#pass(random.pick([1, 50, 1_000, 30_000]))],
      [3, () => this.#sleep(random.between(1, 60) * (this.#repeats ? MINUTE_MS : HOUR_MS))],
      [1, () => this.#jump(random.between(-48, 48) * (this.#repeats ? MINUTE_MS : HOUR_MS))],
      [this.#repeats ? 30 : 0, () => this.#repeat()],
      [4, () => this.#main?.tell({ kind: "sweep", workspaceIds: this.#workspaces.map(({ id }) => id) })],
      [1, () => this.#changeSpace()],
      [3, () => this.#disk.plan("fail")],
      [3, () => this.#disk.plan("stop")],
      [1, () => this.#disk.fail()],
      [3, () => this.#disk.heal()],
      [1, () => this.#kill()],
      [2, () => this.#writeBeside()],
    ]);
    await act();
  }

  #changeSpace(): void {
    this.#space.free = this.#random.pick([0, 2 ** 24, 2 ** 40]);
    this.#space.isFull = this.#random.chance(0.1);
  }

  #ask(count: number): void {
    const workspace = this.#random.pick(this.#workspaces);
    for (let i = 0; i < count; i++) {
      this.#askFor(workspace, (actor) => randomOperation(this.#random, workspace.model, workspace.id, actor));
    }
  }

  #askAroundRestore(): void {
    const workspace = this.#random.pick(this.#workspaces);
    for (const make of writesAroundRestore(this.#random, workspace.model)) {
      this.#askFor(workspace, (actor) => make({ actor, workspaceId: workspace.id, scope: "full", agents: null }));
    }
  }

  #askFor(workspace: SimulatedWorkspace, make: (actor: string) => Asked): void {
    const asked = make(`wid_${String(++this.#operations).padStart(26, "0")}`);
    const { actor } = "event" in asked ? asked.event : asked.request.principal;
    workspace.asked.set(actor, asked);
    this.#note(`asks for ${describe(asked)} as ${this.#operations}`);
    if (this.#repeats && "request" in asked && !WITHOUT_KEY.has(asked.request.name) && this.#random.chance(0.5)) {
      const { request } = asked;
      request.retry = { id: sha256Hex(actor).slice(0, 32), request: sha256Hex(`${actor}'s`), requestId: actor };
      this.#try({ workspace, actor, request, giveUpMs: this.#time.clock() + PATIENCE_MS });
      return;
    }
    const settle = (told: Told) => this.#tell(workspace, actor, told);
    const refused =
      "event" in asked
        ? this.#main?.record(workspace.id, asked.event, settle)
        : this.#main?.submit(asked.request, undefined, settle);
    if (refused !== null && refused !== undefined) this.#tell(workspace, actor, refused);
  }

  /** Sends a request with an Idempotency-Key, which its client repeats later if there is no certain answer. */
  #try(client: Retrying): void {
    const settle = (told: Told) => {
      const isLost = this.#random.chance(0.4);
      const what = `${isLost ? "a lost " : ""}${JSON.stringify(told).slice(0, 100)}`;
      if (isLost || mayHelpAgain(told)) {
        this.#note(`repeats ${client.actor.slice(-5)} after ${what}`);
        this.#retrying.push(client);
      } else if (typeof told === "object" && told.auditId !== null) this.#tell(client.workspace, client.actor, told);
      // An erasure removed the stored answer, so it is unknown whether an earlier try was carried out.
      else this.#note(`${client.actor.slice(-5)} ends with ${what}`);
    };
    const refused = this.#main?.submit(client.request, undefined, settle);
    if (refused !== null && refused !== undefined) settle(refused);
  }

  /** Repeats the request of the client that has waited longest. */
  #repeat(): void {
    const client = this.#retrying.shift();
    if (client === undefined) return;
    if (this.#time.clock() < client.giveUpMs) this.#try(client);
    else this.#note(`${client.actor.slice(-5)} gives up`);
  }

  #tell(workspace: SimulatedWorkspace, actor: string, told: Told): void {
    if (workspace.told.has(actor)) throw new Error(`${actor} was told twice`);
    workspace.told.set(actor, told);
    this.#note(`told ${actor.slice(-5)} ${JSON.stringify(told).slice(0, 150)}`);
    if (typeof told === "object" && told.auditId !== null) this.#acknowledged++;
  }

  #pass(ms: number): void {
    this.#note(`${ms} ms pass`);
    this.#time.pass(ms);
  }

  #sleep(ms: number): void {
    this.#note(`the machine sleeps for ${ms / HOUR_MS} hours`);
    this.#time.sleep(ms);
  }

  #jump(ms: number): void {
    this.#note(`the clock is set by ${ms / HOUR_MS} hours`);
    this.#time.jump(ms);
  }

  /** Stops the machine between two statements of the thread. */
  #kill(): void {
    if (this.#threads.running) this.#disk.stop();
  }

  #stopped(why: string): void {
    this.#stops++;
    this.#note(why);
    this.#threads.end(new Error(why));
  }

  /** Another process writes to the file, as the command line does. */
  async #writeBeside(): Promise<void> {
    const workspace = this.#random.pick(this.#workspaces);
    const actor = `usr_${String(++this.#operations).padStart(26, "0")}`;
    const event = newKey(actor, "beside");
    workspace.asked.set(actor, { event });
    this.#note(`another process writes as ${this.#operations}`);
    // A transaction of the thread may have yielded, and can end only if waiting for it does not block this process.
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      await new Promise((resolve) => setImmediate(resolve));
      using connection = openWorkspaceFile(join(this.#disk.directory, `${workspace.id}.db`));
      connection.exec("PRAGMA busy_timeout = 0");
      const random = new RandomPool((bytes) => this.#random.fill(bytes));
      const writer = new WorkspaceWriter(connection, { clock: this.#time.clock, random });
      const [settled] = await writer.perform([recordingJob(workspace.id, event)]);
      if (settled !== undefined && settled.auditId !== null) return this.#tell(workspace, actor, settled);
    }
    throw new Error("the other process could not write");
  }

  /** Delivers some messages, and lets the thread work until it waits for the event loop. */
  async #tick(): Promise<void> {
    for (let count = this.#random.below(3); count > 0; count--) this.#threads.deliver();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Waits until nothing is in flight. Lets time pass so that a thread that died is started again. */
  async #settle(): Promise<void> {
    for (let idle = 0; idle < IDLE_TICKS || (idle < MAX_WORK_TICKS && this.#main?.depth !== 0); ) {
      if (!this.#threads.running) this.#time.pass(100);
      await this.#tick();
      idle = this.#threads.running && this.#threads.inFlight === 0 ? idle + 1 : 0;
    }
  }

  async #settleAndCheck(thorough: boolean): Promise<void> {
    await this.#settle();
    this.#disk.syncSeals();
    for (const workspace of this.#workspaces) await this.#check(workspace, thorough);
  }

  async #check(workspace: SimulatedWorkspace, thorough: boolean): Promise<void> {
    using view = new WorkspaceView(join(this.#disk.directory, `${workspace.id}.db`));
    this.#followLog(workspace, view);
    await this.#compareData(workspace, view);
    if (thorough) await this.#verify(workspace, view);
  }

  #followLog(workspace: SimulatedWorkspace, view: WorkspaceView): void {
    const { hashes, model, asked, told } = workspace;
    const rows = view.connection.all<LogRow>("SELECT seq, hex(hash), actor, time FROM events ORDER BY seq");
    const recorded = new Set<string>();
    rows.forEach(([seq, hash], index) => {
      if (seq !== index) throw new Error(`position ${index} of the log is missing`);
      if (hashes[seq] !== undefined && hashes[seq] !== hash) throw new Error(`position ${seq} was used twice`);
    });
    if (rows.length < hashes.length) throw new Error(`the log lost ${hashes.length - rows.length} events that it had`);
    const appended = view.eventsAfter(hashes.length - 1);
    hashes.push(...rows.slice(hashes.length).map(([, hash]) => hash));
    for (let at = 0; at < appended.length; at++) {
      const event = appended[at] as SeenEvent;
      const [, , actor, nowMs] = rows[event.seq] as LogRow;
      if (event.operation === "data.expire") {
        model.expire(event.agentId as string, nowMs);
        continue;
      }
      const one = asked.get(actor);
      if (one === undefined || recorded.has(actor))
        throw new Error(`event ${event.seq} is of nothing that was asked for once`);
      recorded.add(actor);
      const where = `event ${event.seq} (${describe(one)})`;
      const expected = model.take(one, event, nowMs);
      // The events of one operation are recorded together.
      const own = appended.slice(at, at + expected.events.length);
      at += own.length - 1;
      for (const [i, { agentId, result, details = {} }] of expected.events.entries()) {
        const seen = own[i];
        if (seen === undefined)
          throw new Error(`${where}: ${own.length} of ${expected.events.length} events are there`);
        requireSame(`${where}: event ${i}`, { agentId, result, actor }, { ...seen, actor: actorOf(rows[seen.seq]) });
        if (seen.details !== null) requireSame(`${where}: details`, details, seen.details);
      }
      const answer = told.get(actor);
      const isRepeated = "request" in one && one.request.retry !== undefined;
      // The answer `denied` is not stored, since the request may be accepted later.
      if (isRepeated && expected.replied === "denied") {
        recorded.delete(actor);
        continue;
      }
      // Its answer was no longer stored when it was repeated, so it was carried out once more.
      const again = appended.slice(at + 1).find(({ id }) => typeof answer === "object" && id === answer.auditId);
      if (isRepeated && again !== undefined && timeOf(rows[again.seq]) - nowMs >= ANSWERS_KEPT_MS) {
        recorded.delete(actor);
        continue;
      }
      if (isRepeated && answer === undefined) workspace.unanswered.set(actor, own.at(-1)?.id as string);
      requireRecorded(answer, own.at(-1)?.id, expected.replied);
      if (typeof answer === "object" && answer.answer.kind === "json") {
        const reply = JSON.parse(wholeText(answer.answer.body));
        requireSame(`${where}: the reply`, expected.body ?? {}, reply);
        for (const [i, result] of (expected.results ?? []).entries())
          requireSame(`${where}: result ${i}`, result ?? {}, reply.results[i]);
      }
      asked.delete(actor);
      told.delete(actor);
    }
    for (const [actor, answer] of told) {
      const isDenied = typeof answer === "object" && answer.result === "denied" && asked.has(actor);
      const earlier = isDenied ? answer.auditId : workspace.unanswered.get(actor);
      if (earlier !== undefined && typeof answer === "object") {
        if (answer.auditId !== earlier) throw new Error(`${actor} was carried out as ${earlier}, and told otherwise`);
        workspace.unanswered.delete(actor);
        asked.delete(actor);
        told.delete(actor);
        continue;
      }
      if (typeof answer === "object" && answer.auditId !== null)
        throw new Error(`${actor} was acknowledged, and is not in the log`);
      // What was certainly not carried out must not be in the log later.
      if (isCertain(answer)) {
        asked.delete(actor);
        told.delete(actor);
      }
    }
  }

  async #compareData({ model }: SimulatedWorkspace, { connection }: WorkspaceView): Promise<void> {
    const nowMs = this.#time.clock();
    for (const [agentId, { data, configs, suspended, checkpoints }] of model.agents) {
      const agent = await readAgent(connection, agentId);
      if (agent === null) throw new Error(`the agent ${agentId} is missing`);
      const range = { order: undefined, prefix: "", after: null, limit: 1000 };
      const columns = "key, value, created_at, updated_at";
      const rows = await rowsByKey<[string, string, number, number]>(connection, agent, columns, range, {
        nowMs,
        seesSetAside: true,
      });
      const entries = rows.map(([key, value, createdAt, updatedAt]) => {
        return { key, value: JSON.parse(value), createdAt, updatedAt };
      });
      requireSame(`entries of ${agentId}`, { entries: data.list(nowMs) }, { entries });
      const { liveEntries, configVersion } = agent;
      const expected = { liveEntries: data.liveCount, configVersion: configs.length || null, suspended };
      requireSame(agentId, expected, { liveEntries, configVersion, suspended: agent.suspended });
      const stored = connection.all<[string]>("SELECT id FROM checkpoints WHERE agent = ? ORDER BY id", [
        agent.firstSeq,
      ]);
      requireSame("checkpoints", { ids: [...checkpoints.keys()].sort() }, { ids: stored.map(([id]) => id) });
      for (const checkpointId of checkpoints.keys()) {
        const plan = {
          kind: "checkpoint",
          checkpointId,
          head: '{"id":0',
          fresh: freshAt(agent.policies, { nowMs, seesSetAside: true }),
        } as const;
        let text = "";
        for await (const piece of streamCheckpoint(connection, plan)) text += piece;
        const state = (JSON.parse(text).state.entries as { key: string; value: string }[]).map(({ key, value }) => ({
          key,
          value,
        }));
        const wanted = data.state(checkpointId, nowMs).map(({ key, value }) => ({ key, value }));
        requireSame(`the state of ${checkpointId}`, { state: wanted }, { state });
      }
    }
  }

  async #verify({ id, seals }: SimulatedWorkspace, { connection }: WorkspaceView): Promise<void> {
    const file = join(this.#disk.directory, `${id}.log`);
    const sealFile = existsSync(file) ? () => createReadStream(file) : null;
    const report = await verifyWorkspace(
      connection,
      { scope: "workspace" },
      { publicKeys: [this.#publicKey], anchors: seals, sealFile },
    );
    if (report.problems.length > 0)
      throw new Error(`the workspace does not verify: ${JSON.stringify(report.problems)}`);
  }

  /** Checks that every workspace accepts writes again within seconds once nothing fails, and seals all its events. */
  async #requireUsable(): Promise<void> {
    if (this.#random.chance(0.5)) await this.#failAndSetBack();
    this.#disk.heal();
    this.#threads.repair();
    await this.#passSeconds(5);
    for (const workspace of this.#workspaces) {
      const actor = `usr_${String(++this.#operations).padStart(26, "0")}`;
      const event = newKey(actor, "at the end");
      workspace.asked.set(actor, { event });
      this.#main?.record(workspace.id, event, (told) => this.#tell(workspace, actor, told));
      for (let i = 0; i < 20 && !workspace.told.has(actor); i++) await this.#settle();
      const told = workspace.told.get(actor);
      if (told === undefined || typeof told === "string" || told.auditId === null)
        throw new Error(`a workspace did not recover: ${JSON.stringify(told)}`);
    }
    while (this.#retrying.length > 0) {
      this.#pass(MINUTE_MS);
      this.#repeat();
      await this.#settle();
    }
    // Longer than a seal may be delayed.
    await this.#passSeconds(90);
    await this.#settleAndCheck(true);
    for (const { id, hashes } of this.#workspaces) {
      using view = new WorkspaceView(join(this.#disk.directory, `${id}.db`));
      const sealed = view.connection.get<[number | null]>("SELECT max(size) FROM seals")?.[0];
      if (sealed !== hashes.length) throw new Error(`${sealed} of ${hashes.length} events are sealed`);
    }
  }

  /** Sets the clock back while a workspace pauses after a failure, and others may wait for a seal. */
  async #failAndSetBack(): Promise<void> {
    this.#ask(4);
    await this.#settle();
    this.#disk.fail();
    this.#ask(4);
    await this.#settle();
    this.#jump(-48 * HOUR_MS);
  }

  async #passSeconds(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.#time.pass(1_000);
      await this.#tick();
      if (i % 5 === 4) await this.#settle();
    }
  }

  #counts(): Counts {
    const digest = createHash("sha256");
    for (const { hashes } of this.#workspaces) digest.update(hashes.join());
    return {
      operations: this.#operations,
      acknowledged: this.#acknowledged,
      stops: this.#stops,
      failures: this.#failures,
      events: this.#workspaces.reduce((sum, { hashes }) => sum + hashes.length, 0),
      digest: digest.digest("hex"),
    };
  }
}

/** Returns the PKCS #8 of an Ed25519 key (RFC 8410, section 7) in PEM. */
function keyOf(seed: Uint8Array): string {
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  return `-----BEGIN PRIVATE KEY-----\n${der.toString("base64")}\n-----END PRIVATE KEY-----\n`;
}

const describe = (asked: Asked): string =>
  "event" in asked
    ? asked.event.operation
    : `${asked.request.name} ${JSON.stringify(asked.request.input).slice(0, 120)}`;

/** Reports whether the simulation itself caused a failure. */
const isExpected = ({ name }: FailureReport): boolean =>
  /^(SqliteError|CannotOpen|WorkspacePaused|Stopped|died)/.test(name);

/** Reports whether the same request may have another result the next time. */
const mayHelpAgain = (told: Told): boolean =>
  typeof told === "string" ||
  (told.answer.kind === "problem" && ["unavailable", "outcome_unknown"].includes(told.answer.code));

/** Reports whether a response says for certain what happened. */
const isCertain = (told: Told): boolean =>
  typeof told === "string"
    ? told !== "crashed"
    : told.answer.kind !== "problem" || told.answer.code !== "outcome_unknown";

/** Checks that the client of an operation in the log got its result, or an uncertain response. */
function requireRecorded(told: Told | undefined, auditId: string | undefined, result: string): void {
  if (told === undefined) return;
  if (typeof told === "object" && told.auditId !== null) {
    if (told.auditId !== auditId) throw new Error("the reply names another event");
    if (told.result !== result) throw new Error(`the reply says ${told.result}, and the event ${result}`);
  } else if (isCertain(told))
    throw new Error(`an operation is in the log, and its client was told ${JSON.stringify(told)}`);
}

/** A row of the log. */
type LogRow = [seq: number, hash: string, actor: string, timeMs: number];

/** Returns the actor of a row of the log. */
const actorOf = (row: LogRow | undefined): string | undefined => row?.[2];

/** Returns the time of a row of the log, ms since the Unix epoch. */
const timeOf = (row: LogRow | undefined): number => row?.[3] ?? Number.NaN;

/** Checks that every expected member has its expected value. */
function requireSame(where: string, expected: object, found: object): void {
  for (const [name, value] of Object.entries(expected)) {
    const [wanted, got] = [JSON.stringify(value), JSON.stringify((found as Record<string, unknown>)[name])];
    if (wanted !== got) throw new Error(`${where}: ${name} is ${got}, and must be ${wanted}`);
  }
}
