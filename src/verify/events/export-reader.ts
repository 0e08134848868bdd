/** Reads a json or ndjson export as it arrives, one event at a time. The first line shows which form it has. */
import { asHeader, asTrailer, ExportFormatError, ExportMalformed, MAX_RECORD_CHARS } from "../../log/export-schema.ts";
import { isJson, parseJson, parseStrictJson } from "../../log/json-scan.ts";
import { DocumentReader } from "./export-document.ts";
import {
  asObject,
  decode,
  type ExportTarget,
  isBlank,
  isNdjsonHeader,
  joined,
  LINE_LEAD,
  NEW_LINE,
} from "./export-lines.ts";

/** To be fed with {@link push} as the file is read, then {@link end} once. */
export class ExportReader {
  readonly #lines: LineReader;
  readonly #document: DocumentReader;
  #chosen: LineReader | DocumentReader | null = null;
  #pending: Uint8Array = new Uint8Array();

  constructor(private readonly target: ExportTarget) {
    this.#lines = new LineReader(target);
    this.#document = new DocumentReader(target);
  }

  /** The form of the export; null before its first line was read. */
  get form(): "json" | "ndjson" | null {
    if (this.#chosen === null) return null;
    return this.#chosen === this.#lines ? "ndjson" : "json";
  }

  /** Whether the bytes that were read name a known export format. */
  get isExport(): boolean {
    return this.target.header !== null || this.#document.namesFormat;
  }

  /** Adds the next bytes. @throws Error, which {@link unreadable} explains, when it is not an export */
  push(bytes: Uint8Array): void {
    this.#take(bytes, false);
  }

  /** Ends the file. @throws as {@link push}, and when the export is incomplete */
  end(): void {
    this.#take(new Uint8Array(), true);
    this.#chosen?.end();
  }

  /** Whether the last bytes ended an event, and the next bytes begin another. */
  get atEvent(): boolean {
    return this.form === "ndjson" ? this.target.trailer === null : this.#document.atElement;
  }

  /** Skips events that were read in another way. */
  skipPart(): void {
    this.#document.skipPart();
  }

  #take(bytes: Uint8Array, last: boolean): void {
    if (this.#chosen === null) {
      bytes = joined(this.#pending, bytes);
      const end = bytes.indexOf(NEW_LINE);
      if (end < 0 && !last && bytes.length < MAX_RECORD_CHARS) {
        this.#pending = bytes;
        return;
      }
      const firstLine = decode(end < 0 ? bytes : bytes.subarray(0, end));
      this.#chosen = isNdjsonHeader(firstLine) ? this.#lines : this.#document;
      this.#pending = new Uint8Array();
    }
    this.#chosen.push(bytes);
  }
}

/** Reads an ndjson export: a header, events and a trailer, one on each line. */
class LineReader {
  #rest: Uint8Array = new Uint8Array();
  #hasTrailing = false;

  constructor(private readonly target: ExportTarget) {}

  push(bytes: Uint8Array): void {
    const u8 = joined(this.#rest, bytes);
    let from = 0;
    while (this.target.trailer === null) {
      const end = u8.indexOf(NEW_LINE, from);
      if (end < 0) break;
      const line = decode(u8.subarray(from, end));
      const own = this.target.header !== null && this.target.ownLine(line, LINE_LEAD);
      if (!own) this.#line(line.replace(/\r$/, ""));
      from = end + 1;
    }
    this.#rest = u8.slice(from);
    if (this.target.trailer !== null) this.#takeTrailing();
    if (this.#rest.length > MAX_RECORD_CHARS) throw new ExportFormatError("a line of the export is too long");
  }

  end(): void {
    if (this.target.trailer === null) {
      // A last line without a line end is accepted if it is complete JSON, which only a trailer can be.
      const rest = decode(this.#rest);
      if (rest !== "" && isJson(rest)) this.#line(rest);
    }
    if (this.target.trailer === null) {
      throw new ExportFormatError("the export is incomplete: its trailer is missing. Export it again");
    }
  }

  #takeTrailing(): void {
    if (!isBlank(this.#rest) && !this.#hasTrailing) {
      this.#hasTrailing = true;
      this.target.trailing();
    }
    this.#rest = new Uint8Array();
  }

  #line(line: string): void {
    const { target } = this;
    if (target.header === null) {
      const { type, ...header } = asObject(parseStrictJson(line), "the first line");
      if (type !== "header") throw new ExportFormatError("the export does not begin with its header");
      target.header = asHeader(header);
      target.scope = target.header.agent_id === null ? "workspace" : "agent";
      target.vocabulary = target.header.vocabulary;
      return;
    }
    const { type, ...event } = asObject(parseJson(line), "a line of the export", ExportMalformed);
    if (type === "event") target.event(line, event, true);
    else if (type === "trailer") target.trailer = asTrailer(parseStrictJson(line));
    else throw new ExportMalformed("a line of the export is neither an event nor the trailer");
  }
}
