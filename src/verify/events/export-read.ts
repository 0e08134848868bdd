/**
 * Reads a json or ndjson export as it arrives and verifies it, with one event in memory at a time.
 * Which of the two it is shows in its first line.
 */
import type { JsonObject, JsonValue } from "../../json.ts";
import { Bytes } from "../../log/bytes.ts";
import {
  asHeader,
  asTrailer,
  ExportFormatError,
  type ExportHeader,
  type ExportTrailer,
  MAX_RECORD_CHARS,
} from "../../log/export-format.ts";
import { JsonScanner, parseJson, parseStrictJson } from "../../log/json-scan.ts";
import type { Seal } from "../../log/seal.ts";
import type { VerificationReport } from "./contract.ts";
import { addShownText } from "./export-event.ts";
import { checkExportSeal } from "./export-seal.ts";
import {
  asObject,
  COMMA,
  decode,
  isJson,
  isNdjsonHeader,
  joined,
  NEW_LINE,
  unreadable,
} from "./export-text.ts";
import { ELEMENT_LEAD, LINE_LEAD } from "./fast/shown-event.ts";
import { LogVerifier } from "./log-verifier.ts";
import type { Segment } from "./segment.ts";

/** What the verification of an export found. */
export interface ExportReport extends VerificationReport {
  /** What the export says about itself; null when it could not be read that far. */
  header: ExportHeader | null;
  /** Why nothing, or nothing more, can be established (not an export, incomplete); null otherwise. */
  undetermined: string | null;
}

/** The most bytes that are read to find the first line. */
const MAX_HEADER_BYTES = 1024 * 1024;
/** In json, the longest unfinished line that is kept to be tried as an event. */
const MAX_LINE_KEPT = 1024 * 1024;
const CUT_OFF = "the given seal cannot be compared with an export that is not whole";

/** Feed with {@link push} as the file is read, then {@link finish} once. Neither throws for bad input. */
export class ExportVerifier {
  readonly #lines = new LineReader(this);
  readonly #document = new DocumentReader(this);
  #reader: LineReader | DocumentReader | null = null;
  #pending: Uint8Array = new Uint8Array();
  #verifier: LogVerifier | null = null;
  #undetermined: string | null = null;
  readonly #trusted: readonly Uint8Array[];
  readonly #anchors: readonly Seal[];
  header: ExportHeader | null = null;
  trailer: ExportTrailer | null = null;
  /** What the events are; set by the reader before the first of them. */
  scope: "workspace" | "agent" = "workspace";

  /**
   * @param trust the keys that the auditor trusts (32 raw bytes each), and seals kept from earlier
   */
  constructor({
    publicKeys = [],
    anchors = [],
  }: { publicKeys?: readonly Uint8Array[]; anchors?: readonly Seal[] } = {}) {
    this.#trusted = publicKeys;
    this.#anchors = anchors;
  }

  /** Events read so far; for progress. */
  get eventsChecked(): number {
    return this.#verifier?.eventsChecked ?? 0;
  }

  /** Which form the export has, once its first line is in. */
  get form(): "json" | "ndjson" | null {
    if (this.#reader === null) return null;
    return this.#reader === this.#lines ? "ndjson" : "json";
  }

  /** Takes the next bytes of the file. */
  push(bytes: Uint8Array): void {
    this.#guard(() => this.#take(bytes, false));
  }

  /** Returns what was found, after the last bytes. */
  finish(): ExportReport {
    this.#guard(() => {
      this.#take(new Uint8Array(), true);
      this.#reader?.end();
    });
    const { header, trailer } = this;
    const verifier = this.#verifier ?? this.#newVerifier();
    const complete = this.#undetermined === null;
    if (header !== null && complete) checkExportSeal(verifier, header);
    // Of an export that is cut off, its seal and other people's say nothing: the events that they are of may follow.
    else for (const _ of verifier.seals?.takeAnchors() ?? []) verifier.seals?.cannotTell(CUT_OFF);
    const report = verifier.finish({
      ...(header && { workspaceId: header.workspace_id, agentId: header.agent_id }),
      ...(header && header.agent_id !== null && { startsAfter: header.starts_after }),
      ...(header && header.agent_id === null && header.start_time === null && { firstSeq: 0 }),
      ...(header && complete && { eventCounts: [header.event_count, (trailer ?? header).event_count] }),
      ...(trailer && { head: trailer.head }),
    });
    return { ...report, header, undetermined: this.#undetermined };
  }

  /** Takes an event as text. `line`: it came as a line of ndjson, with its `type`. */
  event(text: string, value: JsonObject, line: boolean): void {
    this.#verifier ??= this.#newVerifier();
    addShownText(this.#verifier, text, value, line);
  }

  /** Appends a part of the export that was verified by itself (export-part.ts). */
  append(segment: Segment): void {
    this.#verifier?.append(segment);
    this.#document.skipPart();
  }

  /** Whether a part may follow: the last bytes ended an event, and the next begin another. */
  get mayAppend(): boolean {
    return (
      this.#undetermined === null &&
      this.#verifier !== null &&
      (this.form === "ndjson" ? this.trailer === null : this.#document.atElement)
    );
  }

  /** Takes an event on the fast path. Returns false when it must be passed as text. */
  eventBytes(text: Bytes, start: number, end: number, lead: Bytes): boolean {
    return this.#verifier?.addShown(text, start, end, lead) ?? false;
  }

  #newVerifier(): LogVerifier {
    const seals = { trusted: this.#trusted, offered: [] };
    const verifier = new LogVerifier({ scope: this.scope, start: "anywhere", seals });
    for (const anchor of this.#anchors) verifier.anchor(anchor);
    return verifier;
  }

  #take(bytes: Uint8Array, last: boolean): void {
    if (this.#reader === null) {
      bytes = joined(this.#pending, bytes);
      const end = bytes.indexOf(NEW_LINE);
      if (end < 0 && !last && bytes.length < MAX_HEADER_BYTES) {
        this.#pending = bytes;
        return;
      }
      const firstLine = decode(end < 0 ? bytes : bytes.subarray(0, end));
      this.#reader = isNdjsonHeader(firstLine) ? this.#lines : this.#document;
      this.#pending = new Uint8Array();
    }
    this.#reader.push(bytes);
  }

  /** Runs a step unless the export is already given up; what makes it unreadable is remembered. */
  #guard(step: () => void): void {
    if (this.#undetermined !== null) return;
    try {
      step();
    } catch (error) {
      this.#undetermined = unreadable(error);
    }
  }
}

/** ndjson: a header, events, a trailer, one to a line. */
class LineReader {
  #rest: Uint8Array = new Uint8Array();

  constructor(private readonly target: ExportVerifier) {}

  push(bytes: Uint8Array): void {
    const text = new Bytes(joined(this.#rest, bytes));
    const { u8 } = text;
    let from = 0;
    for (let end = u8.indexOf(NEW_LINE); end >= 0; end = u8.indexOf(NEW_LINE, from)) {
      const quick = this.target.trailer === null && this.target.eventBytes(text, from, end, LINE_LEAD);
      if (!quick) this.#line(decode(u8.subarray(from, end)).replace(/\r$/, ""));
      from = end + 1;
    }
    this.#rest = u8.slice(from);
    if (this.#rest.length > MAX_RECORD_CHARS) throw new ExportFormatError("a line of the export is too long");
  }

  end(): void {
    // A last line without its end is taken if it is whole, which only a trailer can be.
    const rest = decode(this.#rest);
    if (rest !== "" && isJson(rest)) this.#line(rest);
    if (this.target.trailer === null) {
      throw new ExportFormatError("the export is incomplete: its trailer is missing. Export it again");
    }
  }

  #line(line: string): void {
    const { target } = this;
    if (target.trailer !== null) throw new ExportFormatError("something follows the export's trailer");
    if (target.header === null) {
      const { type, ...header } = asObject(parseStrictJson(line), "the first line");
      if (type !== "header") throw new ExportFormatError("the export does not begin with its header");
      target.header = asHeader(header);
      target.scope = target.header.agent_id === null ? "workspace" : "agent";
      return;
    }
    const { type, ...event } = asObject(parseJson(line), "a line of the export");
    if (type === "event") target.event(line, event, true);
    else if (type === "trailer") target.trailer = asTrailer(parseStrictJson(line));
    else throw new ExportFormatError("a line of the export is neither an event nor the trailer");
  }
}

/**
 * json: one object; its `events` are taken one by one. This format's own writer begins a line with each, so whole
 * lines are tried on the fast path; everything else goes through the scanner.
 */
class DocumentReader {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #rest: Uint8Array = new Uint8Array();
  #atLineStart = true;
  readonly #scanner: JsonScanner;
  readonly #members = new Map<string, JsonValue>();
  #hasEvents = false;

  constructor(private readonly target: ExportVerifier) {
    const element = (text: string): void => this.#event(text);
    const member = (name: string, text: string): void => this.#member(name, text);
    this.#scanner = new JsonScanner({ element, member }, "events", MAX_RECORD_CHARS);
  }

  push(bytes: Uint8Array): void {
    const text = new Bytes(joined(this.#rest, bytes));
    const { u8 } = text;
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
      const quick = mayBeEvent && this.target.eventBytes(text, at, more ? end - 1 : end, ELEMENT_LEAD);
      if (quick) this.#scanner.skipElement(more);
      else this.#scan(u8, at, end + 1);
      this.#atLineStart = true;
      at = end + 1;
    }
  }

  /** Whether an event comes next. */
  get atElement(): boolean {
    return this.#hasEvents && this.#atLineStart && this.#rest.length === 0 && this.#scanner.atElement;
  }

  /** Replaces events that were read otherwise, each with the comma after it. */
  skipPart(): void {
    if (this.#hasEvents) this.#scanner.skipElement(true);
  }

  #scan(u8: Uint8Array, from: number, to: number): void {
    if (to > from) this.#scanner.push(this.#decoder.decode(u8.subarray(from, to), { stream: true }));
  }

  end(): void {
    this.#scan(this.#rest, 0, this.#rest.length);
    this.#scanner.push(this.#decoder.decode());
    if (!this.#scanner.complete) {
      throw new ExportFormatError("the export is incomplete: its end is missing. Export it again");
    }
    this.target.header = asHeader(Object.fromEntries(this.#members));
  }

  #member(name: string, text: string): void {
    if (name === "events") throw new ExportFormatError("the export's events are not a list");
    this.#members.set(name, parseStrictJson(text));
  }

  #event(text: string): void {
    if (!this.#hasEvents) this.#announce();
    this.target.event(text, asObject(parseJson(text), "an event"), false);
  }

  /** Whether one agent or the whole workspace follows must be known before the first event. */
  #announce(): void {
    this.#hasEvents = true;
    const agentId = this.#members.get("agent_id");
    if (agentId === undefined) {
      throw new ExportFormatError("the export's events stand before its agent_id");
    }
    this.target.scope = agentId === null ? "workspace" : "agent";
  }
}
