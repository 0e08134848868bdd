/** Workspaces as the control database knows them: an id, a name, who made it and when. */
import type { Connection } from "../store/connection.ts";

/** Most characters (code points) in a workspace's name or a key's label. */
export const NAME_MAX_CHARACTERS = 256;

/** U+0000 to U+001F and U+007F to U+009F: they would disturb a terminal or a log. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/;

export interface WorkspaceRecord {
  id: string;
  name: string;
  createdAt: number;
  createdBy: string;
}

/** What is wrong with a name or label, to stand after the word "must", or null when it is fine. */
export function nameProblem(name: string): string | null {
  const { length } = [...name];
  if (name.trim() === "" || length > NAME_MAX_CHARACTERS) return `be 1 to ${NAME_MAX_CHARACTERS} characters`;
  if (CONTROL_CHARACTERS.test(name)) return "have no control characters";
  if (!name.isWellFormed()) return "be valid Unicode";
  return null;
}

export function insertWorkspace(connection: Connection, record: WorkspaceRecord): void {
  connection.run("INSERT INTO workspaces (id, name, created_at, created_by) VALUES (?, ?, ?, ?)", [
    record.id,
    record.name,
    record.createdAt,
    record.createdBy,
  ]);
}

type WorkspaceRow = readonly [id: string, name: string, createdAt: number, createdBy: string];

function fromRow([id, name, createdAt, createdBy]: WorkspaceRow): WorkspaceRecord {
  return { id, name, createdAt, createdBy };
}

/** All workspaces, oldest first. */
export function listWorkspaces(connection: Connection): WorkspaceRecord[] {
  return connection
    .all<WorkspaceRow>("SELECT id, name, created_at, created_by FROM workspaces ORDER BY created_at, id")
    .map(fromRow);
}

export function countWorkspaces(connection: Connection): number {
  return connection.get<[number]>("SELECT count(*) FROM workspaces")?.[0] ?? 0;
}

/** One workspace, or undefined. */
export function findWorkspace(connection: Connection, id: string): WorkspaceRecord | undefined {
  const row = connection.get<WorkspaceRow>(
    "SELECT id, name, created_at, created_by FROM workspaces WHERE id = ?",
    [id],
  );
  return row && fromRow(row);
}
