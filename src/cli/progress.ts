/** A progress bar on standard error. */

import { nextTurn } from "../timer.ts";
import type { Terminal } from "./terminal.ts";

const REDRAW_INTERVAL_MS = 100;
const BAR_CHARACTERS = 30;
const CLEAR_LINE = "\r\u001b[K";

/**
 * Draws the progress bar. Also yields to the event loop regularly, so that the work can be interrupted. Without a
 * terminal it only yields.
 */
export class Progress {
  readonly #shown: boolean;
  #nextMs = performance.now() + REDRAW_INTERVAL_MS;
  #drawn = false;

  constructor(
    private readonly terminal: Terminal,
    shown: boolean,
  ) {
    this.#shown = shown && terminal.interactive;
  }

  /** Reports progress. @param unit what is counted, for example "events" */
  async step(done: number, total: number, unit: string): Promise<void> {
    const now = performance.now();
    if (now < this.#nextMs) return;
    this.#nextMs = now + REDRAW_INTERVAL_MS;
    if (this.#shown) await this.#draw(done, total, unit);
    else await nextTurn();
  }

  /** Removes the bar. */
  async clear(): Promise<void> {
    if (this.#drawn) await this.terminal.err(CLEAR_LINE);
    this.#drawn = false;
  }

  async #draw(done: number, total: number, unit: string): Promise<void> {
    const part = total > 0 ? Math.min(1, done / total) : 0;
    const bar = "#".repeat(Math.round(part * BAR_CHARACTERS)).padEnd(BAR_CHARACTERS, ".");
    const percent = String(Math.floor(part * 100)).padStart(3);
    this.#drawn = true;
    await this.terminal.err(`${CLEAR_LINE}[${bar}] ${percent} %  ${done.toLocaleString("en")} ${unit}`);
  }
}
