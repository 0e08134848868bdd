/** Progress on standard error: a bar on a terminal, and lines elsewhere for commands that may take hours. */

import { nextTurn } from "../timer.ts";
import type { Terminal } from "./terminal.ts";

const REDRAW_INTERVAL_MS = 100;
const BAR_CHARACTERS = 30;
const CLEAR_LINE = "\r\u001b[K";

/** The time between lines of progress without a terminal, ms. */
export const LINE_INTERVAL_MS = 10_000;

/** How progress is shown. */
interface Shown {
  /** A bar, on a terminal. */
  bar: boolean;
  /** Without a terminal, the time between lines, ms; absent for no lines. */
  linesEveryMs?: number;
}

/** Shows progress. Also yields to the event loop regularly, so that the work can be interrupted. */
export class Progress {
  readonly #bar: boolean;
  readonly #linesEveryMs: number;
  #nextMs = performance.now() + REDRAW_INTERVAL_MS;
  #nextLineMs: number;
  #drawn = false;

  constructor(
    private readonly terminal: Terminal,
    { bar, linesEveryMs = Number.POSITIVE_INFINITY }: Shown,
  ) {
    this.#bar = bar && terminal.interactive;
    this.#linesEveryMs = terminal.interactive ? Number.POSITIVE_INFINITY : linesEveryMs;
    this.#nextLineMs = performance.now() + this.#linesEveryMs;
  }

  /** Reports progress; `total` null if nobody knows it. @param unit what is counted, for example "events" */
  async step(done: number, total: number | null, unit: string): Promise<void> {
    const now = performance.now();
    if (now < this.#nextMs) return;
    this.#nextMs = now + REDRAW_INTERVAL_MS;
    if (this.#bar) await this.#draw(done, total, unit);
    else if (now >= this.#nextLineMs) {
      this.#nextLineMs = now + this.#linesEveryMs;
      await this.terminal.err(`${shown(done)}${total === null ? "" : ` of ${shown(total)}`} ${unit}\n`);
    } else await nextTurn();
  }

  /** Removes the bar. */
  async clear(): Promise<void> {
    if (this.#drawn) await this.terminal.err(CLEAR_LINE);
    this.#drawn = false;
  }

  async #draw(done: number, total: number | null, unit: string): Promise<void> {
    if (total === null) {
      this.#drawn = true;
      return await this.terminal.err(`${CLEAR_LINE}${shown(done)} ${unit}`);
    }
    const part = total > 0 ? Math.min(1, done / total) : 0;
    const bar = "#".repeat(Math.round(part * BAR_CHARACTERS)).padEnd(BAR_CHARACTERS, ".");
    const percent = String(Math.floor(part * 100)).padStart(3);
    this.#drawn = true;
    await this.terminal.err(`${CLEAR_LINE}[${bar}] ${percent} %  ${shown(done)} ${unit}`);
  }
}

const shown = (count: number): string => count.toLocaleString("en");
