/** Workspaces in the control database. */
import { Failure } from "../../failure.ts";
import type { Connection } from "../../store/connection.ts";
import { countOf, Table } from "./table.ts";

/** The longest name of a workspace or label of a key, in code points. */
const NAME_MAX_CHARACTERS = 256;

/** U+0000 to U+001F and U+007F to U+009F, which would garble a terminal or a log. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters on purpose
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/;

export interface WorkspaceRecord {
  id: string;
  name: string;
  createdAt: number;
  createdBy: string;
  /** Since when members need a second factor to use the workspace; null when they need none. */
  secondFactorSince: number | null;
}

export const WORKSPACES = new Table<WorkspaceRecord>("workspaces", {
  id: "id",
  name: "name",
  createdAt: "created_at",
  createdBy: "created_by",
  secondFactorSince: "second_factor_since",
});

/**
 * The creator of the log of the installation in `workspaces` and in its first event. The log has the form of a
 * workspace without agents. No workspace has this creator, which distinguishes the log from workspaces.
 */
export const INSTALLATION_CREATOR = "system";
const INSTALLATION_NAME = "Installation";

/**
 * SQL: the condition that a row of `workspaces` is the log of the installation. No other table in a query may have this
 * column.
 */
export const OF_INSTALLATION = `created_by = '${INSTALLATION_CREATOR}'`;

/** Returns the record of a new log of the installation. */
export const installationRecord = (id: string, createdAt: number): WorkspaceRecord => ({
  id,
  name: INSTALLATION_NAME,
  createdAt,
  createdBy: INSTALLATION_CREATOR,
  secondFactorSince: null,
});

/** Returns the log of the installation; undefined before its first event. */
export const findInstallation = (connection: Connection): WorkspaceRecord | undefined =>
  WORKSPACES.find(connection, `WHERE ${OF_INSTALLATION}`, []);

/** Returns the rule that a name or label breaks, to follow the word "must" in a message; null when it is valid. */
export function nameProblem(name: string): string | null {
  const { length } = [...name];
  if (name.trim() === "" || length > NAME_MAX_CHARACTERS) return `be 1 to ${NAME_MAX_CHARACTERS} characters`;
  if (CONTROL_CHARACTERS.test(name)) return "have no control characters";
  if (!name.isWellFormed()) return "be valid Unicode";
  return null;
}

/** Returns all workspaces, oldest first. */
export function listWorkspaces(connection: Connection): WorkspaceRecord[] {
  return WORKSPACES.list(connection, `WHERE NOT ${OF_INSTALLATION} ORDER BY created_at, id`);
}

/** Returns the workspaces and the log of the installation, oldest first. Each has a file and seals. */
export function listLogs(connection: Connection): WorkspaceRecord[] {
  return WORKSPACES.list(connection, "ORDER BY created_at, id");
}

export function countWorkspaces(connection: Connection): number {
  return countOf(connection, `SELECT count(*) FROM workspaces WHERE NOT ${OF_INSTALLATION}`);
}

export function findWorkspace(connection: Connection, id: string): WorkspaceRecord | undefined {
  return WORKSPACES.find(connection, "WHERE id = ?", [id]);
}

/** Reports whether a workspace with this id exists. The log of the installation is not a workspace. */
export const isWorkspace = (connection: Connection, id: string): boolean =>
  (findWorkspace(connection, id)?.createdBy ?? INSTALLATION_CREATOR) !== INSTALLATION_CREATOR;

/** @throws {Failure} `not_found` when there is no such workspace. The log of the installation is not a workspace. */
export function requireWorkspace(connection: Connection, id: string): void {
  if (!isWorkspace(connection, id)) throw noSuchWorkspace();
}

/** @throws {Failure} `not_found` when the id is neither that of a workspace nor that of the log of the installation */
export function requireLog(connection: Connection, id: string): void {
  if (findWorkspace(connection, id) === undefined) throw noSuchWorkspace();
}

export const noSuchWorkspace = (): Failure =>
  new Failure("not_found", "There is no such workspace. `governd workspace list` lists all workspaces.");
