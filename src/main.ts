#!/usr/bin/env bun
/** Runs the command line and exits with its exit code. */
import { tmpdir } from "node:os";
import { useRuntimeSettings } from "./cli/runtime-settings.ts";

/** Imports the program. This also loads libSQL's native part, which the binary unpacks first. */
async function load(): Promise<typeof import("./cli/program.ts")> {
  try {
    return await import("./cli/program.ts");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_DLOPEN_FAILED")) throw error;
    console.error(
      `governd: Cannot load libSQL's native part from ${tmpdir()}. ` +
        "Set TMPDIR to a directory that governd can write to and run programs from.",
    );
    process.exit(2);
  }
}

const words = process.argv.slice(2);
// Before the program is loaded, since this may start it once more.
if (words[0] === "serve") useRuntimeSettings();
const { run } = await load();
process.exit(await run(words));
