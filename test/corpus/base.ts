/** The evidence that every corruption starts from: a sealed data directory, its exports and receipts. */
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { newSealKey, publicPem, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { newestSeal } from "../../src/core/rows/log/seals.ts";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../../src/core/seals/sealer.ts";
import { type Principal, type Reply, systemPrincipal } from "../../src/core/writer/contract.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { verifierKey } from "../../src/log/note.ts";
import type { Role } from "../../src/operation-facts.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { streamExport } from "../../src/ops/audit/export.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import { jobOf, lookingRun } from "../../src/serve/threads/registry.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { bodyOf, SINK_WISH } from "../support/open-workspace.ts";

export const WORKSPACE_ID = "ws_01h455vb4pex5vsknk084sn02q";
export const OTHER_ID = "ws_01h455vb4pex5vsknk084sn02r";

/** Where things are in a directory of evidence. */
export interface Places {
  root: string;
  data: string;
  database: string;
  sealFile: string;
  publicKey: string;
  /** A seal that was taken in the middle of the log's life. */
  earlySeal: string;
  json: string;
  ndjson: string;
  /** An export of the other workspace. */
  otherNdjson: string;
  receipt: string;
  otherDatabase: string;
  otherSealFile: string;
}

export function placesIn(root: string): Places {
  const data = join(root, "data");
  return {
    root,
    data,
    database: join(data, "workspaces", `${WORKSPACE_ID}.db`),
    sealFile: join(data, "seals", `${WORKSPACE_ID}.log`),
    publicKey: join(root, "seal.pub"),
    earlySeal: join(root, "early.seal"),
    json: join(root, "export.json"),
    ndjson: join(root, "export.ndjson"),
    otherNdjson: join(root, "other.ndjson"),
    receipt: join(root, "receipt.txt"),
    otherDatabase: join(root, "other", `${OTHER_ID}.db`),
    otherSealFile: join(root, "other", `${OTHER_ID}.log`),
  };
}

/** The accounts that join: an owner, one whose role is lowered, one who leaves, and one with a role of an issuer. */
const PEOPLE = [
  ...(["usr_01h455vb4pex5vsknk084sn02q", "usr_01h455vb4pex5vsknk084sn02r"] as const),
  ...(["usr_01h455vb4pex5vsknk084sn02s", "usr_01h455vb4pex5vsknk084sn02t"] as const),
] as const;

class Life {
  readonly #principal: Principal;

  constructor(
    readonly connection: Connection,
    readonly writer: WorkspaceWriter,
  ) {
    this.#principal = {
      actor: "usr_01h455vb4pex5vsknk084sn02q",
      workspaceId: writer.workspaceId,
      scope: "full",
      agents: null,
      hasSecondFactor: true,
    };
  }

  async perform<N extends OperationName>(
    name: N,
    input: OperationInputs[N],
    principal: Principal = this.#principal,
  ): Promise<Reply> {
    const [settled] = await this.writer.perform([jobOf({ name, input, principal })]);
    return settled as Reply;
  }

  /** Performs an operation that looks first. */
  async looked<N extends "quarantine.preview" | "quarantine.set" | "quarantine.release">(
    operation: N,
    input: OperationInputs[N],
  ): Promise<Reply> {
    const job = { operation, principal: this.#principal, run: lookingRun(operation, input) };
    return (await this.writer.perform([job]))[0] as Reply;
  }

  write(agentId: string, key: string, value: string, more: Pick<Write, "expiry"> = {}): Promise<Reply> {
    return this.perform("data.write", { agentId, key, value, metadata: { n: 1 }, ...more });
  }

  async export(format: "json" | "ndjson"): Promise<string> {
    const scope = { scope: "workspace" } as const;
    const { answer } = await this.perform("audit.export", { scope, format, window: {} });
    if (answer.kind !== "stream" || answer.body.kind !== "export") throw new Error("no export");
    let text = "";
    for await (const piece of streamExport(this.connection, answer.body, this.writer.workspaceId)) text += piece;
    return text;
  }
}

type Write = Extract<OperationInputs["data.write"], { value: string }>;

const DAY_MS = 86_400_000;
const KEY_WISH: OperationInputs["key.create"] = {
  ...({ label: null, scope: "full", agents: null, networks: null, expiresInMs: null } as const),
};

/** For entries that expire long after the test. */
const ENDING = { expiry: { atMs: Date.UTC(2100, 0) } };

async function openLife(database: string, sealFile: string, keyFile: string, id: string): Promise<Life> {
  const keyring = new SealKeyring({ kind: "file", path: keyFile });
  if (!existsSync(database)) {
    const sealKey = verifierKey(`corpus.example/${id}`, keyring.current().publicBytes);
    await createWorkspaceFile(database, { workspaceId: id, name: "corpus", actor: "cli", sealKey });
  }
  const connection = openWorkspaceFile(database);
  const sealer = new WorkspaceSealer({ keyring, file: sealFile });
  await sealer.load(connection);
  const site = {
    sinkKey: join(dirname(keyFile), "sinks.key"),
    places: { allow: ["siem.example.org"], directory: null },
  };
  return new Life(connection, new WorkspaceWriter(connection, { sealer, site: () => site }));
}

/**
 * Makes the evidence. Two agents, overwritten and deleted entries, configs, checkpoints, a suspension, three seals.
 * @param passed sends the databases in a folder through another store, and puts what comes back in their place
 */
export async function makeBase(
  root: string,
  passed: (folder: string) => Promise<void> = async () => {},
): Promise<Places> {
  const places = placesIn(root);
  for (const path of ["data/workspaces", "data/seals", "other"]) mkdirSync(join(root, path), { recursive: true });
  const keyFile = join(root, "seal.key");
  writeFileSync(keyFile, newSealKey());
  writeFileSync(places.publicKey, publicPem(readSealKey({ kind: "file", path: keyFile })));
  const life = await openLife(places.database, places.sealFile, keyFile, WORKSPACE_ID);
  await life.perform("config.update", { agentId: "alpha", config: { policies: { block_pii: true } } });
  await life.write("alpha", "a", "first");
  const written = await life.write("alpha", "b", "second");
  await life.write("beta", "a", "beta's");
  await life.writer.seal();
  const seal = await newestSeal(life.connection);
  writeFileSync(places.earlySeal, seal?.note ?? "");
  await life.perform("checkpoint.create", { agentId: "alpha", label: "c", metadata: {} });
  await life.write("alpha", "a", "first, anew");
  await life.write("alpha", "mail", "write to someone@gmail.com");
  await life.perform("data.delete", { agentId: "alpha", key: "b" });
  await life.write("alpha", "post", "write to someone.else@gmail.com");
  await life.perform("config.update", { agentId: "alpha", config: {} });
  await life.perform("checkpoint.create", { agentId: "beta", label: null, metadata: {} });
  await life.perform("agent.suspend", { agentId: "beta", reason: "a test" });
  await life.perform("agent.resume", { agentId: "beta", reason: null });
  await life.write("alpha", "c", "to be erased");
  await life.perform("data.read", { agentId: "alpha", key: "c" });
  await life.perform("data.erase", { agentId: "alpha", key: "c" });
  await makeQuarantines(life);
  // Full tiles, so that they can be tampered with.
  for (let i = 0; i < 270; i++) await life.write("beta", `k${i % 7}`, `v${i}`, i % 7 > 2 ? {} : ENDING);
  await life.writer.seal();
  await makeSinks(life);
  await makeKeys(life);
  await makeMembers(life);
  await life.writer.seal();
  writeFileSync(places.json, await life.export("json"));
  writeFileSync(places.ndjson, await life.export("ndjson"));
  const receipt = await life.perform("audit.receipt", { eventId: written.auditId ?? "" });
  if (receipt.answer.kind === "text") writeFileSync(places.receipt, receipt.answer.body);
  await life.writer.seal();
  await life.write("alpha", "unsealed", "the last event");
  closeLife(life);
  const other = await openLife(places.otherDatabase, places.otherSealFile, keyFile, OTHER_ID);
  for (let i = 0; i < 5; i++) await other.write("alpha", `k${i}`, "v");
  await other.writer.seal();
  writeFileSync(places.otherNdjson, await other.export("ndjson"));
  closeLife(other);
  for (const database of [places.database, places.otherDatabase]) await passed(dirname(database));
  rmSync(keyFile);
  rmSync(join(root, "sinks.key"));
  return places;
}

/** Sets a present and an ended version aside, and one that is released. */
async function makeQuarantines(life: Life): Promise<void> {
  const wanted: Record<string, string> = {};
  for (const key of ["q/aside", "q/ended", "q/released"]) {
    wanted[key] = (await life.write("alpha", key, "v")).auditId as string;
  }
  await life.write("alpha", "q/ended", "later");
  for (const [key, version] of Object.entries(wanted)) {
    const wish = { agentId: "alpha", key, version, effects: null };
    const { digest } = bodyOf(await life.looked("quarantine.preview", wish));
    const set = bodyOf(await life.looked("quarantine.set", { ...wish, reason: "a test", digest }));
    if (key !== "q/released") continue;
    await life.looked("quarantine.release", { agentId: null, quarantine: set.audit_id, reason: "a test" });
  }
}

/** Makes two sinks, which are changed, and one that is removed. */
async function makeSinks(life: Life): Promise<void> {
  const filter = { results: ["blocked"], agents: ["a"] };
  const made = async (more: Partial<OperationInputs["sink.create"]> = {}): Promise<string> =>
    bodyOf(await life.perform("sink.create", { ...SINK_WISH, filter, ...more })).id;
  const [first, second, third] = [await made(), await made({ start: "beginning", token: "t0ken" }), await made()];
  const change = { enabled: false, filter: { operations: ["data.write"] } };
  await life.perform("sink.change", { sinkId: first, change });
  await life.perform("sink.change", { sinkId: second, change: { url: "https://siem.example.org/another" } });
  await life.perform("sink.rotate", { sinkId: second });
  await life.perform("sink.remove", { sinkId: third });
}

/** Makes keys: two in force, of which one has every limit, and one that was limited, replaced and revoked. */
async function makeKeys(life: Life): Promise<void> {
  const made = async (more: Partial<OperationInputs["key.create"]> = {}): Promise<string> =>
    bodyOf(await life.perform("key.create", { ...KEY_WISH, ...more })).id;
  await made();
  const limits = { agents: ["alpha", "beta"], networks: ["192.0.2.0/24", "2001:db8::/32"], expiresInMs: 7 * DAY_MS };
  await made({ ...limits, label: "limited", scope: "agent" });
  const keyId = await made({ ...limits, label: "ended", scope: "auditor" });
  await life.perform("key.change", { keyId, networks: ["192.0.2.7"] });
  await life.perform("key.rotate", { keyId, overlapMs: DAY_MS });
  await life.perform("key.revoke", { keyId });
  life.connection.run("INSERT INTO key_use VALUES (?, 1)", [keyId]);
}

/** Makes members, of whom one lost a role and one has left, and invitations of every kind. */
async function makeMembers(life: Life): Promise<void> {
  const [owner, lowered, gone, grouped] = PEOPLE;
  const invite = async (role: Role, label: string | null) =>
    bodyOf(await life.perform("member.invite", { role, label, expiresInDays: 7 }));
  const join = async (accountId: string, role: Role, label: string | null = null) => {
    const { token } = await invite(role, label);
    await life.perform("member.join", { accountId, digest: digestOf(token).toHex() });
  };
  await join(owner, "owner");
  await join(lowered, "owner", "used");
  await join(gone, "member");
  await life.perform("member.join", { accountId: grouped, issuer: "https://id.example.org", role: "member" });
  await life.perform("member.change", { accountId: lowered, role: "auditor" });
  await life.perform("member.remove", { accountId: gone });
  await invite("member", "open");
  const { id: invitationId } = await invite("auditor", "withdrawn");
  await life.perform("member.uninvite", { invitationId });
  await life.perform("workspace.change", { requiresSecondFactor: true });
  for (const subject of ["ci", "ops"]) {
    const workload = { issuer: "https://id.example.org", subject };
    await life.perform("workload.begin", workload, systemPrincipal(life.writer.workspaceId));
  }
}

function closeLife({ connection, writer }: Life): void {
  connection.truncateLog();
  writer.close();
}

/** Copies the evidence into a directory for one corruption. */
export function copyBase(base: Places, root: string): Places {
  cpSync(base.root, root, { recursive: true });
  return placesIn(root);
}

/** Changes a database as a SQL tool would. */
export function tamper(database: string, change: (connection: Connection) => void): void {
  const connection = openConnection(database);
  change(connection);
  connection.truncateLog();
  connection.close();
}

/** SQL: other random bytes for the id of an event. */
export const OTHER_RANDOM = "x'0102030405060708'";
