/** A sealed data directory with a log of many events, and its exports, for the benchmarks of verification. */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { publicPem, readSealKey } from "../src/core/datadir/seal-key.ts";
import { SealKeyring } from "../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../src/core/seals/sealer.ts";
import type { Principal } from "../src/core/writer/contract.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../src/core/writer/file.ts";
import type { Job } from "../src/core/writer/job.ts";
import { WorkspaceWriter } from "../src/core/writer/perform.ts";
import { IdSource, systemClock } from "../src/ids.ts";
import { verifierKey } from "../src/log/note.ts";
import { streamExport } from "../src/ops/audit/export.ts";
import { jobOf } from "../src/serve/threads/registry.ts";

/** Writes per durable transaction, as in the daemon. */
const GROUP = 500;
const AGENTS = 8;
/** Of all agents together; fewer events have as many keys as writes. */
export const KEYS = 200_000;
/** Events between two seals: about what a busy daemon writes in ten seconds. */
const SEAL_EVERY = 50_000;
const METADATA = { source: "chat", confidence: 0.92 };
const VALUE =
  "The customer prefers a morning delivery, asked for the blue one and pays by invoice within thirty days; " +
  "the parcel was sent by road and arrived on time, said the driver who called.";

/** Where the parts of a sample are. */
export interface SampleLog {
  dataDir: string;
  database: string;
  publicKey: string;
  json: string;
  ndjson: string;
}

/**
 * Writes a log of `events` events with the load of `bun run bench`, for a workspace with this id, and seals it with
 * this key (PEM). `formats` are those of the exports to make.
 */
export async function makeSampleLog(
  root: string,
  events: number,
  id: string,
  pem: string,
  formats: readonly ("json" | "ndjson")[] = ["json", "ndjson"],
): Promise<SampleLog> {
  const dataDir = join(root, "data");
  for (const name of ["workspaces", "seals"]) mkdirSync(join(dataDir, name), { recursive: true });
  const sample: SampleLog = {
    dataDir,
    database: join(dataDir, "workspaces", `${id}.db`),
    publicKey: join(root, "seal.pub"),
    json: join(root, "export.json"),
    ndjson: join(root, "export.ndjson"),
  };
  writeFileSync(sample.publicKey, publicPem(readSealKey({ kind: "pem", pem })));
  const keyring = new SealKeyring({ kind: "pem", pem });
  const sealKey = verifierKey(`localhost/${id}`, keyring.current().publicBytes);
  await createWorkspaceFile(sample.database, { workspaceId: id, name: "bench", actor: "cli", sealKey });
  const connection = openWorkspaceFile(sample.database);
  const sealer = new WorkspaceSealer({ keyring, file: join(dataDir, "seals", `${id}.log`) });
  await sealer.load(connection);
  const writer = new WorkspaceWriter(connection, { sealer });
  const principal: Principal = {
    actor: new IdSource(systemClock).next("usr"),
    workspaceId: id,
    scope: "full",
    agents: null,
  };
  for (let number = 0; writer.headSeq < events - 1; ) {
    const jobs: Job[] = [];
    for (const last = Math.min(GROUP, events - 1 - writer.headSeq); jobs.length < last; number++) {
      const agentId = `bench-${number % AGENTS}`;
      const input = { agentId, key: `note/${number % KEYS}`, value: VALUE, metadata: METADATA };
      jobs.push(jobOf({ name: "data.write", input, principal }));
    }
    await writer.perform(jobs);
    if (writer.headSeq % SEAL_EVERY < GROUP) await writer.seal();
  }
  await writer.seal();
  for (const format of formats) {
    const scope = { scope: "workspace" } as const;
    const [settled] = await writer.perform([
      jobOf({ name: "audit.export", input: { scope, format, window: {} }, principal }),
    ]);
    const answer = settled?.answer;
    if (answer?.kind !== "stream" || answer.body.kind !== "export") throw new Error("no export was made");
    const file = openSync(sample[format], "w");
    for await (const piece of streamExport(connection, answer.body, id)) writeSync(file, piece);
    closeSync(file);
  }
  await writer.seal();
  connection.truncateLog();
  writer.close();
  return sample;
}
