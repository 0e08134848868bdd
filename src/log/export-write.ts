/** Writes exports piece by piece: `begin`, one `event` each in seq order, `end`. Holds no events. */
import type { ViewFormat } from "../operation-facts.ts";
import { EXPORT_FORMAT, parseEvent } from "./event.ts";
import type { ExportErasures, ExportHeader } from "./export-schema.ts";
import { cloudEventLine, ocsfEventLine } from "./export-views.ts";
import { eventHash } from "./hash.ts";
import { renderEvent } from "./present.ts";
import { inclusionProof, rangeProof } from "./proof.ts";
import { canonicalText, hexOf, type StoredEvent } from "./rows.ts";
import type { TileReader } from "./tiles.ts";

/**
 * Returns the proof that connects a run of events with a seal over `size` events.
 * @param agentId whose chain is exported; null for the whole workspace
 * @param run the seqs of the first and the last event
 */
export async function exportProof(
  agentId: string | null,
  run: { first: number; last: number },
  size: number,
  reader: TileReader,
): Promise<{ path: string[] } | { before: string[]; after: string[] }> {
  const hex = (hashes: readonly Uint8Array[]): string[] => hashes.map((hash) => Buffer.from(hash).toString("hex"));
  if (agentId !== null) return { path: hex(await inclusionProof(run.last, size, reader)) };
  const { before, after } = await rangeProof(run.first, run.last + 1, size, reader);
  return { before: hex(before), after: hex(after) };
}

/** How a format writes what surrounds the events, and one event with its canonical text and its hash. */
interface Format {
  contentType: string;
  begin(header: ExportHeader): string;
  event(event: StoredEvent & { canonical: string }, hash: string, isFirst: boolean): string;
  /** `head` is the hash of the last event. */
  end(header: ExportHeader, head: string | null, erasures?: ExportErasures): string;
}

const nothing = (): string => "";

/** One line per event and nothing else. */
const lines = (line: (stored: StoredEvent) => string) => ({
  contentType: "application/x-ndjson",
  begin: nothing,
  event: line,
  end: nothing,
});

/** The columns of a csv export, in order; each is the member of that name of a shown event. */
const CSV_COLUMNS = [
  "seq",
  "id",
  "timestamp",
  "workspace_id",
  "agent_id",
  "agent_seq",
  "operation",
  "result",
  "blocked_by",
  "actor",
  "config_version",
  "details",
  "details_salt",
  "details_commitment",
  "previous_hash",
  "hash",
  "format",
] as const;

const FORMATS = {
  json: {
    contentType: "application/json",
    begin: ({ seal, public_key, ...members }) => `${JSON.stringify(members).slice(0, -1)},"events":[`,
    event: (event, hash, isFirst) => `${isFirst ? "\n" : ",\n"}${renderEvent(event, hash)}`,
    end({ seal, public_key }, _head, erasures) {
      const more = erasures === undefined ? "" : `"erasures":${JSON.stringify(erasures)},`;
      return `\n],${more}"seal":${JSON.stringify(seal)},"public_key":${JSON.stringify(public_key)}}\n`;
    },
  },
  ndjson: {
    contentType: "application/x-ndjson",
    begin: (header) => `${JSON.stringify({ type: "header", ...header })}\n`,
    event: (event, hash) => `{"type":"event",${renderEvent(event, hash).slice(1)}\n`,
    end: ({ event_count }, head, erasures) => `${JSON.stringify({ type: "trailer", event_count, head, erasures })}\n`,
  },
  /**
   * RFC 4180 with a header line, for people and spreadsheets; it cannot be verified on its own. Null is an empty field.
   * A field that a spreadsheet could take for a formula (it begins with = + - @, a tab or a carriage return) gets an
   * apostrophe in front. `details` is JSON text.
   */
  csv: {
    contentType: "text/csv; charset=utf-8; header=present",
    begin: () => `${CSV_COLUMNS.join(",")}\r\n`,
    event({ canonical, details, salt }, hash) {
      const shown = { ...parseEvent(canonical), details, details_salt: salt === null ? null : hexOf(salt), hash };
      return `${CSV_COLUMNS.map((column) => csvField(shown[column])).join(",")}\r\n`;
    },
    end: nothing,
  },
  cloudevents: lines(cloudEventLine),
  ocsf: lines(ocsfEventLine),
} satisfies Record<string, Format>;

export const contentTypeOf = (format: keyof typeof FORMATS): string => FORMATS[format].contentType;

/** Returns a writer for one export, which adds `format` to the header. */
export function exportWriter(format: keyof typeof FORMATS, about: Omit<ExportHeader, "format">) {
  const header: ExportHeader = { format: EXPORT_FORMAT, ...about };
  const form: Format = FORMATS[format];
  let left = header.event_count;
  let head: string | null = null;
  return {
    /** Returns the text before the first event. */
    begin: (): string => form.begin(header),
    /** Returns the text of the next event. */
    event(stored: StoredEvent): string {
      const canonical = canonicalText(stored);
      const isFirst = head === null;
      head = eventHash(canonical);
      left -= 1;
      return form.event({ ...stored, canonical }, head, isFirst);
    },
    /** In place of `begin` and the first `count` events, when the reader has them. @param last the hash of the last */
    resume(count: number, last: string): void {
      left -= count;
      head = last;
    },
    /** Returns the text after the last event. @throws RangeError when events are missing or too many */
    end(erasures?: ExportErasures): string {
      if (left !== 0) throw new RangeError(`${left} events are missing from the export`);
      return form.end(header, head, erasures);
    },
  };
}

/** Returns a writer of a view, whose events stand alone. */
export function viewWriter(format: ViewFormat) {
  const form = FORMATS[format];
  return {
    begin: (): string => form.begin(),
    event(stored: StoredEvent): string {
      const canonical = canonicalText(stored);
      return form.event({ ...stored, canonical }, eventHash(canonical));
    },
  };
}

/** Returns one field of a csv file, safe to open in a spreadsheet. */
export function csvField(value: string | number | null): string {
  if (value === null) return "";
  const text = String(value);
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
