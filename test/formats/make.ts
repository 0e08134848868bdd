/**
 * Makes the data directory of this version's formats: `bun test/formats/make.ts`. Done once for each
 * release; what an earlier one made is never made again. Clock, ids and randomness are fixed. The key that
 * seals is not in it: it is derived from {@link SEED}.
 */

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory, sealFile, workspaceFile } from "../../src/core/datadir/layout.ts";
import { writePointer } from "../../src/core/datadir/pointer.ts";
import { wholeText } from "../../src/core/long-text.ts";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../../src/core/seals/sealer.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import { readHead } from "../../src/core/writer/head.ts";
import { recordingJob } from "../../src/core/writer/job.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { IdSource, RandomPool } from "../../src/ids.ts";
import { verifierKey } from "../../src/log/note.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { headsEvent } from "../../src/ops/directory/heads-event.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import { INSTALLATION_CREATOR, INSTALLATION_NAME } from "../../src/ops/directory/workspaces.ts";
import { jobOf, lookingRun } from "../../src/serve/threads/registry.ts";
import { VERSION } from "../../src/version.ts";
import { pack } from "./packing.ts";
import { sealPem } from "./seal-pem.ts";

let nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
const clock = () => nowMs++;
let state = 1;
/** Lehmer's generator: randomness that is the same each time. */
const random = new RandomPool((bytes) => {
  for (let i = 0; i < bytes.length; i++) {
    state = (state * 48271) % 2147483647;
    bytes[i] = state & 0xff;
  }
});
const ids = new IdSource(clock, random);

const root = join(import.meta.dir, VERSION);
rmSync(root, { recursive: true, force: true });
const directory = dataDirectory(root);
for (const path of [directory.workspaces, directory.seals]) mkdirSync(path, { recursive: true });
const [workspaceId, account, keyId, installation] = [ids.next("ws"), ids.next("usr"), ids.next("key"), ids.next("ws")];
const key = sealPem();
const sealKey = verifierKey(`formats.example/${workspaceId}`, key.publicBytes);
const path = workspaceFile(directory, workspaceId);
writePointer(directory, { installation_id: installation, engine: "embedded" });
await createWorkspaceFile(path, { workspaceId, name: "formats", actor: "cli", sealKey }, clock, random);
await fill();
await makeInstallation();
pack(directory);

async function fill(): Promise<void> {
  const connection = openWorkspaceFile(path);
  const sealer = new WorkspaceSealer({
    keyring: new SealKeyring({ kind: "pem", pem: key.pem }),
    file: sealFile(directory, workspaceId),
  });
  const writer = new WorkspaceWriter(connection, { clock, random, sealer });
  const principal = { actor: keyId, workspaceId, scope: "full" as const, agents: null };
  const perform = async <N extends OperationName>(name: N, input: OperationInputs[N]) => {
    const [settled] = await writer.perform([jobOf({ name, input, principal })]);
    if (settled?.answer.kind !== "json") throw new Error(`${name}: ${JSON.stringify(settled)}`);
    return JSON.parse(wholeText(settled.answer.body)) as { id?: string };
  };
  // Of the key only a digest is stored, and nobody has it.
  const details = {
    ...{ key_id: keyId, key_digest: digestOf("nobody has this key").toHex(), label: "first", scope: "full" },
    ...{ agents: null, networks: null, expires_at: null },
  };
  await writer.perform([recordingJob(workspaceId, { operation: "key.create", actor: "cli", details })]);
  const agentId = "support-bot";
  const write = (key: string, value: string) =>
    perform("data.write", { agentId, key, value, metadata: { source: "make" } });
  await perform("config.update", { agentId, config: { model: "m-1", policies: { block_secrets: true } } });
  await write("greeting", "Hello");
  await write("note/1", "first, äöü, \u0000 and 🙂");
  const { id: first } = await perform("checkpoint.create", { agentId, label: "first", metadata: { n: 1 } });
  await writer.seal();
  await write("greeting", "Hello again");
  await perform("data.delete", { agentId, key: "note/1" });
  await perform("config.update", { agentId, config: { model: "m-2" } });
  await perform("checkpoint.restore", { checkpointId: first as string, restoreConfig: true, restoreData: true });
  await perform("data.erase", { agentId, key: "note/1" });
  for (let i = 0; i < 280; i++) await write(`many/${i % 7}`, `${i}`);
  const look = async <N extends "quarantine.preview" | "quarantine.set" | "quarantine.release">(
    operation: N,
    input: OperationInputs[N],
  ) => {
    const [settled] = await writer.perform([{ operation, principal, run: lookingRun(operation, input) }]);
    if (settled?.answer.kind !== "json") throw new Error(`${operation}: ${JSON.stringify(settled)}`);
    return JSON.parse(wholeText(settled.answer.body)) as { digest: string; audit_id: string };
  };
  for (const aside of ["many/5", "many/6"]) {
    const wish = { agentId, key: aside, version: null, effects: null };
    const { digest } = await look("quarantine.preview", wish);
    const set = await look("quarantine.set", { ...wish, reason: "for the tests", digest });
    if (aside === "many/6") {
      await look("quarantine.release", { agentId: null, quarantine: set.audit_id, reason: "for the tests" });
    }
  }
  await perform("agent.suspend", { agentId, reason: null });
  await perform("agent.resume", { agentId, reason: "for the tests" });
  await writer.seal();
  writer.close();
}

/** The log of the installation, which names the workspace, has its head, and an account that nobody can use. */
async function makeInstallation(): Promise<void> {
  const file = workspaceFile(directory, installation);
  const own = verifierKey(`formats.example/${installation}`, key.publicBytes);
  await createWorkspaceFile(
    file,
    { workspaceId: installation, name: INSTALLATION_NAME, actor: INSTALLATION_CREATOR, sealKey: own },
    clock,
    random,
  );
  const connection = openWorkspaceFile(file);
  const sealer = new WorkspaceSealer({
    keyring: new SealKeyring({ kind: "pem", pem: key.pem }),
    file: sealFile(directory, installation),
  });
  const writer = new WorkspaceWriter(connection, { clock, random, sealer });
  await sealer.load(connection);
  using workspace = openWorkspaceFile(path);
  const { seq, hash } = readHead(workspace);
  const genesis = workspace.value<string>("SELECT lower(hex(hash)) FROM events WHERE seq = 0") as string;
  const added = { account_id: null, for_workspace_id: workspaceId, name: "formats", genesis };
  await writer.perform(
    [
      headsEvent({ grown: [], gone: [] }),
      { operation: "installation.add_workspace" as const, actor: "cli", details: added },
      headsEvent({ grown: [{ workspaceId, size: seq + 1, hash }], gone: [] }),
    ].map((event) => recordingJob(installation, event)),
  );
  const principal = { actor: account, workspaceId: installation, scope: "full" as const, agents: null };
  const input = {
    ...{ id: account, email: "somebody@formats.example", name: "Somebody", password: "no password fits this" },
    ...{ way: null, address: { address: null, address_kind: "unknown" } },
  };
  const [settled] = await writer.perform([jobOf({ name: "account.create", input, principal })]);
  if (settled?.answer.kind !== "json") throw new Error(JSON.stringify(settled));
  await writer.seal();
  writer.close();
}
