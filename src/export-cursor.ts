/**
 * Continuing an export that broke off. The answer's header carries a cursor, bound to what was asked
 * for and to where the log ended then; the client adds how many events it has: `<cursor>.<events>`.
 * What it is sent then joins on to what it has, byte for byte.
 */
import type { JsonObject } from "./json.ts";
import { decodeCursor, encodeCursor } from "./lists.ts";
import type { ExportResumption, OperationInputs } from "./workspace/contract.ts";

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
