/**
 * The last backup. Files that have not changed since are linked instead of copied. Their bytes are compared with the
 * manifest first, so that a file that was corrupted on disk is not used again.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Digest, digestOfFile, linkOrCopy } from "./files.ts";
import { type Manifest, type ManifestFile, type ManifestWorkspace, readManifestIfGood } from "./manifest.ts";

export class PreviousBackup {
  readonly #files: ReadonlyMap<string, ManifestFile>;
  readonly #workspaces: ReadonlyMap<string, ManifestWorkspace>;

  private constructor(
    private readonly root: string,
    { files, workspaces }: Manifest,
  ) {
    this.#files = new Map(files.map((file) => [file.path, file]));
    this.#workspaces = new Map(workspaces.map((one) => [one.workspace_id, one]));
  }

  /** Reads the backup in this directory. Returns null when its manifest cannot be read. */
  static read(root: string): PreviousBackup | null {
    const manifest = readManifestIfGood(root);
    return manifest && new PreviousBackup(root, manifest);
  }

  /** Returns a workspace's entry in its manifest. */
  workspace(workspaceId: string): ManifestWorkspace | undefined {
    return this.#workspaces.get(workspaceId);
  }

  /** Reports whether its file is a copy of a source in this state. */
  isOf(path: string, state: string | null): boolean {
    return state !== null && this.#files.get(path)?.source_state === state;
  }

  /** Links a file if it is a copy of a source in this state and still good. Returns null otherwise. */
  take(path: string, state: string | null, to: string): ManifestFile | null {
    const file = this.isOf(path, state) ? this.#goodFile(path) : undefined;
    if (file === undefined) return null;
    linkOrCopy(join(this.root, path), to);
    return file;
  }

  /** Replaces a copy by a link to a file with the same content. Returns false when there is no such good file. */
  replace(path: string, digest: Digest, copy: string): boolean {
    if (this.#files.get(path)?.sha256 !== digest.sha256 || this.#goodFile(path) === undefined) return false;
    rmSync(copy);
    linkOrCopy(join(this.root, path), copy);
    return true;
  }

  #goodFile(path: string): ManifestFile | undefined {
    const file = this.#files.get(path);
    const stored = join(this.root, path);
    return existsSync(stored) && digestOfFile(stored).sha256 === file?.sha256 ? file : undefined;
  }
}
