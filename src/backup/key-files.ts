/** The small files of a data directory: keys and certificates. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { DataDirectory } from "../datadir/layout.ts";
import { Failure, systemReason } from "../failure.ts";
import { copyFile, digestOfFile } from "./files.ts";
import type { ManifestFile } from "./manifest.ts";

const FOLDERS = ["keys", "tls"] as const;

/** Names below `keys/` and `tls/`; drafts of files that are being replaced are left out. */
function namesIn(directory: DataDirectory, folder: (typeof FOLDERS)[number]): string[] {
  const path = directory[folder];
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith(".") && !entry.name.endsWith(".tmp"))
    .map(({ name }) => name)
    .sort();
}

/** Copies keys and certificates. @throws {Failure} `data_directory_unusable` when one cannot be read */
export function copyKeyFiles(source: DataDirectory, target: DataDirectory): ManifestFile[] {
  return FOLDERS.flatMap((folder) =>
    namesIn(source, folder).map((name) => {
      const from = join(source[folder], name);
      try {
        return {
          path: `${folder}/${name}`,
          ...copyFile(from, join(target[folder], name)),
          source_state: null,
        };
      } catch (error) {
        throw new Failure("data_directory_unusable", `Cannot copy ${from}: ${systemReason(error)}.`, {
          cause: error,
        });
      }
    }),
  );
}

/**
 * Whether the sealing keys are still those that were copied. Workspaces copied while the key is rotated
 * would name a key that the backup has not, or the other way round.
 */
export function areKeysAsCopied(source: DataDirectory, copied: readonly ManifestFile[]): boolean {
  const before = copied.filter(({ path }) => path.startsWith("keys/"));
  const names = namesIn(source, "keys");
  return (
    names.length === before.length &&
    before.every(({ path, sha256 }) => {
      const file = join(source.root, path);
      return existsSync(file) && digestOfFile(file).sha256 === sha256;
    })
  );
}
