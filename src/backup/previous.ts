/**
 * The backup before: what did not change since is not copied again, but gets a second name. Its bytes are
 * compared with its manifest first, so that a file that went bad on the disk is not handed on.
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

  /** The backup in this directory; null when its manifest cannot be read, and then nothing is taken from it. */
  static read(root: string): PreviousBackup | null {
    try {
      return new PreviousBackup(root, readManifest(root).manifest);
    } catch (error) {
      if (error instanceof Failure) return null;
      throw error;
    }
  }

  /** What it says of a workspace. */
  workspace(workspaceId: string): ManifestWorkspace | undefined {
    return this.#workspaces.get(workspaceId);
  }

  /** Whether its file is of a source in this very state. */
  isOf(path: string, state: string | null): boolean {
    return state !== null && this.#files.get(path)?.source_state === state;
  }

  /** Takes a file over, if it is of a source in this state and still good. */
  take(path: string, state: string | null, to: string): ManifestFile | null {
    const file = this.#files.get(path);
    if (file === undefined || !this.isOf(path, state) || !this.#isGood(file)) return null;
    linkOrCopy(join(this.#root, path), to);
    return file;
  }

  /** Puts its file in the place of a copy with the same content. False when it has none, or not a good one. */
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
