/**
 * Whether a file has the tables that governd makes: with a view in place of a table, or a generated
 * column that computes something else, what is verified would not be what is shown.
 */
import { AGE_INDEX, AGE_INDEX_SCHEMA } from "../../state/age-index.ts";
import { EMBEDDINGS_SCHEMA, EMBEDDINGS_TABLE } from "../../state/embeddings.ts";
import { FULL_TEXT_SCHEMA, FULL_TEXT_TABLE } from "../../state/full-text.ts";
import { type Connection, openConnection } from "../../store/connection.ts";
import { type Migration, migrate } from "../../store/migrate.ts";
import { textBytes } from "../columns.ts";

/** Names that SQLite itself takes; `ANALYZE` makes such tables. */
const OWN_NAMES = "name NOT LIKE 'sqlite!_%' ESCAPE '!'";

/** Every table, index, view and trigger with its text. The bytes are compared, not the letters. */
function definitions(connection: Connection): string[] {
  const columns = ["type", "name", "tbl_name", "sql"].map((name) => textBytes(name)).join(", ");
  return connection
    .all<(Buffer | null)[]>(`SELECT ${columns} FROM sqlite_schema WHERE ${OWN_NAMES}`)
    .map((row) => row.map((bytes) => bytes?.toString("latin1") ?? "").join("\u0000"))
    .sort();
}

/** True when the file's schema is what these migrations make. */
export function hasSchemaOf(connection: Connection, migrations: readonly Migration[]): boolean {
  using fresh = openConnection(":memory:");
  migrate(fresh, migrations);
  // Derived data that is there only where it is needed. It is not looked into: nothing follows from it.
  if (hasTable(connection, FULL_TEXT_TABLE)) fresh.exec(FULL_TEXT_SCHEMA);
  if (hasTable(connection, EMBEDDINGS_TABLE)) fresh.exec(EMBEDDINGS_SCHEMA);
  if (has(connection, "index", AGE_INDEX)) fresh.exec(AGE_INDEX_SCHEMA);
  const [expected, found] = [definitions(fresh), definitions(connection)];
  return expected.length === found.length && expected.every((text, index) => text === found[index]);
}

/** Whether a table of that name is there. */
export const hasTable = (connection: Connection, name: string): boolean => has(connection, "table", name);

function has(connection: Connection, type: "table" | "index", name: string): boolean {
  const sql = "SELECT 1 FROM sqlite_schema WHERE type = ? AND name = ?";
  return connection.get<[number]>(sql, [type, name]) !== undefined;
}
