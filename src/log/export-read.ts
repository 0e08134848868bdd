/**
 * Reads a json or ndjson export as it arrives and verifies it, with one event in memory at a time.
 * Which of the two it is shows in its first line.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import { EventFormatError } from "./event.ts";
import {
  asHeader,
  asTrailer,
  ExportFormatError,
  type ExportHeader,
  type ExportTrailer,
  MAX_RECORD_CHARS,
} from "./export-format.ts";
import { checkExportSeal } from "./export-seal.ts";
import { JsonScanError, JsonScanner } from "./json-scan.ts";
import { hasRepeatedMember, parseJson, parseStrictJson, StrictJsonError } from "./json-strict.ts";
import { type ExportedEvent, renderEvent, storedFromPresented } from "./present.ts";
import type { Seal } from "./seal.ts";
import { LogVerifier, type VerificationReport } from "./verify.ts";

/** What the verification of an export found. */
export interface ExportReport extends VerificationReport {
  /** What the export says about itself; null when it could not be read that far. */
  header: ExportHeader | null;
  /** Why nothing, or nothing more, can be established (not an export, incomplete); null otherwise. */
  undetermined: string | null;
}

/** How much is looked at to find the first line. */
const MAX_HEADER_CHARS = 1024 * 1024;

/** Feed with {@link push} as the file is read, then {@link finish} once. Neither throws for bad input. */
export class ExportVerifier {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #lines = new LineReader(this);
  readonly #document = new DocumentReader(this);
  #reader: LineReader | DocumentReader | null = null;
  #pending = "";
  #verifier: LogVerifier | null = null;
  #undetermined: string | null = null;
  readonly #trusted: Uint8Array | null;
  readonly #anchors: readonly Seal[];
  header: ExportHeader | null = null;
  trailer: ExportTrailer | null = null;
  /** What the events are; set by the reader before the first of them. */
  scope: "workspace" | "agent" = "workspace";

  /**
   * @param trust the key that the auditor trusts (32 raw bytes), and seals kept from earlier
   */
  constructor({
    publicKey = null,
    anchors = [],
  }: { publicKey?: Uint8Array | null; anchors?: readonly Seal[] } = {}) {
    this.#trusted = publicKey;
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
    this.#guard(() => this.#take(this.#decoder.decode(bytes, { stream: true }), false));
  }

  /** Says what was found, after the last bytes. */
  finish(): ExportReport {
    this.#guard(() => {
      this.#take(this.#decoder.decode(), true);
      this.#reader?.end();
    });
    const { header, trailer } = this;
    const verifier = this.#verifier ?? this.#newVerifier();
    if (header !== null) checkExportSeal(verifier, header);
    const complete = this.#undetermined === null;
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
    let stored: ExportedEvent;
    try {
      stored = storedFromPresented(value);
    } catch (error) {
      if (!(error instanceof EventFormatError)) throw error;
      this.#verifier.addMalformed(error.message, typeof value.seq === "number" ? value.seq : undefined);
      return;
    }
    // Text as this format's own writer writes it has no member twice; other text is looked through.
    const own = renderEvent(stored, stored.hash);
    const same = line ? text === `{"type":"event",${own.slice(1)}` : text === own;
    if (!same && hasRepeatedMember(text, line ? { type: "event", ...value } : value)) {
      this.#verifier.addMalformed("a member is there twice", value.seq as number);
      return;
    }
    this.#verifier.add([stored]);
  }

  #newVerifier(): LogVerifier {
    const seals = { trusted: this.#trusted, offered: [] };
    const verifier = new LogVerifier({ scope: this.scope, start: "anywhere", seals });
    for (const anchor of this.#anchors) verifier.anchor(anchor);
    return verifier;
  }

  #take(text: string, last: boolean): void {
    if (this.#reader === null) {
      this.#pending += text;
      const end = this.#pending.indexOf("\n");
      if (end < 0 && !last && this.#pending.length < MAX_HEADER_CHARS) return;
      const firstLine = end < 0 ? this.#pending : this.#pending.slice(0, end);
      this.#reader = isNdjsonHeader(firstLine) ? this.#lines : this.#document;
      text = this.#pending;
      this.#pending = "";
    }
    this.#reader.push(text);
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

function unreadable(error: unknown): string {
  if (error instanceof ExportFormatError) return error.message;
  if (error instanceof JsonScanError || error instanceof StrictJsonError) {
    return `this is not a json or ndjson export: ${error.message}`;
  }
  if (error instanceof TypeError && "code" in error && error.code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
    return "this is not a json or ndjson export: it is not UTF-8 text";
  }
  throw error;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isNdjsonHeader(line: string): boolean {
  try {
    const value = JSON.parse(line) as JsonValue;
    return (
      value !== null && typeof value === "object" && !Array.isArray(value) && Object.hasOwn(value, "type")
    );
  } catch {
    return false;
  }
}

function asObject(value: JsonValue, what: string): JsonObject {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  throw new ExportFormatError(`${what} is not a JSON object`);
}

/** ndjson: a header, events, a trailer, one to a line. */
class LineReader {
  #rest = "";

  constructor(private readonly target: ExportVerifier) {}

  push(text: string): void {
    const whole = this.#rest + text;
    let from = 0;
    for (let end = whole.indexOf("\n"); end >= 0; end = whole.indexOf("\n", from)) {
      this.#line(whole.slice(from, whole[end - 1] === "\r" ? end - 1 : end));
      from = end + 1;
    }
    this.#rest = whole.slice(from);
    if (this.#rest.length > MAX_RECORD_CHARS) throw new ExportFormatError("a line of the export is too long");
  }

  end(): void {
    // A last line without its end is taken if it is whole, which only a trailer can be.
    if (this.#rest !== "" && isJson(this.#rest)) this.#line(this.#rest);
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

/** json: one object; its `events` are taken one by one. */
class DocumentReader {
  readonly #scanner: JsonScanner;
  readonly #members = new Map<string, JsonValue>();
  #hasEvents = false;

  constructor(private readonly target: ExportVerifier) {
    const element = (text: string): void => this.#event(text);
    const member = (name: string, text: string): void => this.#member(name, text);
    this.#scanner = new JsonScanner({ element, member }, "events", MAX_RECORD_CHARS);
  }

  push(text: string): void {
    this.#scanner.push(text);
  }

  end(): void {
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
