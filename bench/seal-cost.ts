/**
 * `bun bench/seal-cost.ts [--rounds N] [--group N]`: the cost of the tree and the seals for governed writes.
 * Rounds with and without seals alternate on separate workspaces. Every log keeps the tree, so its cost is the time
 * to store the tiles of the same events again. Prints medians of the rounds.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSealKey } from "../src/core/datadir/seal-key.ts";
import { storeTiles } from "../src/core/rows/log/tree.ts";
import { SealKeyring } from "../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../src/core/seals/sealer.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../src/core/writer/file.ts";
import type { Job } from "../src/core/writer/job.ts";
import { WorkspaceWriter } from "../src/core/writer/perform.ts";
import { IdSource, systemClock } from "../src/ids.ts";
import { verifierKey } from "../src/log/note.ts";
import { jobOf } from "../src/serve/threads/registry.ts";
import { median, option, whole } from "./figures.ts";

const WRITES = 10_000;
const KEYS = 2_000;
const VALUE = "The customer prefers a morning delivery and pays by invoice within thirty days. ".repeat(3);

const rounds = option("rounds", 7);
/** Writes per transaction, as in the batches of a busy daemon. */
const group = option("group", 64);
/** A busy daemon makes a seal every ten seconds; here a round has at least one. */
const SEAL_EVERY = 10_000;

const root = mkdtempSync(join(tmpdir(), "governd-bench-"));
const keyring = new SealKeyring({ kind: "pem", pem: newSealKey() });

async function workspace(sealed: boolean) {
  const id = new IdSource(systemClock).next("ws");
  const path = join(root, `${id}.db`);
  const sealKey = verifierKey(`localhost/${id}`, keyring.current().publicBytes);
  await createWorkspaceFile(path, { workspaceId: id, name: "bench", actor: "cli", sealKey });
  const connection = openWorkspaceFile(path);
  const sealer = new WorkspaceSealer({ keyring, file: join(root, `${id}.log`) });
  if (sealed) await sealer.load(connection);
  const writer = new WorkspaceWriter(connection, sealed ? { sealer } : {});
  return { connection, writer, id, written: 0 };
}

type Workspace = Awaited<ReturnType<typeof workspace>>;

/** Makes one round of writes. Returns how long it takes, ms. */
async function write(to: Workspace): Promise<number> {
  const principal = { actor: "cli", workspaceId: to.id, scope: "full", agents: null } as const;
  const began = performance.now();
  for (let done = 0; done < WRITES; done += group) {
    const jobs = Array.from({ length: group }, (): Job => {
      const input = { agentId: "bench", key: `note/${to.written++ % KEYS}`, value: VALUE, metadata: {} };
      return jobOf({ name: "data.write", input, principal });
    });
    await to.writer.perform(jobs);
    if (to.written % SEAL_EVERY < group) await to.writer.seal();
  }
  return performance.now() - began;
}

/** Stores the tiles of the last round's events again, in transactions of as many. Returns how long it takes, ms. */
async function tiles({ connection, writer }: Workspace): Promise<number> {
  const first = writer.headSeq + 1 - WRITES;
  let took = 0;
  for (let at = first; at < first + WRITES; at += group) {
    connection.exec("BEGIN IMMEDIATE");
    const began = performance.now();
    await storeTiles(connection, at, Math.min(at + group, first + WRITES));
    took += performance.now() - began;
    connection.exec("ROLLBACK");
  }
  return took;
}

try {
  const [bare, sealed] = [await workspace(false), await workspace(true)];
  await write(bare);
  await write(sealed);
  const figures = { bare: [] as number[], sealed: [] as number[], share: [] as number[], tree: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    // The order alternates, since the load of the machine changes.
    const order = round % 2 === 0 ? [bare, sealed] : [sealed, bare];
    const times = new Map<Workspace, number>();
    for (const one of order) times.set(one, await write(one));
    const [without, withSeals] = [times.get(bare) as number, times.get(sealed) as number];
    figures.bare.push(without);
    figures.sealed.push(withSeals);
    figures.share.push(withSeals / without - 1);
    figures.tree.push((await tiles(sealed)) / withSeals);
  }
  const rate = (ms: number): string => whole((WRITES / ms) * 1_000);
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  console.log(`writes without seals   ${rate(median(figures.bare))} /s`);
  console.log(`writes with seals      ${rate(median(figures.sealed))} /s`);
  console.log(`seals cost             ${percent(median(figures.share))}`);
  console.log(`the tree costs         ${percent(median(figures.tree))}   together at most 5 %`);
} finally {
  rmSync(root, { recursive: true });
}
