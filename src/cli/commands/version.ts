/** `governd version`. */
import type { Command } from "commander";
import { VERSION } from "../../version.ts";
import type { Session } from "../session.ts";
import { printResult } from "../terminal.ts";

export function addVersion(program: Command, { terminal }: Session): void {
  program
    .command("version")
    .description("print the version")
    .option("--json", "print JSON")
    .action(({ json = false }: { json?: boolean }) =>
      printResult(terminal, json, { version: VERSION }, [`governd ${VERSION}`]),
    );
}
