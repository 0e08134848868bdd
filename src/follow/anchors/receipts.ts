/**
 * Stores which seal of a workspace each target accepted last, in one small file per workspace, so that it is known after
 * a restart. A receipt is not evidence: the proof of an anchor is at the target. When a file is lost or truncated,
 * nothing is known until the next delivery.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { anchorFile } from "../../core/datadir/layout.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { systemCode } from "../../failure.ts";

/** The newest seal that a target accepted. */
export interface AnchorReceipt {
  /** The number of events that it covers. */
  size: number;
  /** When it was made, ms since the epoch. */
  sealedMs: number;
  /** When the target accepted it. */
  takenMs: number;
}

/** Receipts by the name of the target. */
type AnchorReceiptsOf = Readonly<Record<string, AnchorReceipt>>;

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

export class AnchorReceipts {
  /** Files are written one after another. */
  readonly #queue = new SerialQueue();
  #made = false;

  constructor(private readonly directory: string) {}

  async of(workspaceId: string): Promise<AnchorReceiptsOf> {
    try {
      return parsed(await readFile(this.#path(workspaceId), "utf8"));
    } catch (error) {
      if (systemCode(error) === "ENOENT") return {};
      throw error;
    }
  }

  /** Stores that a target accepted a seal. @throws the system's error when the file cannot be written */
  keep(workspaceId: string, target: string, receipt: AnchorReceipt): Promise<void> {
    return this.#queue.run(() => this.#write(workspaceId, target, receipt));
  }

  async #write(workspaceId: string, target: string, receipt: AnchorReceipt): Promise<void> {
    if (!this.#made) await mkdir(this.directory, { recursive: true, mode: DIRECTORY_MODE });
    this.#made = true;
    const all = { ...(await this.of(workspaceId)), [target]: receipt };
    const path = this.#path(workspaceId);
    await writeFile(`${path}.new`, JSON.stringify(all), { mode: FILE_MODE });
    await rename(`${path}.new`, path);
  }

  #path(workspaceId: string): string {
    return anchorFile({ anchors: this.directory }, workspaceId);
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
