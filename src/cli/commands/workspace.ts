/** `governd workspace create` and `governd workspace list`. */
import type { Command } from "commander";
import { listWorkspaces } from "../../control/workspaces.ts";
import { administer, consult, moment } from "../administer.ts";
import { addSettingOptions } from "../options.ts";
import type { Session } from "../session.ts";
import { columns, printResult } from "../terminal.ts";

interface CreateOptions {
  name: string;
  json?: boolean;
}

export function addWorkspaceCommands(program: Command, session: Session): void {
  const workspace = program.command("workspace").description("make and list workspaces");
  const create = workspace
    .command("create")
    .description("make a workspace and its first API key, which is shown this once")
    .requiredOption("--name <name>", "its name, for people")
    .option("--json", "print JSON")
    .action((options: CreateOptions) => createWorkspace(session, options));
  const list = workspace
    .command("list")
    .description("list all workspaces, oldest first")
    .option("--json", "print JSON")
    .action((options: { json?: boolean }) => showWorkspaces(session, options));
  addSettingOptions(create, ["data_dir", "encryption_key_file", "hostnames", "seal_key"]);
  addSettingOptions(list, ["data_dir", "encryption_key_file"]);
}

async function createWorkspace({ terminal }: Session, options: CreateOptions): Promise<void> {
  const made = await administer(
    { ...options },
    (administration) => administration.createWorkspace(options.name),
    {
      first: true,
    },
  );
  const { workspace, apiKey } = made;
  await printResult(terminal, options.json ?? false, { workspace_id: workspace.id, api_key: apiKey }, [
    `Workspace  ${workspace.id}`,
    `API key    ${apiKey}`,
    "",
    "The key is shown only now. Send it as the header X-API-Key.",
  ]);
}

async function showWorkspaces({ terminal }: Session, options: { json?: boolean }): Promise<void> {
  const data = consult({ ...options }, ({ connection }) => listWorkspaces(connection)).map((record) => ({
    workspace_id: record.id,
    name: record.name,
    created_at: moment(record.createdAt),
    created_by: record.createdBy,
  }));
  const rows = data.map((item) => [item.workspace_id, item.created_at, item.name]);
  const lines =
    rows.length === 0 ? ["There are no workspaces yet."] : columns([["ID", "CREATED", "NAME"], ...rows]);
  await printResult(terminal, options.json ?? false, { data }, lines);
}
