/** A data directory with workspaces in it, as the command line and clients fill one. */
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type DataDirectory, dataDirectory, presentWorkspaces } from "../../src/core/datadir/layout.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import type { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { systemClock } from "../../src/ids.ts";
import { writeData } from "../../src/ops/data/write.ts";
import { withWriter } from "../../src/ops/directory/journal.ts";
import { filesReleased } from "../released.ts";
import { administer } from "../support/administration.ts";
import { inMemory } from "../temporary.ts";

/** Workspaces whose closed files may be open together. */
const RELEASED_AFTER = 50;

/** The key whose holder wrote the entries. Nobody has to know it any more. */
const AUTHOR = "key_01h455vb4pex5vsknk084sn02q";

export class FilledDirectory implements Disposable {
  readonly #home = mkdtempSync(join(inMemory(), "governd-test-"));
  readonly data: DataDirectory = dataDirectory(join(this.#home, "data"));
  readonly ids: string[] = [];
  readonly keys: string[] = [];

  /** A path beside the data directory. */
  join(...names: string[]): string {
    return join(this.#home, ...names);
  }

  /** The id of the log of the installation. */
  get installation(): string {
    return presentWorkspaces(this.data).find((id) => !this.ids.includes(id)) ?? "";
  }

  get destination(): string {
    return this.join("backups");
  }

  static async make(workspaces = 2): Promise<FilledDirectory> {
    // As every command does first.
    process.umask(0o077);
    const directory = new FilledDirectory();
    await administer(directory.data.root, async (administration) => {
      for (let i = 0; i < workspaces; i++) {
        const { workspace, apiKey } = await administration.createWorkspace(`workspace ${i}`);
        directory.ids.push(workspace.id);
        directory.keys.push(apiKey);
        if (i % RELEASED_AFTER === RELEASED_AFTER - 1) await filesReleased(directory.data.workspaces);
      }
    });
    await filesReleased(directory.data.root);
    return directory;
  }

  /** Writes entries into a workspace and seals them. */
  async write(workspaceId: string, count = 3, prefix = "key", clock = systemClock): Promise<void> {
    const write = async (writer: WorkspaceWriter) => {
      await writer.perform(
        Array.from({ length: count }, (_, i) => ({
          operation: "data.write",
          principal: { actor: AUTHOR, workspaceId, scope: "full" as const, agents: null },
          run: (tx, context) =>
            writeData(tx, context, { agentId: "alpha", key: `${prefix}/${i}`, value: `value ${i}`, metadata: {} }),
        })),
      );
      await writer.seal();
    };
    await withWriter(this.data, sealKeySource(this.data, null), workspaceId, write, { clock });
    await filesReleased(this.data.root);
  }

  /** The newest lines of a workspace's file of seals, as an auditor keeps them. */
  keepSeals(workspaceId: string, name: string): string {
    const path = this.join(name);
    cpSync(join(this.data.seals, `${workspaceId}.log`), path);
    return path;
  }

  text(...names: string[]): string {
    return readFileSync(this.join(...names), "utf8");
  }

  [Symbol.dispose](): void {
    rmSync(this.#home, { recursive: true, force: true });
  }
}
