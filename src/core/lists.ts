/**
 * Cursors of lists and exports. They are opaque to clients, and bound to the filters of the list.
 *
 * A cursor is `base64url(digest ‖ JSON(position))`, where `digest` is the start of the SHA-256 of the
 * filters. It is not a secret and grants nothing. The digest only detects a cursor that is used with other filters,
 * which would otherwise silently skip or repeat rows.
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "../json.ts";
import type { ExportResumption, Page } from "../operation-facts.ts";
import type { OperationInputs, OperationName } from "../operations.ts";
import { type Around, type LongText, textOfItems } from "./long-text.ts";

/** How many bytes of the filters' digest a cursor holds. */
const DIGEST_BYTES = 9;

/** The longest cursor that is accepted. A position is at most a key of 512 characters with 6 bytes each. */
export const MAX_CURSOR_LENGTH = 8192;

/** The operations that return one page of a list. */
export type ListOperation = {
  [N in OperationName]: OperationInputs[N] extends { page: Page } ? N : never;
}[OperationName];

/**
 * The start of the next page: after this key or agent (data, agents), after this time and position in the log (data by
 * `updated_at`), or before this number (other lists).
 */
export type CursorPosition = string | number;

/** Members of an input that do not change which rows are in the list, nor their order. */
const NOT_FILTERS: ReadonlySet<string> = new Set(["page", "includeValues", "count", "below"]);

/**
 * Returns the filters of a list: the operation and its input without the page and without members that do not change
 * which rows are in the list. Routes and operations both derive the filters from the same input, so that one can read a
 * cursor that the other wrote.
 */
export function listFilters<N extends ListOperation>(name: N, input: Omit<OperationInputs[N], "page">): JsonObject {
  const filters: JsonObject = { list: name };
  for (const [member, value] of Object.entries(input)) {
    if (!NOT_FILTERS.has(member) && value !== undefined) {
      filters[member] = value as JsonValue;
    }
  }
  return filters;
}

/** Returns the filters of the list of a checkpoint's entries. */
export const filtersOfEntries = (checkpointId: string): JsonObject => ({ list: "checkpoint.read", checkpointId });

/** Returns the cursor for the page after `position` of the list with these filters. */
export function encodeCursor(filters: JsonObject, position: CursorPosition): string {
  return Buffer.concat([digestOf(filters), Buffer.from(JSON.stringify(position), "utf8")]).toString("base64url");
}

/** The items of one page of a list, and its last item if more follow. */
interface Listed<Item> {
  items: Item[];
  last: Item | null;
}

/** Returns the page of a list. `found` has one more than `limit` when there is a next page. */
export function pageOf<Item>(found: readonly Item[], limit: number): Listed<Item> {
  const items = found.slice(0, limit);
  return { items, last: found.length > limit ? (items.at(-1) ?? null) : null };
}

export const EMPTY_PAGE: Listed<never> = { items: [], last: null };

/** The JSON texts of some items, or their number when another thread has the texts. */
export type Items = readonly string[] | number;

export const itemCount = (items: Items): number => (typeof items === "number" ? items : items.length);

/**
 * Returns `start`, the items, separated by commas, and `end`; without the texts of the items, only the start and the
 * end.
 */
export const itemsIn = (start: string, items: Items, end: string): LongText | Around =>
  typeof items === "number" ? { start, end } : textOfItems(start, items, end);

/**
 * Returns the body of a list's answer. `items` are the items of one page, and `next` is the position of the page's last
 * item if more items follow it, otherwise null. `more`: further members.
 */
export function listBody<N extends ListOperation>(
  name: N,
  input: Omit<OperationInputs[N], "page">,
  items: Items,
  next: CursorPosition | null,
  more: JsonObject = {},
): LongText | Around {
  const cursor = next === null ? "null" : `"${encodeCursor(listFilters(name, input), next)}"`;
  return itemsIn('{"data":[', items, `],"has_more":${next !== null},"next_cursor":${cursor}${membersOf(more)}}`);
}

/** Returns the members of an object as JSON text to be appended to other members. */
function membersOf(members: JsonObject): string {
  const text = JSON.stringify(members).slice(1, -1);
  return text === "" ? "" : `,${text}`;
}

/** Returns the position of a cursor; null when the cursor is malformed or belongs to other filters. */
export function decodeCursor(filters: JsonObject, cursor: string): CursorPosition | null {
  if (cursor.length > MAX_CURSOR_LENGTH) return null;
  const bytes = Buffer.from(cursor, "base64url");
  if (bytes.length <= DIGEST_BYTES || !bytes.subarray(0, DIGEST_BYTES).equals(digestOf(filters))) return null;
  const position = parsePosition(bytes.subarray(DIGEST_BYTES).toString("utf8"));
  // Each value has one encoding. Other encodings that the decoders accept are refused here.
  return position !== null && encodeCursor(filters, position) === cursor ? position : null;
}

function parsePosition(text: string): CursorPosition | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" || Number.isSafeInteger(value) ? (value as CursorPosition) : null;
  } catch {
    return null;
  }
}

function digestOf(filters: JsonObject): Buffer {
  return createHash("sha256").update(sortedJson(filters)).digest().subarray(0, DIGEST_BYTES);
}

/** Returns JSON with the members of every object sorted by name. */
function sortedJson(value: JsonValue): string {
  return JSON.stringify(value, (_name, member: JsonValue) => {
    if (member === null || typeof member !== "object" || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** The filters of an export. A cursor to resume the export is bound to them. */
export type ExportFilters = Pick<OperationInputs["audit.export"], "scope" | "format" | "window">;

const filtersOf = ({ scope, format, window }: ExportFilters): JsonObject => ({
  list: "audit.export",
  scope: { ...scope },
  format,
  window: { ...window },
});

/**
 * Returns the cursor to resume an interrupted export, which its response header carries. The client appends the number
 * of events that it has received: `<cursor>.<events>`.
 */
export function encodeExportCursor(filters: ExportFilters, beforeSeq: number, exportedAt: string): string {
  return encodeCursor(filtersOf(filters), `${beforeSeq} ${exportedAt}`);
}

/** Returns where to resume an export; null when the cursor is malformed or belongs to other filters. */
export function decodeExportCursor(filters: ExportFilters, text: string): ExportResumption | null {
  const parts = /^([\w-]+)\.(0|[1-9][0-9]{0,15})$/.exec(text);
  const position = parts && decodeCursor(filtersOf(filters), parts[1] as string);
  const found = /^(\d{1,16}) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/.exec(String(position ?? ""));
  if (parts === null || found === null) return null;
  return { beforeSeq: Number(found[1]), exportedAt: found[2] as string, received: Number(parts[2]) };
}
