/** `governd erase`: erases data from a workspace for good, with or without a running daemon. */

import type { Command } from "commander";
import { wholeText } from "../../core/long-text.ts";
import { Failure } from "../../failure.ts";
import { eraseData } from "../../ops/data/operations.ts";
import { dataDirectoryOf, performSealed, scrubLog, writeWorkspace } from "../data-directory.ts";
import { addCommonOptions, type Session, STORED } from "../session.ts";

interface EraseOptions {
  workspace: string;
  agent: string;
  key?: string;
  prefix?: string;
}

const DESCRIPTION = `erase data for good

Removes the entries from the present and from every checkpoint, and destroys the details of every audit
event about them. The events stay, and the log still verifies. This cannot be undone, and does not reach
copies elsewhere (backups, exports).`;

const ON_A_SERVER =
  "The disks of the libSQL server and of other nodes may still hold it: docs/scaling.md says how to get rid of that.";

export function addErase(program: Command, session: Session): void {
  const erase = program
    .command("erase")
    .summary("erase data for good, also from checkpoints and from the log's details")
    .description(DESCRIPTION)
    .requiredOption("--workspace <id>", "the workspace")
    .requiredOption("--agent <id>", "the agent that the data belongs to")
    .option("--key <key>", "the key of the entry")
    .option("--prefix <prefix>", "or the prefix of the keys")
    .action((options: EraseOptions) => runErase(session, options));
  addCommonOptions(erase, [...STORED, "seal_key"]);
}

async function runErase(session: Session, options: EraseOptions): Promise<void> {
  const target = targetOf(options);
  const answer = await writeWorkspace(options, options.workspace, async (writer) => {
    const reply = await performSealed(session, writer, {
      operation: "data.erase",
      run: (reader, context) => eraseData(reader, context, { agentId: options.agent, ...target }),
    });
    return reply?.answer;
  });
  if (answer?.kind === "problem") {
    throw new Failure(answer.code === "entry_not_found" ? "not_found" : "busy", answer.detail);
  }
  await scrubLog(options, options.workspace);
  const body = JSON.parse(answer?.kind === "json" ? wholeText(answer.body) : "{}") as Record<string, unknown>;
  await session.print(body, [
    `Erased ${body.deleted} entries and the details of ${body.erased_events} events. Recorded as ${body.audit_id}.`,
    ...(dataDirectoryOf(options).directory.server === null ? [] : [ON_A_SERVER]),
  ]);
}

function targetOf({ key, prefix }: EraseOptions): { key: string } | { prefix: string } {
  if (key !== undefined && prefix === undefined && key !== "") return { key };
  if (prefix !== undefined && key === undefined && prefix !== "") return { prefix };
  throw new Failure("usage", "Say what to erase: give either --key or --prefix. It must not be empty.");
}
