/** `governd verify`. */
import type { Command } from "commander";
import type { Session } from "./program.ts";

export function addVerify(_program: Command, _session: Session): void {}
