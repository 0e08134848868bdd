/** A sample log in the schema of an older build. */
import { Database } from "bun:sqlite";
import { renameSync, rmSync } from "node:fs";

const SETTINGS = ["application_id", "user_version", "auto_vacuum"] as const;

/** Removes a database with its write-ahead log. */
function removeDatabase(file: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
}

function settingOf(database: Database, name: string): number {
  return Object.values(database.query(`PRAGMA ${name}`).get() as Record<string, number>)[0] as number;
}

/**
 * Gives the log in `sample` the schema that the workspace in `like` has, which the older build created: the columns that
 * both have are copied, so that build opens and verifies it. Does nothing when the schemas are equal.
 */
export function adoptSchema(sample: string, like: string): void {
  const old = new Database(like, { readonly: true });
  try {
    const from = new Database(sample);
    const [there, here] = [old, from].map((database) => JSON.stringify(objectsOf(database)));
    const same = there === here;
    from.close();
    if (!same) rewrite(sample, old);
  } finally {
    old.close();
  }
}

/** The tables and indexes that governd made. */
const objectsOf = (database: Database): { type: string; name: string; sql: string }[] =>
  database
    .query("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all() as { type: string; name: string; sql: string }[];

function rewrite(sample: string, old: Database): void {
  const made = `${sample}.older`;
  const to = new Database(made, { create: true });
  for (const name of SETTINGS) to.run(`PRAGMA ${name} = ${settingOf(old, name)}`);
  to.run("PRAGMA journal_mode = OFF");
  to.run("PRAGMA synchronous = OFF");
  to.run("ATTACH ? AS sample", [sample]);
  const objects = objectsOf(old);
  const columns = (schema: string, table: string) =>
    (to.query(`PRAGMA ${schema}.table_info(${table})`).all() as { name: string }[]).map(({ name }) => name);
  // Indexes are built faster once their table is filled.
  for (const { sql } of objects.filter(({ type }) => type === "table")) to.run(sql);
  for (const { name } of objects.filter(({ type }) => type === "table")) {
    const known = new Set(columns("sample", name));
    const both = columns("main", name).filter((column) => known.has(column));
    if (both.length > 0) to.run(`INSERT INTO main.${name} (${both}) SELECT ${both} FROM sample.${name}`);
  }
  for (const { sql } of objects.filter(({ type }) => type !== "table")) to.run(sql);
  to.run("DETACH sample");
  to.run("PRAGMA journal_mode = WAL");
  to.close();
  removeDatabase(sample);
  renameSync(made, sample);
}
