/** One run of one command. */
import type { Terminal } from "./terminal.ts";

/** What every command gets: where to write, and where to leave an exit code other than 0. */
export interface Session {
  terminal: Terminal;
  exitCode: number;
}
