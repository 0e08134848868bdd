/**
 * The last backup. Files that did not change since are linked instead of copied. Their bytes are compared with the
 * manifest first, so that a file that decayed on disk is not used again.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { type Digest, digestOfFile, linkOrCopy } from "./files.ts";
import { type Manifest, type ManifestFile, type ManifestWorkspace, readManifest } from "./manifest.ts";

export class PreviousBackup {
  readonly #root: string;
  readonly #workspaces: ReadonlyMap<string, ManifestWorkspace>;
  readonly #files: ReadonlyMap<string, ManifestFile>;

  private constructor(root: string, manifest: Manifest) {
    this.#root = root;
    this.#workspaces = new Map(manifest.workspaces.map((one) => [one.workspace_id, one]));
    this.#files = new Map(manifest.files.map((file) => [file.path, file]));
  }

  /** Reads the backup in this directory. Returns null when its manifest cannot be read. */
  static read(root: string): PreviousBackup | null {
    try {
      return new PreviousBackup(root, readManifest(root).manifest);
    } catch (error) {
      if (error instanceof Failure) return null;
      throw error;
    }
  }

  /** Returns what its manifest says about a workspace. */
  workspace(workspaceId: string): ManifestWorkspace | undefined {
    return this.#workspaces.get(workspaceId);
  }

  /** Reports whether its file is a copy of a source in this state. */
  isOf(path: string, state: string | null): boolean {
    return state !== null && this.#files.get(path)?.source_state === state;
  }

  /** Links a file if it is a copy of a source in this state and still good. Returns null otherwise. */
  take(path: string, state: string | null, to: string): ManifestFile | null {
    const file = this.#files.get(path);
    if (file === undefined || !this.isOf(path, state) || !this.#isGood(file)) return null;
    linkOrCopy(join(this.#root, path), to);
    return file;
  }

  /** Replaces a copy by a link to a file with the same content. Returns false when there is no such good file. */
  replace(path: string, digest: Digest, copy: string): boolean {
    const file = this.#files.get(path);
    if (file?.sha256 !== digest.sha256 || !this.#isGood(file)) return false;
    rmSync(copy);
    linkOrCopy(join(this.#root, path), copy);
    return true;
  }

  #isGood(file: ManifestFile): boolean {
    const path = join(this.#root, file.path);
    return existsSync(path) && digestOfFile(path).sha256 === file.sha256;
  }
}
