/** `governd workspace create` and `governd workspace list`. */
import type { Command } from "commander";
import { listWorkspaces } from "../../ops/directory/workspaces.ts";
import { administer, consult } from "../data-directory.ts";
import { addCommonOptions, type Session, STORED } from "../session.ts";
import { moment, table } from "../terminal.ts";

export function addWorkspaceCommands(program: Command, session: Session): void {
  const workspace = program.command("workspace").description("create and list workspaces");
  const create = workspace
    .command("create")
    .description("create a workspace and its first API key, which is shown only once")
    .requiredOption("--name <name>", "a name for people")
    .action((options: { name: string }) => createWorkspace(session, options));
  const list = workspace
    .command("list")
    .description("list all workspaces, oldest first")
    .action((options: object) => showWorkspaces(session, options));
  addCommonOptions(create, [...STORED, "hostnames", "seal_key"]);
  addCommonOptions(list, [...STORED]);
}

async function createWorkspace(session: Session, options: { name: string }): Promise<void> {
  const { workspace, apiKey } = await administer(
    session,
    options,
    (administration) => administration.createWorkspace(options.name),
    { create: true },
  );
  await session.print({ workspace_id: workspace.id, api_key: apiKey }, [
    `Workspace  ${workspace.id}`,
    `API key    ${apiKey}`,
    "",
    "The key is shown only now. Send it as the header X-API-Key.",
  ]);
}

async function showWorkspaces(session: Session, options: object): Promise<void> {
  const data = (await consult(options, ({ connection }) => listWorkspaces(connection))).map((record) => ({
    workspace_id: record.id,
    name: record.name,
    created_at: moment(record.createdAt),
    created_by: record.createdBy,
  }));
  const rows = data.map((item) => [item.workspace_id, item.created_at, item.name]);
  await session.print({ data }, table(["ID", "CREATED", "NAME"], rows, "There are no workspaces yet."));
}
