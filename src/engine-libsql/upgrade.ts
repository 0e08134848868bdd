/**
 * Upgrades a database on a server to the schema of this version of governd. The migrations run on a copy, and their
 * changes are sent as one commit, so a node that is killed leaves the namespace either as it was or upgraded. When
 * another node writes to the namespace or upgrades it meanwhile, the upgrade begins again. A node of an older version
 * then finds a schema that it does not know, and stops writing.
 */
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { RandomPool } from "../ids.ts";
import { type Connection, openConnection } from "../store/connection.ts";
import { migrate, newestSchema } from "../store/migrate.ts";
import { removeDatabase } from "../store/remove.ts";
import { copyDatabase } from "../store/snapshot.ts";
import { COMMITS_TABLE, EVERYTHING } from "./commits.ts";
import { changesOf, withBase } from "./differences.ts";
import { ServerUnavailable } from "./namespace.ts";
import { type PullParts, pullAsIs } from "./pull.ts";
import type { Statement } from "./server.ts";
import { type ReplicatedTable, readTables, statementsOf, type TableChanges } from "./tables.ts";

/** How often an upgrade is tried when other nodes write to the namespace. */
const MOST_RACES = 20;

interface UpgradeParts extends PullParts {
  /** The path of the working copy. The upgrade makes its temporary files beside it. */
  path: string;
}

/** Upgrades a namespace, unless it is up to date, newer or empty. @throws {ServerUnavailable} */
export async function upgrade(parts: UpgradeParts): Promise<void> {
  for (let races = 1; ; races++) {
    const state = await parts.namespace.state();
    if (state === null || state.format >= newestSchema(parts.migrations)) return;
    if ((await upgradeOnce(parts)) === "committed") return;
    await parts.namespace.settled();
    if (races === MOST_RACES) throw new ServerUnavailable("other nodes change the same data all the time");
  }
}

async function upgradeOnce(parts: UpgradeParts) {
  const { namespace, migrations, encryptionKey } = parts;
  removeLeftovers(parts.path);
  const before = `${parts.path}${MARK}${process.pid}-${new RandomPool().take(6).toHex()}`;
  const after = `${before}-after`;
  try {
    const { number, format } = await pullAsIs(before, parts);
    const newest = newestSchema(migrations);
    if (format >= newest) return "committed";
    copyDatabase(before, after, encryptionKey);
    using connection = openConnection(after, { encryptionKey });
    migrate(connection, migrations);
    const statements = withBase(connection, before, () => statementsBetween(connection));
    const row = { number: number + 1, format: newest, changed: EVERYTHING, guards: [sameFormat(format)] };
    return await namespace.commit(row, statements, "rebuild");
  } finally {
    for (const path of [before, after]) removeDatabase(path);
  }
}

/** In the names of temporary files, between the name of the working copy and the id of the process that upgrades. */
const MARK = ".upgrade-";

/** Removes the temporary files of processes that were killed. */
function removeLeftovers(path: string): void {
  const beginning = `${basename(path)}${MARK}`;
  for (const name of readdirSync(dirname(path))) {
    const pid = name.startsWith(beginning) ? Number.parseInt(name.slice(beginning.length), 10) : Number.NaN;
    if (Number.isSafeInteger(pid) && !isRunning(pid)) removeDatabase(join(dirname(path), name));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process is running, as another user.
    return (error as { code?: unknown }).code === "EPERM";
  }
}

/** A guard: it fails unless the newest commit has this format, since `token` allows no NULL. */
const sameFormat = (format: number): Statement => ({
  sql: `UPDATE ${COMMITS_TABLE} SET token = NULL WHERE number = (SELECT max(number) FROM ${COMMITS_TABLE}) AND format <> ?`,
  args: [format],
});

/** Returns the statements that turn the attached database `base` into the main one. */
function statementsBetween(connection: Connection): Statement[] {
  const after = readTables(connection);
  const before = readTables(connection, "base");
  const statements: Statement[] = [];
  const changes = new Map<string, TableChanges>();
  for (const name of before.keys()) if (!after.has(name)) statements.push({ sql: `DROP TABLE ${name}` });
  for (const [name, table] of after) {
    const old = before.get(name);
    if (old === undefined) statements.push({ sql: table.definition });
    else if (old.definition !== table.definition) statements.push(...rebuilt(table, old));
    changes.set(name, changedRows(connection, table, old));
  }
  return [...statements, ...statementsOf(after, changes)];
}

/**
 * Returns statements that replace a table by one with the new schema (https://www.sqlite.org/lang_altertable.html,
 * section 7).
 */
function rebuilt(table: ReplicatedTable, old: ReplicatedTable): Statement[] {
  const { name } = table;
  const draft = `governd_new_${name}`;
  const columns = table.columnsIn(old).join(", ");
  const moved = `INSERT INTO ${draft} (${columns}) SELECT ${columns} FROM ${name}`;
  return [
    `DROP TABLE IF EXISTS ${draft}`,
    table.definition.replace(/^(CREATE TABLE) \S+/i, `$1 ${draft}`),
    ...(table.canLack(old) ? [moved] : []),
    `DROP TABLE ${name}`,
    `ALTER TABLE ${draft} RENAME TO ${name}`,
  ].map((sql) => ({ sql }));
}

/**
 * Returns the rows that the server lacks after {@link rebuilt}, and the keys of rows that it must delete.
 */
function changedRows(connection: Connection, table: ReplicatedTable, old: ReplicatedTable | undefined) {
  if (old === undefined || !(old.definition === table.definition || table.canLack(old))) {
    const rows = connection.all<[string]>(`SELECT ${table.rowJson} FROM main.${table.name}`);
    return { rows: rows.map(([row]) => row), gone: [] };
  }
  return changesOf(connection, table, table.differsFrom("now.", "before.", old));
}
