/**
 * A data directory that holds everything that governd can make, and the exports, receipts and seals that an auditor
 * took at each age of it. It is made by governd's own functions and commands: four agents, every operation, entries
 * that are expired, erased and versioned, policies of the workspace, a rotation of the sealing key, a pruning,
 * cosignatures of a witness, and a restore from a backup.
 */

import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DataDirectory, dataDirectory, sealFile, workspaceFile } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { wholeText } from "../../src/core/long-text.ts";
import { storeNote } from "../../src/core/rows/access/notes.ts";
import { newestSeal, replaceNote } from "../../src/core/rows/log/seals.ts";
import { SearchIndexes } from "../../src/core/rows/search-indexes.ts";
import { type OperationRequest, type Principal, systemPrincipal } from "../../src/core/writer/contract.ts";
import type { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import type { Site } from "../../src/core/writer/site.ts";
import { sweepWorkspace } from "../../src/core/writer/sweep.ts";
import { systemClock } from "../../src/ids.ts";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { seesSetAside } from "../../src/log/event.ts";
import { eventFacts, looksFirst, type OperationInputs, type OperationName } from "../../src/operations.ts";
import { streamExport } from "../../src/ops/audit/export.ts";
import { withWriter } from "../../src/ops/directory/journal.ts";
import { jobOf, lookOf } from "../../src/serve/threads/registry.ts";
import type { Connection } from "../../src/store/connection.ts";
import type { Reader } from "../../src/store/transaction.ts";
import { governd } from "../cli/governd.ts";
import { filesReleased } from "../released.ts";
import { idAt } from "../support/event-rows.ts";
import { proofOf, recordRoot } from "../support/state-root.ts";
import { TestAuthority } from "../tls/authority.ts";
import { fillInstallation, makePasskey, signInAgain, withParts } from "./installation-base.ts";
import { throughServer } from "./through-server.ts";
import { Witness } from "./witness.ts";

const DAY_MS = 86_400_000;
const SEARCH_BYTES = 1_000_000;

/** An export or a receipt, and the sealing key that was in force when it was taken: 0 is the first. */
export interface Paper {
  name: string;
  path: string;
  key: number;
}

/** One age of the data directory. */
export interface Age {
  name: string;
  data: string;
  key: number;
}

export interface Everything {
  /** The last age: the one that is tampered with. */
  data: DataDirectory;
  ages: Age[];
  exports: Paper[];
  receipts: Paper[];
  proofs: Paper[];
  /** Exports of the log of the installation. */
  installationExports: Paper[];
  /** Public keys of the log, the first one first. */
  publicKeys: string[];
  /** The newest seals of the main workspace at each age, as an auditor keeps them, in files. */
  kept: string[];
  /** The last age while it is written to: its newest events are in the write-ahead log alone. */
  live: { data: DataDirectory; kept: string };
  /** Two continuations of the age before the pruning, each with its newest seal. */
  forks: { data: DataDirectory; kept: string; exported: string }[];
  witness: Witness;
  /** The workspaces: one with every operation, one that was pruned, and the log of the installation. */
  main: string;
  pruned: string;
  installation: string;
}

/** A port of this machine on which nothing listens. */
const RECEIVER = "127.0.0.1:9";
const SINK = {
  ...({
    type: "webhook",
    format: "governd",
    filter: {},
    start: "beginning",
    includeDetails: true,
    enabled: true,
  } as const),
  ...{ ca: null, clientCertificate: null, clientKey: null, token: null },
};

/** A workload, which does not see what is set aside. */
type Program = Pick<Principal, "actor"> & Required<Pick<Principal, "workload">>;

/** What is proved of the agent alpha at each age. */
const PROVED = [
  ["held with its value", { key: "greeting", withValues: true }],
  ["an absent key", { key: "never written" }],
  ["an absent prefix", { prefix: "zz/" }],
  ["complete", {}],
  ["complete under a prefix with values", { prefix: "retried/", withValues: true }],
] as const;

/** One workspace, driven as its thread in the daemon does, with a clock that can be moved. */
class Life {
  static #daysAhead = 0;
  readonly principal: Principal;

  private constructor(
    readonly connection: Connection,
    readonly writer: WorkspaceWriter,
    private readonly site: Site,
  ) {
    const actor = "usr_01h455vb4pex5vsknk084sn02q";
    this.principal = { actor, workspaceId: writer.workspaceId, scope: "full", agents: null };
  }

  static async of(directory: DataDirectory, id: string, work: (life: Life) => Promise<void>): Promise<void> {
    const clock = () => systemClock() + Life.#daysAhead * DAY_MS;
    const site = { sinkKey: directory.sinkKey, places: { allow: [RECEIVER], directory: null } };
    const live = (writer: WorkspaceWriter, connection: Connection) => work(new Life(connection, writer, site));
    await withWriter(directory, sealKeySource(directory, null), id, live, { clock, site: () => site });
    await filesReleased(directory.root);
  }

  passDays(days: number): void {
    Life.#daysAhead += days;
  }

  /** Performs an operation. Refusals by a policy are recorded like any other. */
  async perform<N extends OperationName>(
    name: N,
    input: OperationInputs[N],
    { person, program, ...more }: Pick<OperationRequest, "via" | "retry"> & { person?: true; program?: Program } = {},
  ) {
    const own = { ...this.principal, ...(person && { person, actor: "usr_01h455vb4pex5vsknk084sn02q" }), ...program };
    const principal = eventFacts(name)?.actors === "s" ? systemPrincipal(own.workspaceId) : own;
    const request = { name, input, principal, ...more };
    const [reply] = await this.writer.perform([jobOf(request, await this.#found(name, input, own))]);
    if (!reply?.auditId) throw new Error(`${name}: ${JSON.stringify(reply)}`);
    return { auditId: reply.auditId, answer: reply.answer };
  }

  async #found(
    name: OperationName,
    input: OperationInputs[OperationName],
    principal: Principal,
  ): Promise<JsonValue | undefined> {
    if (!looksFirst(name, input)) return undefined;
    const workspaceId = this.writer.workspaceId;
    const indexes = new SearchIndexes(SEARCH_BYTES);
    const context = {
      workspaceId,
      principal,
      nowMs: this.writer.nowMs(),
      indexes,
      seesSetAside: seesSetAside(principal.actor),
    };
    const apart = <T>(read: (reader: Reader) => Promise<T>) => read(this.connection);
    const parts = { ...context, site: this.site, apart, queryEmbedder: null };
    return (await lookOf(name)(this.connection, parts, input as never)) as JsonValue;
  }

  async json<N extends OperationName>(name: N, input: OperationInputs[N]): Promise<JsonObject> {
    const { answer } = await this.perform(name, input);
    return answer.kind === "json" ? JSON.parse(wholeText(answer.body)) : {};
  }

  write(agentId: string, key: string, value: string) {
    return this.perform("data.write", { agentId, key, value, metadata: { n: 1 } });
  }

  async checkpoint(agentId: string, label: string | null): Promise<string> {
    return (await this.json("checkpoint.create", { agentId, label, metadata: { why: "corpus" } })).id as string;
  }

  async export(input: Omit<OperationInputs["audit.export"], "resume">): Promise<string> {
    const { answer } = await this.perform("audit.export", input);
    if (answer.kind !== "stream" || answer.body.kind !== "export") throw new Error("no export");
    let text = "";
    for await (const piece of streamExport(this.connection, answer.body, this.writer.workspaceId)) text += piece;
    return text;
  }

  async receipt(eventId: string, format?: "tlog-proof"): Promise<string> {
    const { answer } = await this.perform("audit.receipt", { eventId, ...(format && { format }) });
    if (answer.kind !== "text") throw new Error("no receipt");
    return answer.body;
  }
}

/** Makes everything in an empty directory. */
export async function makeEverything(root: string): Promise<Everything> {
  const data = ensureDataDirectory(join(root, "first"));
  mkdirSync(join(root, "papers"));
  const made = new Making(root, data);
  const filled = await withParts(data, (parts) => fillInstallation(parts, data));
  const { workspaceId: main, otherId: pruned } = filled;
  made.filled(filled);
  await Life.of(data, main, firstLife);
  await Life.of(data, pruned, async (life) => {
    // With a history, the stored versions would keep their events.
    const policies = { history_days: 0 };
    await life.perform("config.update", { agentId: "alpha", config: { model: "m-1", policies } });
    await life.perform("config.update", { agentId: "beta", config: { policies } });
    await life.write("alpha", "k1", "overwritten later, and kept for the checkpoint");
    await life.checkpoint("alpha", "kept");
    for (let i = 0; i < 260; i++) await life.write(i % 5 === 0 ? "beta" : "alpha", `k${i % 6}`, `v${i}`);
    await life.writer.seal();
  });
  await made.age("before a rotation", 0);
  await run("rotate-seal-key", "--data-dir", data.root);
  await Life.of(data, main, secondLife);
  await made.age("after a rotation", 1);
  const exported = made.exports.findLast(({ name }) => name.startsWith("the pruned workspace"))?.path as string;
  const soon = new Date(systemClock() + 90 * DAY_MS).toISOString().slice(0, 10);
  const which = ["--workspace", pruned, "--data-dir", data.root];
  await run("prune", ...which, "--before", soon, "--yes", "--export", exported);
  await made.age("after a pruning", 1);
  const backups = join(root, "backups");
  await run("backup", backups, "--data-dir", data.root);
  await Life.of(data, main, async (life) => {
    await life.write("alpha", "lost", "in no backup");
    await life.writer.seal();
  });
  const [backup = ""] = readdirSync(backups);
  const restored = dataDirectory(join(root, "restored"));
  const lost = join(data.root, "seals", `${main}.log`);
  await run("restore", "--keep-rights", join(backups, backup), "--data-dir", restored.root, "--seals", lost);
  made.data = restored;
  await Life.of(restored, main, async (life) => {
    for (const agentId of ["alpha", "beta", "gamma"]) await life.write(agentId, "after the restore", "v");
    await life.writer.seal();
    const newest = await newestSeal(life.connection);
    await replaceNote(life.connection, newest?.id ?? 0, made.witness.cosign(newest?.note ?? ""));
  });
  await made.age("after a restore", 1);
  await made.continued();
  return made;
}

async function run(...words: string[]): Promise<void> {
  const { code, out, err } = await governd(words);
  if (code !== 0) throw new Error(`${words.join(" ")}: ${err}${out}`);
}

class Making implements Everything {
  readonly ages: Age[] = [];
  readonly exports: Paper[] = [];
  readonly installationExports: Paper[] = [];
  readonly receipts: Paper[] = [];
  readonly proofs: Paper[] = [];
  readonly publicKeys: string[] = [];
  readonly witness = new Witness("w1.example");
  readonly kept: string[] = [];
  live = { data: dataDirectory(""), kept: "" };
  readonly forks: Everything["forks"] = [];
  main = "";
  pruned = "";
  installation = "";
  #people = { founder: "", member: "" };

  constructor(
    readonly root: string,
    public data: DataDirectory,
  ) {}

  filled({ workspaceId, otherId, installation, people }: Awaited<ReturnType<typeof fillInstallation>>): void {
    this.main = workspaceId;
    this.pruned = otherId;
    this.installation = installation;
    this.#people = people;
  }

  /**
   * Keeps the directory as it is, and takes exports and receipts from it. A passkey is made before, so that the file
   * of the installation of each age is another one.
   */
  async age(name: string, key: number): Promise<void> {
    await withParts(this.data, async (parts) => {
      await makePasskey(parts, this.#people.member);
      await signInAgain(parts, this.#people);
    });
    await Life.of(this.data, this.main, async (life) => {
      await this.#papers(life, name, key);
      await life.writer.seal();
      this.kept.push(await this.#keepSeal(life, `age-${this.ages.length}`));
    });
    await Life.of(this.data, this.pruned, async (life) => {
      const text = await life.export({ scope: { scope: "workspace" }, format: "ndjson", window: {} });
      this.#keep(this.exports, `the pruned workspace ${name}`, key, text);
    });
    await Life.of(this.data, this.installation, async (life) => {
      const text = await life.export({ scope: { scope: "workspace" }, format: "ndjson", window: {} });
      this.#keep(this.installationExports, `the installation ${name}`, key, text);
      await life.writer.seal();
    });
    this.publicKeys[key] = readFileSync(join(this.data.root, "keys", "seal.pub"), "utf8");
    const data = join(this.root, `age-${this.ages.length}`);
    cpSync(this.data.root, data, { recursive: true });
    await throughServer(dataDirectory(data).workspaces);
    this.ages.push({ name, data, key });
  }

  /** Continues the last age, and an older one in two ways. */
  async continued(): Promise<void> {
    const copied = (age: Age | undefined, name: string) => {
      const root = join(this.root, name);
      cpSync(age?.data ?? "", root, { recursive: true });
      return dataDirectory(root);
    };
    const open = copied(this.ages.at(-1), "open");
    await Life.of(open, this.main, async (life) => {
      for (let i = 0; i < 5; i++) await life.write("alpha", `in the log ${i}`, "v");
      await life.writer.seal();
      const live = join(this.root, "live");
      cpSync(open.root, live, { recursive: true });
      this.live = { data: dataDirectory(live), kept: await this.#keepSeal(life, "live") };
    });
    for (const name of ["fork-0", "fork-1"]) {
      const data = copied(this.ages[1], name);
      await Life.of(data, this.main, async (life) => {
        for (let i = 0; i < 4; i++) await life.write("beta", `k${i}`, name);
        await life.writer.seal();
        const text = await life.export({ scope: { scope: "workspace" }, format: "ndjson", window: {} });
        const exported = join(this.root, "papers", `${name}.txt`);
        writeFileSync(exported, text);
        this.forks.push({ data, kept: await this.#keepSeal(life, name), exported });
      });
    }
  }

  async #keepSeal({ connection }: Life, name: string): Promise<string> {
    const path = join(this.root, "papers", `${name}.seal`);
    writeFileSync(path, (await newestSeal(connection))?.note ?? "");
    return path;
  }

  async #papers(life: Life, age: string, key: number): Promise<void> {
    for (const format of ["json", "ndjson"] as const) {
      for (const [name, scope, window] of [
        ["a workspace", { scope: "workspace" }, {}],
        ["an agent", { agentId: "alpha" }, {}],
        ["a window", { scope: "workspace" }, { startMs: systemClock() + DAY_MS, endMs: systemClock() + 3 * DAY_MS }],
      ] as const) {
        this.#keep(this.exports, `${format} of ${name} ${age}`, key, await life.export({ scope, format, window }));
      }
    }
    const events = life.connection.all<[number, string]>(
      `SELECT min(seq), operation FROM events WHERE operation IN ('data.write', 'data.read', 'checkpoint.create')
       AND (details IS NULL) = (operation = 'data.read') GROUP BY operation`,
    );
    for (const [seq, operation] of events) {
      const id = idAt(life.connection, seq);
      this.#keep(this.receipts, `${operation} ${age}`, key, await life.receipt(id));
      this.#keep(this.receipts, `${operation} as tlog-proof ${age}`, key, await life.receipt(id, "tlog-proof"));
    }
    await recordRoot(life);
    for (const [name, about] of PROVED) {
      const input = { agentId: "alpha", withValues: false, ...about, atMs: life.writer.nowMs() };
      this.#keep(this.proofs, `${name} ${age}`, key, await proofOf(life, life.principal, input));
    }
  }

  #keep(list: Paper[], name: string, key: number, text: string): void {
    const path = join(this.root, "papers", `${name.replaceAll(" ", "-")}.txt`);
    writeFileSync(path, text);
    list.push({ name, path, key });
  }
}

/** Makes a batch, which records several events, and writes with an Idempotency-Key, the client and its trace. */
async function newerRequests(life: Life): Promise<void> {
  const agentId = "alpha";
  const write = (key: string) => ({ name: "data.write", input: { agentId, key, value: "v", metadata: {} } }) as const;
  const parts = [
    write("batch/1"),
    write("batch/2"),
    { name: "data.read", input: { agentId, key: "batch/1" } },
  ] as const;
  await life.writer.perform([
    jobOf({ name: "data.batch", input: { agentId, atomic: true, parts }, principal: life.principal }),
  ]);
  for (const number of [1, 2]) {
    const retry = { id: `${number}`.repeat(32), request: `${number}`.repeat(64), requestId: "req_1" };
    const via = { client: "corpus/1", trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
    await life.perform("data.write", write(`retried/${number}`).input, { retry, via });
  }
}

/** Makes an agent without a config, while the workspace's policies have a retention. */
async function underWorkspacePolicies(life: Life): Promise<void> {
  const page = { limit: 10, offset: 0 };
  const floor = (policies: JsonObject) => life.perform("policies.update", { workspacePolicies: { policies } });
  await life.write("delta", "old/1", "will be removed");
  await life.write("delta", "old/2", "will be overwritten");
  await life.checkpoint("delta", "before the workspace's retention");
  await floor({ retention_days: 1, block_secrets: true });
  life.passDays(2);
  await life.write("delta", "old/2", "the old one being expired");
  await life.perform("data.delete_prefix", { agentId: "delta", prefix: "old/" });
  await life.checkpoint("delta", "with expired entries");
  await sweepWorkspace(life.connection, life.writer);
  await floor({ block_secrets: true });
  await life.write("delta", "late", "under policies without a retention");
  await life.perform("policies.read", {});
  await life.perform("policies.read_version", { version: "p1" });
  await life.perform("policies.list_versions", { page });
}

/** Makes every operation and result, and entries that are overwritten, deleted, restored, erased, or expired. */
async function firstLife(life: Life): Promise<void> {
  await underWorkspacePolicies(life);
  const page = { limit: 10, offset: 0 };
  const window = {};
  const scope = { scope: "workspace" } as const;
  await life.perform("config.update", { agentId: "alpha", config: { model: "m-1", policies: { block_pii: true } } });
  await life.write("alpha", "greeting", "Hello");
  await life.write("alpha", "note/1", "first note");
  await life.write("alpha", "note/2", "zweite Notiz: äöü \u0000 🙂");
  await life.write("alpha", "secret", "will be erased");
  await life.perform("data.read", { agentId: "alpha", key: "note/1" }, { person: true });
  await life.perform("data.read", { agentId: "alpha", key: "secret" });
  const first = await life.checkpoint("alpha", "first");
  await life.write("alpha", "greeting", "Hello again");
  await life.perform("data.delete", { agentId: "alpha", key: "note/1" });
  await life.write("alpha", "mail", "write to someone@gmail.com");
  await life.perform("data.read", { agentId: "alpha", key: "never written" });
  const another = { key: "greeting", value: "v", metadata: {}, condition: { exists: false } };
  await life.perform("data.write", { agentId: "alpha", ...another });
  const second = await life.checkpoint("alpha", null);
  await life.perform("config.update", { agentId: "alpha", config: { model: "m-2" } });
  await life.perform("checkpoint.restore", { checkpointId: first, restoreConfig: true, restoreData: true });
  await life.write("alpha", "note/3", "third");
  await life.perform("data.delete_prefix", { agentId: "alpha", prefix: "note/" });
  await life.write("alpha", "note/2", "second, again");
  await life.perform("config.rollback", { agentId: "alpha", version: "v2" });
  await life.perform("checkpoint.delete", { checkpointId: second });
  await life.perform("checkpoint.read", { checkpointId: first });
  await life.perform("checkpoint.list", { agentId: "alpha", page });
  await life.perform("checkpoint.compare", { checkpointId: first, to: null, page });
  await life.perform("config.read", { agentId: "alpha" });
  await life.perform("config.read_version", { agentId: "alpha", version: "v1" });
  await life.perform("config.list_versions", { agentId: "alpha", page });
  await life.perform("config.read_effective", { agentId: "alpha" });
  await life.perform("data.read_full", { agentId: "alpha", key: "greeting" });
  const asOf = { checkpointId: first };
  await life.perform("config.read", { agentId: "alpha", asOf });
  await life.perform("config.read_effective", { agentId: "alpha", asOf });
  await life.perform("data.read", { agentId: "alpha", key: "note/1", asOf });
  await life.perform("data.read", {
    agentId: "alpha",
    key: "note/1",
    asOf: { auditId: "aud_01h455vb4pex5vsknk084sn02q" },
  });
  await life.perform("data.list", { agentId: "alpha", prefix: "", page, includeValues: true, asOf });
  await life.perform("data.versions", { agentId: "alpha", key: "note/2", includeValues: true, page });
  await life.perform("data.list", { agentId: "alpha", prefix: "", page, includeValues: true });
  await life.perform("policy.check", { agentId: "alpha", policies: null, key: "", value: "a text", metadata: {} });
  await life.perform("policy.replay", { agentId: "alpha", policies: { block_pii: true }, form: "json" });
  await life.perform("data.query", { agentId: "alpha", prefix: "", filter: [], page, includeValues: false });
  await life.perform("data.search", { agentId: "alpha", query: "Hello", limit: 3, prefix: "", minSimilarity: 0 });
  await life.write("beta", "old/1", "will expire");
  await life.write("beta", "greeting", "Hello");
  await life.checkpoint("beta", "before retention");
  await life.writer.seal();
  life.passDays(3);
  await life.write("beta", "greeting", "Hello, later");
  await life.write("beta", "late", "x");
  await life.perform("config.update", { agentId: "beta", config: { policies: { retention_days: 2 } } });
  await sweepWorkspace(life.connection, life.writer);
  await life.checkpoint("beta", "with expired entries");
  life.passDays(3);
  await life.write("beta", "late", "written again, the old one being expired");
  await life.perform("agent.suspend", { agentId: "beta", reason: "a test" });
  await life.write("beta", "late", "while it is suspended");
  await life.perform("agent.resume", { agentId: "beta", reason: null });
  await life.write("gamma", "greeting", "Hello");
  const { auditId: version } = await life.write("gamma", "diary", "to be erased alone");
  await life.write("gamma", "diary", "the next one");
  await life.perform("data.erase", { agentId: "gamma", key: "diary", version });
  const { auditId: written } = await life.write("gamma", "k", "v");
  const ending = (key: string, days: number) =>
    life.perform("data.write", { agentId: "gamma", key, value: key, metadata: {}, expiry: { afterMs: days * DAY_MS } });
  await ending("ending/overwritten", 1);
  await ending("ending/removed", 1);
  await ending("ending/kept", 100_000);
  await life.perform("config.update", { agentId: "gamma", config: { model: "m-3" } });
  await life.checkpoint("gamma", "first");
  life.passDays(2);
  await life.write("gamma", "ending/overwritten", "the old one being over");
  await sweepWorkspace(life.connection, life.writer);
  await newerRequests(life);
  await sinks(life);
  await workloads(life);
  await quarantines(life);
  const used = life.connection.value<string>("SELECT id FROM keys LIMIT 1") as string;
  await life.writer.derive((connection) =>
    storeNote(connection, { kind: "last_use", used: "keys", uses: [{ id: used, at: systemClock() }] }),
  );
  await life.perform("data.erase", { agentId: "alpha", key: "secret" });
  const { auditId } = await life.write("gamma", "k", "v2");
  await life.perform("data.write", { agentId: "gamma", key: "k", revertTo: written as string });
  const { auditId: looked } = await life.perform("audit.read", { eventId: auditId, proof: false });
  await life.perform("audit.query", { scope, window, page });
  await life.perform("audit.verify", { scope });
  await life.perform("audit.stream", { scope });
  await life.perform("audit.activity", { scope, window, interval: "day" });
  const lineage = { direction: "effects", depth: 2, page } as const;
  await life.perform("lineage.read", { eventId: auditId, ...lineage });
  await life.perform("lineage.read", { eventId: looked, ...lineage });
  await life.perform("agent.list", { prefix: "", page });
  await life.perform("agent.read", { agentId: "gamma" });
  await life.writer.seal();
}

/** Two workloads act for the first time. */
async function workloads(life: Life): Promise<void> {
  for (const subject of ["ci", "ops"])
    await life.perform("workload.begin", { issuer: "https://id.example.org", subject });
}

/** Sets versions aside and releases some, and has a program meet what is left. */
async function quarantines(life: Life): Promise<void> {
  const agentId = "gamma";
  const actor = life.connection.value<string>("SELECT id FROM workloads WHERE subject = 'ci'") as string;
  const program = { program: { actor, workload: { issuer: "https://id.example.org", subject: "ci" } } };
  const page = { limit: 10, offset: 0 };
  const setAside = async (key: string) => {
    const wish = { agentId, key, version: null, effects: null };
    const { digest } = await life.json("quarantine.preview", wish);
    const { auditId } = await life.perform("quarantine.set", { ...wish, reason: "a test", digest: digest as string });
    return auditId;
  };
  for (const key of ["aside", "written again", "restored", "released"]) await life.write(agentId, `q/${key}`, key);
  const before = await life.checkpoint(agentId, "with what is set aside");
  await life.write(agentId, "q/restored", "later");
  for (const key of ["aside", "written again", "restored"]) await setAside(`q/${key}`);
  const quarantine = await setAside("q/released");
  await life.perform("quarantine.preview", { agentId, key: "q/released", version: null, effects: null });
  const wish = { agentId, key: "q/released", version: null, effects: null, reason: "a test" };
  await life.perform("quarantine.set", { ...wish, digest: "" });
  await life.perform("quarantine.set", {
    agentId,
    key: "none",
    version: null,
    effects: null,
    reason: "a test",
    digest: "",
  });
  await life.perform("quarantine.release", { agentId: null, quarantine, reason: "a test" });
  await life.perform("quarantine.release", { agentId: null, quarantine, reason: "a test" });
  for (const key of ["q/aside", "q/released"]) {
    await life.perform("data.read", { agentId, key }, program);
    await life.perform("data.read", { agentId, key }, { person: true });
  }
  await life.perform("data.list", { agentId, prefix: "q/", page, includeValues: true }, program);
  await life.perform("data.versions", { agentId, key: "q/aside", page, includeValues: true }, program);
  await life.perform("data.write", { agentId, key: "q/written again", value: "anew", metadata: {} }, program);
  await life.perform("checkpoint.restore", { checkpointId: before, restoreConfig: false, restoreData: true }, program);
  await life.perform("data.delete_prefix", { agentId, prefix: "q/w" }, program);
}

/** Makes, changes and removes sinks. Nothing listens where they deliver to. */
async function sinks(life: Life): Promise<void> {
  const authority = await TestAuthority.make("receivers");
  const { cert: clientCertificate, key: clientKey } = await authority.issue("governd");
  const wanted = { ...SINK, url: `https://${RECEIVER}/one`, ca: authority.cert, clientCertificate, clientKey };
  const { id: kept } = await life.json("sink.create", wanted);
  const { id: removed } = await life.json("sink.create", { ...SINK, url: `https://${RECEIVER}/two` });
  const [sinkId, other] = [kept as string, removed as string];
  await life.perform("sink.change", { sinkId, change: { enabled: false, filter: { operations: ["data.write"] } } });
  await life.perform("sink.rotate", { sinkId });
  await life.perform("sink.test", { sinkId });
  await life.perform("sink.remove", { sinkId: other });
  life.connection.run("INSERT INTO sink_positions VALUES (?, 3, 4, '{}')", [sinkId]);
  life.connection.run("INSERT INTO key_use SELECT id, 5 FROM keys LIMIT 1");
}

/** Makes what happens under the second sealing key. */
async function secondLife(life: Life): Promise<void> {
  await life.write("alpha", "greeting", "Hello, once more");
  await life.checkpoint("alpha", "second key");
  await life.write("alpha", "gone", "x");
  await life.perform("data.erase", { agentId: "alpha", key: "gone" });
  await life.write("gamma", "k", "v3");
  await life.writer.seal();
}

/**
 * Opens a workspace as a daemon does, and calls `work` with a function that performs some operations and seals them,
 * others in each call. With `erasing`, every third call erases, which runs a checkpoint of the write-ahead log and
 * empties it.
 */
export async function writing(
  data: DataDirectory,
  id: string,
  { erasing }: { erasing: boolean },
  work: (next: () => Promise<void>) => Promise<void>,
): Promise<void> {
  await Life.of(data, id, async (life) => {
    let count = 0;
    let keyId: string | null = null;
    await work(async () => {
      const agentId = ["alpha", "beta", "gamma"][count++ % 3] as string;
      await life.write(agentId, `k${count % 5}`, `v${count}`);
      await life.checkpoint(agentId, `c${count}`);
      await life.write(agentId, `secret ${count}`, "v");
      if (erasing && count % 3 === 0) await life.perform("data.erase", { agentId, key: `secret ${count}` });
      if (keyId === null) keyId = (await life.json("key.create", NEW_KEY)).id as string;
      else {
        await life.perform("key.revoke", { keyId });
        keyId = null;
      }
      await life.writer.seal();
    });
  });
}

const NEW_KEY = { label: "for a while", scope: "full", agents: null, networks: null, expiresInMs: null } as const;

/** Returns the file of a workspace, and its file of seals. */
export const filesOf = (data: DataDirectory, id: string): { database: string; seals: string } => ({
  database: workspaceFile(data, id),
  seals: sealFile(data, id),
});
