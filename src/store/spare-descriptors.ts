/** Waiting for file descriptors, which a burst of connections may have taken (http/descriptor-reserve.ts). */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** What opening a workspace takes: its database, its log, the index of that, its seals, and files open for a moment. */
const WANTED = 6;
/** Connections are closed within one turn of the main thread. */
const PATIENCE_MS = 3_000;
const PAUSE_MS = 10;

/** Whether the process may open some more files now. */
export function hasDescriptors(): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < WANTED) opened.push(openSync(devNull, "r"));
    return true;
  } catch {
    return false;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** Waits until the process may open some more files, but not for long. `ask` is called to have some released. */
export async function untilDescriptors(ask: () => void): Promise<void> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && !hasDescriptors(); waitedMs += PAUSE_MS) {
    ask();
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
