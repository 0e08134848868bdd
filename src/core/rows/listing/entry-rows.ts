/** The rows of entries in lists, each of which arrives with all others of its step as one value. */
import { PackedRows, packed, pageOf } from "../../../store/packed.ts";
import { sound } from "../../../store/statements.ts";
import { after, type Reader } from "../../../store/transaction.ts";
import type { SqlValue } from "../../../store/values.ts";
import { versionOf } from "../log/events.ts";

/** An entry in a list. */
export interface ListedEntry {
  key: string;
  /** A JSON string; null when values are not requested. */
  value: string | null;
  /** Bytes of the value as UTF-8. */
  size: number;
  /** A JSON object. */
  metadata: string;
  createdAt: number;
  updatedAt: number;
  /** When the entry expires, ms; null for never. */
  expiresAt: number | null;
  writtenSeq: number;
  /** The id of the event that wrote the entry. */
  version: string;
  isSetAside: boolean;
}

/**
 * SQL: the size of the value if its JSON text has no escapes, which takes no reading of the text; otherwise the text.
 */
const SIZE = `CASE instr(value, '\\') WHEN 0 THEN octet_length(value) - 2 ELSE value END`;

/** The columns of an entry in a list, in the order of the constants below. The last one is its value, or {@link SIZE}. */
const COLUMNS = [
  "key",
  "id",
  "metadata",
  "created_at",
  "updated_at",
  "expires_at",
  "quarantined",
  "written_seq",
  "random",
];
const [KEY, ID, METADATA, CREATED_AT, UPDATED_AT, EXPIRES_AT, QUARANTINED, WRITTEN_SEQ, RANDOM, VALUE] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
] as const;
const COUNT = COLUMNS.length + 1;

/** Entries with the events that wrote them. */
const FROM = "FROM entries LEFT JOIN events ON seq = written_seq";

const WITH_VALUE = packed([...COLUMNS, "value"]);
/** Its rows come from a subquery with a limit, a table of its own, so that SQLite computes each size once. */
const WITH_SIZE = packed([...COLUMNS, "size"]);

/** A row of an entry in a list. */
export interface EntryRow extends ListedEntry {
  id: number;
  /** The length of the value if it was read, UTF-16 units. */
  characters: number;
}

/** Returns the rows of a query. @param rest the query after its tables, with a limit @throws {DamagedText} */
export function readRows(reader: Reader, includeValues: boolean, rest: string, bound: readonly SqlValue[]) {
  const page = includeValues
    ? pageOf(WITH_VALUE, `${FROM} ${rest}`)
    : pageOf(WITH_SIZE, `FROM (SELECT ${COLUMNS.join(", ")}, ${SIZE} AS size ${FROM} ${rest})`);
  return after(reader.value<Buffer | null>(page, bound), (bytes) => rowsIn(bytes ?? NO_ROWS, includeValues));
}

const NO_ROWS = Buffer.alloc(0);

function rowsIn(page: Buffer, includeValues: boolean): EntryRow[] {
  const packedRows = new PackedRows(page, COUNT);
  const rows: EntryRow[] = [];
  while (packedRows.next()) rows.push(rowOf(packedRows, includeValues));
  return rows;
}

function rowOf(packedRow: PackedRows, includeValues: boolean): EntryRow {
  const text = packedRow.isText(VALUE) ? sound(packedRow.text(VALUE)) : null;
  const writtenSeq = sound(packedRow.integer(WRITTEN_SEQ));
  return {
    id: sound(packedRow.integer(ID)),
    key: sound(packedRow.text(KEY)),
    value: includeValues ? sound(text) : null,
    size: text === null ? sound(packedRow.integer(VALUE)) : sizeOf(text),
    metadata: sound(packedRow.text(METADATA)),
    createdAt: sound(packedRow.integer(CREATED_AT)),
    updatedAt: sound(packedRow.integer(UPDATED_AT)),
    expiresAt: packedRow.isNull(EXPIRES_AT) ? null : sound(packedRow.integer(EXPIRES_AT)),
    writtenSeq,
    version: versionOf(writtenSeq, packedRow.isBlob(RANDOM) ? packedRow.bytesOf(RANDOM) : null),
    isSetAside: !packedRow.isNull(QUARANTINED),
    characters: text?.length ?? 0,
  };
}

/** Returns the size of a value, bytes. A JSON text without escapes is the value in quotes. */
const sizeOf = (json: string): number =>
  json.includes("\\") ? Buffer.byteLength(JSON.parse(json) as string) : Buffer.byteLength(json) - 2;
