/**
 * Which seal of a workspace each sink has taken last: a small file for each workspace, so that it is
 * known after a restart, too. It is a note and no evidence: what proves an anchor is with the sink. A
 * file that is lost or cut off means that nothing is known until the next delivery.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The newest seal that a sink has. */
export interface AnchorReceipt {
  /** Events that it covers. */
  size: number;
  /** When it was made, ms since the epoch. */
  sealedMs: number;
  /** When the sink took it. */
  takenMs: number;
}

/** By the sink's name. */
export type AnchorReceiptsOf = Readonly<Record<string, AnchorReceipt>>;

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

export class AnchorReceipts {
  readonly #directory: string;
  /** Files are written one after another. */
  #turn: Promise<void> = Promise.resolve();
  #made = false;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** What is known of a workspace. */
  async of(workspaceId: string): Promise<AnchorReceiptsOf> {
    let text: string;
    try {
      text = await readFile(this.#path(workspaceId), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw error;
    }
    return parsed(text);
  }

  /** Notes that a sink has taken a seal. @throws the system's error when it cannot be written */
  keep(workspaceId: string, sink: string, receipt: AnchorReceipt): Promise<void> {
    const done = this.#turn.then(() => this.#write(workspaceId, sink, receipt));
    this.#turn = done.catch(() => {});
    return done;
  }

  async #write(workspaceId: string, sink: string, receipt: AnchorReceipt): Promise<void> {
    if (!this.#made) await mkdir(this.#directory, { recursive: true, mode: DIRECTORY_MODE });
    this.#made = true;
    const all = { ...(await this.of(workspaceId)), [sink]: receipt };
    const path = this.#path(workspaceId);
    await writeFile(`${path}.new`, JSON.stringify(all), { mode: FILE_MODE });
    await rename(`${path}.new`, path);
  }

  #path(workspaceId: string): string {
    return join(this.#directory, `${workspaceId}.json`);
  }
}

function parsed(text: string): AnchorReceiptsOf {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return {};
  }
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter(([, one]) => isReceipt(one)));
}

function isReceipt(value: unknown): value is AnchorReceipt {
  if (typeof value !== "object" || value === null) return false;
  const { size, sealedMs, takenMs } = value as Record<string, unknown>;
  return [size, sealedMs, takenMs].every((number) => Number.isSafeInteger(number));
}
