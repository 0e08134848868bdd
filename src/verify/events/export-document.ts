/** Reads a json export. */
import { isUtf8 } from "node:buffer";
import type { JsonValue } from "../../json.ts";
import { EXPORT_FORMAT } from "../../log/event.ts";
import {
  asHeader,
  ExportFormatError,
  ExportMalformed,
  MAX_RECORD_CHARS,
  refuseNewer,
} from "../../log/export-schema.ts";
import { JsonScanner, parseJson, parseStrictJson, TrailingText } from "../../log/json-scan.ts";
import { asObject, COMMA, decode, ELEMENT_LEAD, type ExportTarget, isBlank, joined, NEW_LINE } from "./export-lines.ts";

/** The longest incomplete line that is kept to be tried as an event, bytes. */
const MAX_LINE_KEPT = 1024 * 1024;
const CLOSING_BRACE = 0x7d;

/**
 * Reads a json export: one object, whose `events` are passed on one by one. This format's own writer begins a line with
 * each event, so complete lines are tried as such; everything else goes through the scanner.
 */
export class DocumentReader {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #rest: Uint8Array = new Uint8Array();
  #atLineStart = true;
  readonly #scanner: JsonScanner;
  readonly #members = new Map<string, JsonValue>();
  #hasEvents = false;
  /** Whether something other than white space follows the end. */
  #hasTrailing = false;

  constructor(private readonly target: Omit<ExportTarget, "trailer">) {
    const element = (text: string): void => this.#event(text);
    const member = (name: string, text: string): void => this.#member(name, text);
    this.#scanner = new JsonScanner({ element, member }, "events", MAX_RECORD_CHARS);
  }

  push(bytes: Uint8Array): void {
    const u8 = joined(this.#rest, bytes);
    this.#rest = new Uint8Array();
    for (let at = 0; at < u8.length; ) {
      const end = u8.indexOf(NEW_LINE, at);
      const mayBeEvent = this.#atLineStart && this.#hasEvents && this.#scanner.atElement;
      if (end < 0) {
        this.#atLineStart = mayBeEvent && u8.length - at < MAX_LINE_KEPT;
        if (this.#atLineStart) this.#rest = u8.slice(at);
        else this.#scan(u8, at, u8.length);
        return;
      }
      const more = u8[end - 1] === COMMA;
      const line = u8.subarray(at, more ? end - 1 : end);
      const own = mayBeEvent && isUtf8(line) && this.target.ownLine(decode(line), ELEMENT_LEAD);
      if (own) this.#scanner.skipElement(more);
      else this.#scan(u8, at, end + 1);
      this.#atLineStart = true;
      at = end + 1;
    }
  }

  /** Whether the members that were read name the export format. */
  get namesFormat(): boolean {
    return this.#members.get("format") === EXPORT_FORMAT;
  }

  /** Whether an event comes next. */
  get atElement(): boolean {
    return this.#hasEvents && this.#atLineStart && this.#rest.length === 0 && this.#scanner.atElement;
  }

  /** Skips events that were read in another way, each with the comma after it. */
  skipPart(): void {
    if (this.#hasEvents) this.#scanner.skipElement(true);
  }

  #scan(u8: Uint8Array, from: number, to: number): void {
    if (isUtf8(u8.subarray(from, to))) {
      this.#scanPiece(u8.subarray(from, to));
      return;
    }
    // Bytes after the end need not be UTF-8. No piece goes beyond a closing brace, so that the result does not depend
    // on how the file is divided.
    for (let start = from; start < to; ) {
      const brace = u8.indexOf(CLOSING_BRACE, start);
      const end = brace < 0 || brace >= to ? to : brace + 1;
      this.#scanPiece(u8.subarray(start, end));
      start = end;
    }
  }

  #scanPiece(bytes: Uint8Array): void {
    if (this.#scanner.complete) {
      this.#hasTrailing ||= !isBlank(bytes);
      return;
    }
    try {
      this.#scanner.push(this.#decoder.decode(bytes, { stream: true }));
    } catch (error) {
      if (!(error instanceof TrailingText)) throw error;
      this.#hasTrailing = true;
    }
  }

  end(): void {
    this.#scan(this.#rest, 0, this.#rest.length);
    this.#decoder.decode();
    if (!this.#scanner.complete) {
      throw new ExportFormatError("the export is incomplete: its end is missing. Export it again");
    }
    const header = asHeader(Object.fromEntries(this.#members));
    if (this.#hasEvents && header.vocabulary !== this.target.vocabulary) {
      throw new ExportFormatError("the export's events stand before its vocabulary");
    }
    this.target.header = header;
    if (this.#hasTrailing) this.target.trailing();
  }

  #member(name: string, text: string): void {
    if (name === "events") throw new ExportFormatError("the export's events are not a list");
    this.#members.set(name, parseStrictJson(text));
  }

  #event(text: string): void {
    if (!this.#hasEvents) this.#announce();
    const refusal = this.namesFormat ? ExportMalformed : ExportFormatError;
    this.target.event(text, asObject(parseJson(text), "an event", refusal), false);
  }

  /** Announces the scope, which must be known before the first event. */
  #announce(): void {
    this.#hasEvents = true;
    refuseNewer(this.#members.get("format"));
    const agentId = this.#members.get("agent_id");
    if (agentId === undefined) {
      throw new ExportFormatError("the export's events stand before its agent_id");
    }
    this.target.scope = agentId === null ? "workspace" : "agent";
    const vocabulary = this.#members.get("vocabulary");
    if (typeof vocabulary === "number") this.target.vocabulary = vocabulary;
  }
}
