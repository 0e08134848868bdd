/** Writes exports piece by piece: `begin`, one `event` each in seq order, `end`. Holds no events. */
import { parseEvent } from "./event.ts";
import { EXPORT_FORMAT, OLDER_EXPORT_FORMAT } from "./export-format.ts";
import type { BoundExportHeader, ExportErasures, ExportHeader, OlderExportHeader } from "./export-schema.ts";
import { cloudEvent, ocsfEvent } from "./export-views.ts";
import { eventHash } from "./hash.ts";
import { renderEvent } from "./present.ts";
import { inclusionProof, rangeProof } from "./proof.ts";
import { canonicalText, hexOf, type StoredEvent } from "./rows.ts";
import type { TileReader } from "./tiles.ts";

/** Produces the pieces of one export, to be sent or written one after another. */
interface ExportWriter {
  /** The text before the first event. */
  begin(): string;
  /** One event. */
  event(stored: StoredEvent): string;
  /** In place of `begin` and the first `count` events, when the reader has them. @param head the hash of the last */
  resume(count: number, head: string): void;
  /** Returns the text after the last event. @throws RangeError when events are missing or too many */
  end(erasures?: ExportErasures): string;
}

/**
 * Returns the proof that connects a run of events with a seal over `size` events.
 *
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

/** The content type of each format. */
export const EXPORT_CONTENT_TYPES = {
  json: "application/json",
  ndjson: "application/x-ndjson",
  csv: "text/csv; charset=utf-8; header=present",
  cloudevents: "application/x-ndjson",
  ocsf: "application/x-ndjson",
} as const;

/** Returns a writer for one export, which adds `format` to the header: the older format when there is no binding. */
export function exportWriter(
  format: keyof typeof EXPORT_CONTENT_TYPES,
  about: Omit<BoundExportHeader, "format"> | Omit<OlderExportHeader, "format">,
): ExportWriter {
  const header: ExportHeader =
    "binding" in about ? { format: EXPORT_FORMAT, ...about } : { format: OLDER_EXPORT_FORMAT, ...about };
  switch (format) {
    case "json":
      return new JsonWriter(header);
    case "ndjson":
      return new NdjsonWriter(header);
    case "csv":
      return new CsvWriter(header);
    case "cloudevents":
      return new ViewWriter(header, cloudEvent);
    case "ocsf":
      return new ViewWriter(header, ocsfEvent);
  }
}

/** Counts the events, so that an export cannot end with more or fewer events than its header states. */
abstract class Counter implements ExportWriter {
  #left: number;
  protected head: string | null = null;

  constructor(protected readonly header: ExportHeader) {
    this.#left = header.event_count;
  }

  abstract event(stored: StoredEvent): string;

  protected take(stored: StoredEvent): { text: string; hash: string; first: boolean } {
    const text = canonicalText(stored);
    const first = this.head === null;
    this.head = eventHash(text);
    this.#left -= 1;
    return { text, hash: this.head, first };
  }

  resume(count: number, head: string): void {
    this.#left -= count;
    this.head = head;
  }

  begin(): string {
    return "";
  }

  end(_erasures?: ExportErasures): string {
    if (this.#left !== 0) throw new RangeError(`${this.#left} events are missing from the export`);
    return "";
  }
}

class JsonWriter extends Counter {
  override begin(): string {
    const { seal, public_key, ...members } = this.header;
    return `${JSON.stringify(members).slice(0, -1)},"events":[`;
  }

  event(stored: StoredEvent): string {
    const { text, hash, first } = this.take(stored);
    return `${first ? "\n" : ",\n"}${renderEvent({ ...stored, canonical: text }, hash)}`;
  }

  override end(erasures?: ExportErasures): string {
    super.end();
    const { seal, public_key } = this.header;
    const more = erasures === undefined ? "" : `"erasures":${JSON.stringify(erasures)},`;
    return `\n],${more}"seal":${JSON.stringify(seal)},"public_key":${JSON.stringify(public_key)}}\n`;
  }
}

class NdjsonWriter extends Counter {
  override begin(): string {
    return `${JSON.stringify({ type: "header", ...this.header })}\n`;
  }

  event(stored: StoredEvent): string {
    const { text, hash } = this.take(stored);
    return `{"type":"event",${renderEvent({ ...stored, canonical: text }, hash).slice(1)}\n`;
  }

  override end(erasures?: ExportErasures): string {
    super.end();
    const { event_count } = this.header;
    return `${JSON.stringify({ type: "trailer", event_count, head: this.head, erasures })}\n`;
  }
}

/** Writes one line per event and nothing else. */
class ViewWriter extends Counter {
  constructor(
    header: ExportHeader,
    readonly line: (stored: StoredEvent) => string,
  ) {
    super(header);
  }

  event(stored: StoredEvent): string {
    this.take(stored);
    return this.line(stored);
  }
}

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

/**
 * RFC 4180 with a header line, for people and spreadsheets; it cannot be verified on its own. Null
 * is an empty field. A field that a spreadsheet could take for a formula (it begins with = + - @,
 * a tab or a carriage return) gets an apostrophe in front. `details` is JSON text.
 */
class CsvWriter extends Counter {
  override begin(): string {
    return `${CSV_COLUMNS.join(",")}\r\n`;
  }

  event(stored: StoredEvent): string {
    const { text, hash } = this.take(stored);
    const salt = stored.salt === null ? null : hexOf(stored.salt);
    const shown = { ...parseEvent(text), details: stored.details, details_salt: salt, hash };
    return `${CSV_COLUMNS.map((column) => csvField(shown[column])).join(",")}\r\n`;
  }
}

/** Returns one field of a csv file, safe to open in a spreadsheet. */
export function csvField(value: string | number | null): string {
  if (value === null) return "";
  const text = String(value);
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
