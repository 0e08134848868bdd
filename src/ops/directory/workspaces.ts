/**
 * The workspaces of an installation, as its file has them: the rows that the events of its log state. The installation is one
 * of them in form: its file has a log, but no agents.
 */
import { Failure } from "../../failure.ts";
import { SYSTEM } from "../../log/event.ts";
import type { Connection } from "../../store/connection.ts";

/** The longest name of a workspace or label of a key, in code points. */
const NAME_MAX_CHARACTERS = 256;

/** U+0000 to U+001F and U+007F to U+009F, which would garble a terminal or a log. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters on purpose
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/;

interface WorkspaceRecord {
  id: string;
  name: string;
  /** ms since the Unix epoch. */
  createdAt: number;
  /** `cli` or `usr_…`; {@link INSTALLATION_CREATOR} for the installation. */
  createdBy: string;
}

/** The creator of the log of the installation, as its first event states it. No workspace has this creator. */
export const INSTALLATION_CREATOR = SYSTEM;
/** The name of the installation. */
export const INSTALLATION_NAME = "Installation";

const WORKSPACE = `SELECT w.id, w.name, a.timestamp, coalesce(w.founder, 'cli') FROM workspaces w
  JOIN events a ON a.seq = w.added_seq WHERE w.deleted_seq IS NULL`;

type WorkspaceRow = [id: string, name: string, createdAt: string, createdBy: string];

const workspaceOf = ([id, name, createdAt, createdBy]: WorkspaceRow): WorkspaceRecord => ({
  ...{ id, name, createdAt: Date.parse(createdAt), createdBy },
});

/** Returns the record of the installation. @param connection of its file, as for all functions here */
function installationIn(connection: Connection): WorkspaceRecord {
  const sql = "SELECT h.workspace_id, e.timestamp FROM head h JOIN events e ON e.seq = 0";
  const [id, createdAt] = connection.get<[string, string]>(sql) as [string, string];
  return { id, name: INSTALLATION_NAME, createdAt: Date.parse(createdAt), createdBy: INSTALLATION_CREATOR };
}

/** Returns the rule that a name or label breaks, to follow the word "must" in a message; null when it is valid. */
export function nameProblem(name: string): string | null {
  const { length } = [...name];
  if (name.trim() === "" || length > NAME_MAX_CHARACTERS) return `be 1 to ${NAME_MAX_CHARACTERS} characters`;
  if (CONTROL_CHARACTERS.test(name)) return "have no control characters";
  if (!name.isWellFormed()) return "be valid Unicode";
  return null;
}

/** Returns all workspaces, oldest first, without deleted ones. */
export const listWorkspaces = (connection: Connection): WorkspaceRecord[] =>
  connection.all<WorkspaceRow>(`${WORKSPACE} ORDER BY w.added_seq`).map(workspaceOf);

/** Returns the ids of the workspaces that were deleted. */
export const listDeleted = (connection: Connection): string[] =>
  connection.all<[string]>("SELECT id FROM workspaces WHERE deleted_seq IS NOT NULL ORDER BY id").flat();

/** Returns the ids of the installation and of all workspaces, oldest first. Each has a file and seals. */
export const listLogIds = (connection: Connection): string[] =>
  [installationIn(connection), ...listWorkspaces(connection)].map(({ id }) => id);

/** Returns how many workspaces an account has made, with those that were deleted. */
export const countFounded = (connection: Connection, accountId: string): number =>
  connection.value<number>("SELECT count(*) FROM workspaces WHERE founder = ?", [accountId]) ?? 0;

export const countWorkspaces = (connection: Connection): number =>
  connection.value<number>("SELECT count(*) FROM workspaces WHERE deleted_seq IS NULL") ?? 0;

/** Returns a workspace, or the installation, by its id; undefined for one that was deleted. */
export function findWorkspace(connection: Connection, id: string): WorkspaceRecord | undefined {
  const row = connection.get<WorkspaceRow>(`${WORKSPACE} AND w.id = ?`, [id]);
  if (row !== undefined) return workspaceOf(row);
  const installation = installationIn(connection);
  return installation.id === id ? installation : undefined;
}

/** Reports whether a workspace with this id exists. The installation is not a workspace. */
export const isWorkspace = (connection: Connection, id: string): boolean =>
  connection.get("SELECT 1 FROM workspaces WHERE id = ? AND deleted_seq IS NULL", [id]) !== undefined;

/** @throws {Failure} `not_found` when there is no such workspace. The installation is not a workspace. */
export function requireWorkspace(connection: Connection, id: string): void {
  if (!isWorkspace(connection, id)) throw noSuchWorkspace();
}

export const noSuchWorkspace = (): Failure =>
  new Failure("not_found", "There is no such workspace. `governd workspace list` lists all workspaces.");
