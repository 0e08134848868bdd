/**
 * Makes a directory of this version's formats with an epoch: `bun test/formats/make-restored.ts`. It is what make.ts made,
 * backed up, written to, and restored with the lost seals named. Done once for each release; clock and randomness are fixed.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeBackup } from "../../src/backup/make.ts";
import { restoreBackup } from "../../src/backup/restore.ts";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { RandomPool } from "../../src/ids.ts";
import { cliPrincipal, withWriter } from "../../src/ops/directory/journal.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { VERSION } from "../../src/version.ts";
import { inMemory } from "../temporary.ts";
import { pack, unpack } from "./packing.ts";

let nowMs = Date.UTC(2026, 1, 3, 4, 5, 6);
const clock = () => nowMs++;
const random = new RandomPool((bytes) => bytes.fill(7));
const work = mkdtempSync(join(inMemory(), "governd-formats-"));
const lost = dataDirectory(unpack(join(import.meta.dir, VERSION), join(work, "lost")));
const { path: backup } = await makeBackup({ source: lost, destination: join(work, "backups"), keep: null, clock });

async function write(directory: typeof lost, workspaceId: string, key: string): Promise<void> {
  await withWriter(
    directory,
    sealKeySource(directory, null),
    workspaceId,
    async (writer, connection) => {
      const actor = connection.value<string>("SELECT id FROM keys") as string;
      const principal = { ...cliPrincipal(workspaceId), actor };
      const input = { agentId: "support-bot", key, value: "after the backup", metadata: {} };
      await writer.perform([jobOf({ name: "data.write", input, principal })]);
      await writer.seal();
    },
    { clock },
  );
}

const { epochs } = await restoreBackupAfterLoss();
const restored = dataDirectory(join(work, "restored"));
// The ids are in the order of their making: the workspace, and then the installation.
const id = epochs[0]?.workspace_id as string;
await write(restored, id, "restored");
const out = join(import.meta.dir, `${VERSION}-restored`);
rmSync(out, { recursive: true, force: true });
mkdirSync(out);
for (const name of ["workspaces", "seals", "installation.json"])
  cpSync(join(restored.root, name), join(out, name), { recursive: true });
for (const copy of new Bun.Glob("**/*.before-*").scanSync(out)) rmSync(join(out, copy));
pack(dataDirectory(out));
rmSync(work, { recursive: true });

/** Writes what the restore loses, and restores. */
async function restoreBackupAfterLoss() {
  const [file] = [...new Bun.Glob("ws_*.db").scanSync(lost.workspaces)].sort() as [string];
  await write(lost, file.slice(0, -".db".length), "lost");
  const dataDir = join(work, "restored");
  return restoreBackup({
    rights: { later: [], otherwise: "kept" },
    backup,
    dataDir,
    sealKey: null,
    partial: false,
    seals: [lost.root],
    clock,
    random,
  });
}
