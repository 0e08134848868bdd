/** The directories of `test/formats`: each database compact and compressed, and no key that seals. */
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { type DataDirectory, presentWorkspaces, workspaceFile } from "../../src/core/datadir/layout.ts";
import { copyDatabase } from "../../src/store/snapshot.ts";
import { sealPem } from "./seal-pem.ts";

/** Packs the databases of a data directory in place. */
export function pack(directory: DataDirectory): void {
  const files = presentWorkspaces(directory).map((id) => workspaceFile(directory, id));
  for (const file of files) {
    const compact = `${file}.compact`;
    copyDatabase(file, compact);
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(compact)));
    for (const made of [compact, file, `${file}-wal`, `${file}-shm`]) rmSync(made, { force: true });
  }
  for (const left of [directory.generation, directory.logLock]) rmSync(left, { force: true });
}

/** Copies a packed directory to `root` as a data directory with its key. */
export function unpack(packed: string, root: string): string {
  cpSync(packed, root, { recursive: true });
  for (const name of readdirSync(root, { recursive: true }) as string[]) {
    if (!name.endsWith(".gz")) continue;
    const file = join(root, name);
    writeFileSync(file.slice(0, -".gz".length), gunzipSync(readFileSync(file)), { mode: 0o600 });
    rmSync(file);
  }
  for (const path of [root, join(root, "workspaces"), join(root, "seals")]) chmodSync(path, 0o700);
  for (const name of ["installation.json", ...readdirSync(join(root, "seals")).map((name) => join("seals", name))])
    chmodSync(join(root, name), 0o600);
  for (const folder of ["keys", "tls"]) mkdirSync(join(root, folder), { recursive: true, mode: 0o700 });
  writeFileSync(join(root, "keys/seal.key"), sealPem().pem, { mode: 0o600 });
  return root;
}
