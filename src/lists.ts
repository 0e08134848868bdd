/**
 * Cursors of lists: opaque to clients, and bound to what the list was filtered by.
 *
 * A cursor is `base64url(digest ‖ JSON(position))`, where `digest` is the start of the SHA-256 of the
 * filters. It is not a secret and grants nothing: the digest only finds a cursor that is used with
 * other filters than it was made for, which would otherwise skip or repeat rows in silence.
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "./json.ts";
import type { ExportResumption, Page } from "./operation-facts.ts";
import type { OperationInputs, OperationName } from "./operations.ts";

/** Bytes of the filters' digest that a cursor carries. */
const DIGEST_BYTES = 9;

/** Longest cursor that is looked at: a position is at most a 512 character key, 6 bytes a character. */
export const MAX_CURSOR_LENGTH = 8192;

/** The operations that answer one page of a list. */
export type ListOperation = {
  [N in OperationName]: OperationInputs[N] extends { page: Page } ? N : never;
}[OperationName];

/** Where the next page begins: after this key or agent (data, agents) or before this number (everything else). */
export type CursorPosition = string | number;

/**
 * What a list is filtered by: the operation and its input without the page and without what does not
 * change which rows are in the list. Routes and operations both take it from the same input, so a
 * cursor that one writes is one that the other reads.
 */
export function listFilters<N extends ListOperation>(
  name: N,
  input: Omit<OperationInputs[N], "page">,
): JsonObject {
  const filters: JsonObject = { list: name };
  for (const [member, value] of Object.entries(input)) {
    if (member !== "page" && member !== "includeValues" && value !== undefined) {
      filters[member] = value as JsonValue;
    }
  }
  return filters;
}

/** The cursor for the page after `position` of the list with these filters. */
export function encodeCursor(filters: JsonObject, position: CursorPosition): string {
  return Buffer.concat([digestOf(filters), Buffer.from(JSON.stringify(position), "utf8")]).toString(
    "base64url",
  );
}

/** The position that `cursor` holds; null when it is malformed or was made with other filters. */
export function decodeCursor(filters: JsonObject, cursor: string): CursorPosition | null {
  if (cursor.length > MAX_CURSOR_LENGTH) return null;
  const bytes = Buffer.from(cursor, "base64url");
  if (bytes.length <= DIGEST_BYTES || !bytes.subarray(0, DIGEST_BYTES).equals(digestOf(filters))) return null;
  const position = parsePosition(bytes.subarray(DIGEST_BYTES).toString("utf8"));
  // One encoding per value: whatever the decoders above let pass is refused here.
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

/** JSON with the members of every object in the order of their names. */
function sortedJson(value: JsonValue): string {
  return JSON.stringify(value, (_name, member: JsonValue) => {
    if (member === null || typeof member !== "object" || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** What an export is of. */
export type ExportFilters = Pick<OperationInputs["audit.export"], "scope" | "format" | "window">;

const filtersOf = ({ scope, format, window }: ExportFilters): JsonObject => ({
  list: "audit.export",
  scope: { ...scope },
  format,
  window: { ...window },
});

/** The cursor of an export, before the number of events. */
export function encodeExportCursor(filters: ExportFilters, beforeSeq: number, exportedAt: string): string {
  return encodeCursor(filtersOf(filters), `${beforeSeq} ${exportedAt}`);
}

/** What a cursor continues; null when it is malformed or of an export with other filters. */
export function decodeExportCursor(filters: ExportFilters, text: string): ExportResumption | null {
  const parts = /^([\w-]+)\.(0|[1-9][0-9]{0,15})$/.exec(text);
  const position = parts && decodeCursor(filtersOf(filters), parts[1] as string);
  const found = /^(\d{1,16}) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/.exec(String(position ?? ""));
  if (parts === null || found === null) return null;
  return { beforeSeq: Number(found[1]), exportedAt: found[2] as string, received: Number(parts[2]) };
}
