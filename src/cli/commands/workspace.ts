/** `governd workspace create`, `governd workspace list` and `governd workspace delete`. */
import type { Command } from "commander";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { lockDataDirectory } from "../../core/datadir/lock.ts";
import { sealKeySource } from "../../core/datadir/seal-key.ts";
import { WITH_HEADS } from "../../core/rows/agents.ts";
import { readHead } from "../../core/writer/head.ts";
import { Failure } from "../../failure.ts";
import { createWorkspace as makeWorkspace } from "../../ops/directory/administration.ts";
import { deleteWorkspace } from "../../ops/directory/deletion.ts";
import { openLog } from "../../ops/directory/journal.ts";
import { findWorkspace, listWorkspaces } from "../../ops/directory/workspaces.ts";
import { ACTOR, administer, consultInstallation, dataDirectoryOf, requireNamedWorkspace } from "../data-directory.ts";
import { addCommonOptions, type Session, STORED } from "../session.ts";
import { moment, table } from "../terminal.ts";

export function addWorkspaceCommands(program: Command, session: Session): void {
  const workspace = program.command("workspace").description("create, list and delete workspaces");
  const create = workspace
    .command("create")
    .description("create a workspace and its first API key, which is shown only once")
    .requiredOption("--name <name>", "a name for people")
    .action((options: { name: string }) => createWorkspace(session, options));
  const list = workspace
    .command("list")
    .description("list all workspaces, oldest first")
    .action((options: object) => showWorkspaces(session, options));
  const remove = workspace
    .command("delete")
    .description("delete a workspace for good, while no daemon runs: without --yes, says what would be lost")
    .requiredOption("--workspace <id>", "the workspace")
    .option("--yes", "delete it")
    .action((options: DeleteOptions) => deleteForGood(session, options));
  addCommonOptions(create, [...STORED, "hostnames", "seal_key"]);
  addCommonOptions(list, [...STORED]);
  addCommonOptions(remove, [...STORED, "seal_key"]);
}

interface DeleteOptions {
  workspace: string;
  yes?: boolean;
}

async function deleteForGood(session: Session, options: DeleteOptions): Promise<void> {
  const { workspace: id } = options;
  const { settings, directory } = dataDirectoryOf(options);
  if (directory.server !== null) {
    throw new Failure("usage", "A workspace on a libSQL server cannot be deleted. Nothing was changed.");
  }
  if (!options.yes) return await showLoss(session, options, directory, id);
  using _ = lockDataDirectory(directory);
  const deleted = await administer(session, options, (parts) =>
    deleteWorkspace(parts, directory, sealKeySource(directory, settings.seal_key), id),
  );
  const { size, head, seal, auditId } = deleted;
  await session.print({ workspace_id: id, deleted: true, size, head, seal, audit_id: auditId }, [
    `Deleted ${id} with its ${size} events. The log of the installation has its last hash and its last seal:`,
    seal.trimEnd(),
  ]);
}

/** Says what a deletion would remove, and changes nothing. */
async function showLoss(session: Session, options: object, directory: DataDirectory, id: string): Promise<void> {
  await requireNamedWorkspace(options, id);
  const name = await consultInstallation(options, (log) => findWorkspace(log, id)?.name ?? "", "");
  using connection = openLog(directory, id);
  const count = (sql: string): number => connection.value<number>(sql) ?? 0;
  const events = readHead(connection).seq + 1;
  const agents = count("SELECT count(*) FROM agents WHERE agent_id IS NOT NULL");
  const entries = count(`SELECT coalesce(sum(h.entries), 0) FROM ${WITH_HEADS}`);
  await session.print({ workspace_id: id, name, deleted: false, agents, entries, events }, [
    `Would delete ${id} (${name}) for good: ${agents} agents with ${entries} entries, their configurations and checkpoints, and a log of ${events} events.`,
    "Its keys and memberships end at once. Its files are removed, and its id is never used again. Backups and exports stay.",
    "To delete it, stop the daemon and add --yes.",
  ]);
}

async function createWorkspace(session: Session, options: { name: string }): Promise<void> {
  const { workspaceId, apiKey } = await administer(
    session,
    options,
    (parts) => makeWorkspace(parts, ACTOR, options.name),
    { create: true },
  );
  await session.print({ workspace_id: workspaceId, api_key: apiKey }, [
    `Workspace  ${workspaceId}`,
    `API key    ${apiKey}`,
    "",
    "The key is shown only now. Send it as the header X-API-Key.",
  ]);
}

async function showWorkspaces(session: Session, options: object): Promise<void> {
  const data = (await consultInstallation(options, listWorkspaces, [])).map((record) => ({
    workspace_id: record.id,
    name: record.name,
    created_at: moment(record.createdAt),
    created_by: record.createdBy,
  }));
  const rows = data.map((item) => [item.workspace_id, item.created_at, item.name]);
  await session.print({ data }, table(["ID", "CREATED", "NAME"], rows, "There are no workspaces yet."));
}
