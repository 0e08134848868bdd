/**
 * Rows that events state: which row of which table of the workspace's file becomes what. The store applies what this
 * file derives from an event's details, and the verifier derives the same from the recorded event.
 *
 * What must not be in the log (a secret, an address) is bound by a salted digest: a change that states a digest comes
 * with the contents of the table's bound columns, and their salt is stored beside them.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import type { RowsOperation } from "../operations.ts";
import type { AuditEventBody } from "./event.ts";
import { isSalt, saltedDigest } from "./hash.ts";
import { canonicalJson } from "./jcs.ts";

/** The content of a column. */
type Cell = string | number | null;

/** Columns by name. */
export type Cells = Readonly<Record<string, Cell>>;

/** The type of a column, followed by `?` when it may be NULL. */
type CellType = "text" | "integer" | "text?" | "integer?";

/** A table of which every column but the rowid is stated by events. */
export interface RowTable {
  /** The primary key: a text. */
  key: string;
  /** The columns that events state, without the key. JSON is stored in canonical form, and flags as 0 and 1. */
  columns: Readonly<Record<string, CellType>>;
  /**
   * The columns of which events state only the digest SHA-256(salt ‖ JCS of them) in the member `digest`. Their salt is
   * in the column `salt`, hex.
   */
  bound?: { digest: string; columns: Readonly<Record<string, CellType>> };
}

/** Every table whose rows events state. */
export const ROW_TABLES = {
  sinks: {
    key: "id",
    columns: {
      type: "text",
      format: "text",
      filter: "text",
      include_details: "integer",
      start: "text",
      enabled: "integer",
      created_seq: "integer",
    },
    bound: {
      digest: "settings_digest",
      columns: { ca: "text?", client_certificate: "text?", secrets: "text", url: "text" },
    },
  },
} as const satisfies Record<string, RowTable>;

export type RowTableName = keyof typeof ROW_TABLES;

/** The facts of every table, by name. */
export const rowTables = Object.entries(ROW_TABLES) as [RowTableName, RowTable][];

/** A change of one row. */
export interface RowChange {
  table: RowTableName;
  key: string;
  /** `add`: there is no such row; `set` and `remove`: there is one. */
  kind: "add" | "set" | "remove";
  /** The columns that it sets; an added row has all that events state. */
  columns: Cells;
  /** The digest of the bound columns, if it sets them. */
  digest?: string;
}

/** The members of an event that state something about rows. */
type StatingEvent = Pick<AuditEventBody, "operation" | "seq" | "actor" | "timestamp">;

type Stated = (details: JsonObject, event: StatingEvent) => (RowChange | null)[];

/** Returns the changes of an event with the effect `rows`, in their order; null when its details do not have the form. */
export function rowChanges(event: StatingEvent, details: JsonObject): RowChange[] | null {
  const changes = (STATED as Readonly<Record<string, Stated>>)[event.operation]?.(details, event) ?? [null];
  return changes.every((change) => change !== null) ? changes : null;
}

/** Returns the digest of a table's bound columns; null when their salt is not valid. */
export function boundDigest(table: RowTable, contents: Cells): string | null {
  const { salt } = contents;
  if (typeof salt !== "string" || !isSalt(salt)) return null;
  const columns = Object.keys(table.bound?.columns ?? {});
  return saltedDigest(salt, canonicalJson(Object.fromEntries(columns.map((name) => [name, contents[name] ?? null]))));
}

/** What the events of each operation with the effect `rows` state. */
const STATED: { readonly [N in RowsOperation]: Stated } = {
  "sink.create": (details, { seq }) => {
    const { sink_id: id, type, start } = details;
    return [
      change("sinks", id, "add", { ...sinkCells(details), type, start: jsonOf(start), created_seq: seq }, details),
    ];
  },
  "sink.change": changedSink,
  "sink.rotate": changedSink,
  "sink.remove": ({ sink_id: id }) => [change("sinks", id, "remove", {})],
};

function changedSink(details: JsonObject): (RowChange | null)[] {
  return [change("sinks", details.sink_id, "set", sinkCells(details), details)];
}

const sinkCells = ({ format, filter, include_details, enabled }: JsonObject) => ({
  format,
  filter: jsonOf(filter),
  include_details: flagOf(include_details),
  enabled: flagOf(enabled),
});

type Member = JsonValue | undefined;

/** Returns a boolean as a column has it. */
const flagOf = (flag: Member): Member => (typeof flag === "boolean" ? Number(flag) : flag);

/** Returns a JSON value as a column has it. */
const jsonOf = (value: Member): Member => (value === undefined ? undefined : canonicalJson(value));

/**
 * Returns the change of a row, without the columns that the details do not state. Null when the key or a column is not
 * of its type, or when an added row lacks one.
 */
function change(
  table: RowTableName,
  key: Member,
  kind: RowChange["kind"],
  cells: Readonly<Record<string, Member>>,
  details: JsonObject = {},
): RowChange | null {
  const { columns, bound }: RowTable = ROW_TABLES[table];
  const stated = Object.entries(cells).filter(([, value]) => value !== undefined);
  const digest = bound && details[bound.digest];
  const isWhole = Object.keys(columns).every((name) => cells[name] !== undefined) && (!bound || digest !== undefined);
  if (typeof key !== "string" || (kind === "add" && !isWhole)) return null;
  if (!stated.every(([name, value]) => isOfType(value, columns[name] as CellType))) return null;
  if (digest !== undefined && typeof digest !== "string") return null;
  return { table, key, kind, columns: Object.fromEntries(stated) as Cells, ...(digest !== undefined && { digest }) };
}

function isOfType(value: Member, type: CellType): boolean {
  if (value === null) return type.endsWith("?");
  return type.startsWith("text") ? typeof value === "string" : Number.isSafeInteger(value);
}
