/** What is measured side by side: a running server that takes writes of the same payload. */
import type { Load } from "../wrk.ts";

export interface Peer extends AsyncDisposable {
  name: string;
  /** One sentence for the report: what a write does here, what it checks, and when it is on the disk. */
  does: string;
  /** Processor time of all the server's processes so far, seconds. */
  cpuSeconds(): number;
  /** Sends writes from this many clients. */
  write(clients: number, seconds: number): Promise<Load>;
  /** Sends batches of `size` writes; absent for a peer without batches. */
  batch?(clients: number, seconds: number, size: number): Promise<Load>;
}

/** Why a peer cannot be measured here. */
export class Unavailable extends Error {}

/** Waits until `check` returns true; an error counts as false. @throws {Error} after 30 seconds, with the last as cause */
export async function eventually(what: string, check: () => Promise<boolean>): Promise<void> {
  let last: unknown;
  for (const end = performance.now() + 30_000; performance.now() < end; await Bun.sleep(50)) {
    try {
      if (await check()) return;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`not within 30 seconds: ${what}`, { cause: last });
}
