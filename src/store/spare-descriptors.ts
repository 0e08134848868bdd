/** Waits for file descriptors when a burst of connections has used them all (serve/http/descriptor-reserve.ts). */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/**
 * The descriptors to open a workspace: its database, the write-ahead log, the log's index, the seals, and temporary
 * ones.
 */
const WANTED = 6;
/** How long to wait, ms. The main thread closes connections within one turn of its event loop. */
const PATIENCE_MS = 3_000;
const PAUSE_MS = 10;

/** Whether the process may open {@link WANTED} more files now. */
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

/**
 * Waits until the process may open more files, at most {@link PATIENCE_MS}. Calls `ask` to have descriptors released.
 */
export async function untilDescriptors(ask: () => void): Promise<void> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && !hasDescriptors(); waitedMs += PAUSE_MS) {
    ask();
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
