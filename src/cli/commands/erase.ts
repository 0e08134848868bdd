/** `governd erase`: data out of a workspace for good, beside a running daemon or without one. */
import type { Command } from "commander";
import { cliPrincipal, requireWorkspace, sealOrSay, withWriter } from "../../daemon/recorder.ts";
import { sealKeySource } from "../../datadir/seal-key.ts";
import { Failure } from "../../failure.ts";
import { eraseData } from "../../features/data/erase.ts";
import { loadSettings } from "../../settings/load.ts";
import { directoryOf } from "../administer.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { printResult } from "../terminal.ts";

interface EraseOptions {
  workspace: string;
  agent: string;
  key?: string;
  prefix?: string;
  json?: boolean;
}

const DESCRIPTION = `erase data for good

The entries are gone from the present and from every checkpoint, and the details of every audit event
about them are destroyed. The events stand, and the log still verifies. This cannot be undone, and
copies elsewhere (backups, exports) are not reached.`;

export function addErase(program: Command, session: Session): void {
  const erase = program
    .command("erase")
    .summary("erase data for good, from checkpoints and the log's details too")
    .description(DESCRIPTION)
    .requiredOption("--workspace <id>", "the workspace")
    .requiredOption("--agent <id>", "whose data it is")
    .option("--key <key>", "the entry's key")
    .option("--prefix <prefix>", "or what the keys begin with")
    .option("--json", "print JSON")
    .action((options: EraseOptions) => runErase(session, options));
  addSettingOptions(erase, ["data_dir", "encryption_key_file", "seal_key"]);
}

async function runErase({ terminal }: Session, options: EraseOptions): Promise<void> {
  const target = targetOf(options);
  const { settings } = loadSettings(settingFlags({ ...options }));
  const directory = directoryOf(settings);
  requireWorkspace(directory, options.workspace);
  const key = sealKeySource(directory, settings.seal_key);
  const answer = await withWriter(directory, key, options.workspace, async (writer) => {
    const [settled] = await writer.perform([
      {
        operation: "data.erase",
        principal: cliPrincipal(options.workspace),
        run: (tx, context) => eraseData(tx, context, { agentId: options.agent, ...target }),
      },
    ]);
    await sealOrSay(writer, terminal);
    return settled?.answer;
  });
  if (answer?.kind === "problem") {
    throw new Failure(answer.code === "entry_not_found" ? "not_found" : "busy", answer.detail);
  }
  const body = JSON.parse(answer?.kind === "json" ? answer.body : "{}") as Record<string, unknown>;
  await printResult(terminal, options.json ?? false, body, [
    `Erased ${body.deleted} entries, and the details of ${body.erased_events} events. Recorded as ${body.audit_id}.`,
  ]);
}

function targetOf({ key, prefix }: EraseOptions): { key: string } | { prefix: string } {
  if (key !== undefined && prefix === undefined && key !== "") return { key };
  if (prefix !== undefined && key === undefined && prefix !== "") return { prefix };
  throw new Failure("usage", "Name what to erase: either --key or --prefix, and not empty.");
}
