/**
 * `bun scripts/fleet.ts DIRECTORY [--agents N] [--entries N] [--events N]`: makes a data directory of a large workspace
 * (100 agents, 50,000 entries, 1,000,000 events of the last 30 days) in about a minute, to try the dashboard on.
 */
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { makeFleet, WHOLE_FLEET } from "../test/web/support/fleet.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { agents: { type: "string" }, entries: { type: "string" }, events: { type: "string" } },
});
const [directory] = positionals;
if (directory === undefined || existsSync(directory)) {
  throw new Error("Name a directory that does not exist: bun scripts/fleet.ts DIRECTORY");
}
const numbers = Object.entries(values).map(([name, text]) => [name, Number(text)] as const);
if (numbers.some(([, number]) => !Number.isSafeInteger(number) || number < 1)) {
  throw new Error("Give numbers above 0.");
}
const { workspaceId, apiKey } = await makeFleet(directory, { ...WHOLE_FLEET, ...Object.fromEntries(numbers) });
console.log(`Workspace  ${workspaceId}
API key    ${apiKey}

  governd serve --data-dir ${directory}
  governd account link --workspace ${workspaceId} --data-dir ${directory}

The first command starts the daemon, the second makes a link that lets you in.`);
