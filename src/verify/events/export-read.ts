/**
 * Reads a json or ndjson export as it arrives and verifies it, with one event in memory at a time.
 * Which of the two it is shows in its first line.
 */
import type { JsonObject } from "../../json.ts";
import { Bytes } from "../../log/bytes.ts";
import { ExportFormatError, ExportMalformed, MAX_RECORD_CHARS } from "../../log/export-format.ts";
import { asHeader, asTrailer, type ExportHeader, type ExportTrailer } from "../../log/export-schema.ts";
import { parseJson, parseStrictJson, RepeatedMember } from "../../log/json-scan.ts";
import type { VerifierKey } from "../../log/note.ts";
import type { Seal } from "../../log/seal.ts";
import { type Completeness, exportCompleteness } from "../completeness.ts";
import type { VerificationReport } from "./contract.ts";
import { checkExportClaims } from "./export-check.ts";
import { isBound, NO_EVENTS, nothingOmitted } from "./export-claims.ts";
import { DocumentReader } from "./export-document.ts";
import {
  addShownText,
  asObject,
  decode,
  isBlank,
  isJson,
  isNdjsonHeader,
  joined,
  NEW_LINE,
  unreadable,
} from "./export-lines.ts";
import { LINE_LEAD } from "./fast/shown-event.ts";
import { LogVerifier } from "./log-verifier.ts";
import type { Segment } from "./segment.ts";

/** What the verification of an export found. */
export interface ExportReport extends VerificationReport {
  /** What the export says about itself; null when it could not be read that far. */
  header: ExportHeader | null;
  /** Why nothing, or nothing more, can be established (not an export, incomplete); null otherwise. */
  undetermined: string | null;
  /** Whether the export omits events of its scope. */
  completeness: Completeness;
}

const CUT_OFF = "the given seal cannot be compared with an export that is not whole";

/** Feed with {@link push} as the file is read, then {@link finish} once. Neither throws for bad input. */
export class ExportVerifier {
  readonly #lines = new LineReader(this);
  readonly #document = new DocumentReader(this);
  #reader: LineReader | DocumentReader | null = null;
  #pending: Uint8Array = new Uint8Array();
  #verifier: LogVerifier | null = null;
  #undetermined: string | null = null;
  /** Whether reading ended before the end, at something that the format does not allow. */
  #malformed = false;
  readonly #trusted: readonly Uint8Array[];
  readonly #anchors: readonly Seal[];
  readonly #witnesses: readonly VerifierKey[];
  header: ExportHeader | null = null;
  trailer: ExportTrailer | null = null;
  /** What the events are; set by the reader before the first of them. */
  scope: "workspace" | "agent" = "workspace";

  /**
   * @param trust the keys that the auditor trusts (32 raw bytes each), and seals kept from earlier, and the witnesses that count
   */
  constructor({
    publicKeys = [],
    anchors = [],
    witnesses = [],
  }: { publicKeys?: readonly Uint8Array[]; anchors?: readonly Seal[]; witnesses?: readonly VerifierKey[] } = {}) {
    this.#trusted = publicKeys;
    this.#witnesses = witnesses;
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
    const complete = this.#undetermined === null && !this.#malformed;
    const bound = header !== null && isBound(header);
    const erasures = trailer?.erasures ?? (bound ? header.erasures : undefined);
    if (header !== null && complete) {
      if (!bound && erasures !== undefined) this.#report("the export has erasures, which its format does not know");
      checkExportClaims(verifier, header, this.form ?? "json", erasures);
    }
    // Of an export that is cut off, its seal and other people's say nothing: the events that they are of may follow.
    else for (const _ of verifier.seals?.takeAnchors() ?? []) verifier.seals?.cannotTell(CUT_OFF);
    const report = verifier.finish({
      ...(header && { workspaceId: header.workspace_id, agentId: header.agent_id }),
      ...(header && !isBound(header) && header.agent_id !== null && { startsAfter: header.starts_after }),
      ...(header && complete && { eventCounts: [header.event_count, (trailer ?? header).event_count] }),
      ...(trailer && { head: trailer.head }),
      // In the older format, the erasures of details that are missing in a window may come after it.
      endsEarly: !complete || (!bound && header?.end_time != null),
    });
    const empty = header !== null && complete && report.eventsChecked === 0 && !nothingOmitted(header);
    const undetermined = this.#undetermined ?? (empty ? NO_EVENTS : null);
    const completeness = exportCompleteness(header, report, undetermined);
    // An export without events names its workspace in its event.
    const workspaceId = report.workspaceId ?? (bound && complete ? header.workspace_id : null);
    return { ...report, workspaceId, header, undetermined, completeness };
  }

  /** Reports that something follows the end of the export. */
  trailing(): void {
    this.#report("something follows the end of the export");
  }

  #report(message: string): void {
    this.#verifier ??= this.#newVerifier();
    this.#verifier.report("event_malformed", null, null, message);
  }

  /** Takes an event as text. `line`: it came as a line of ndjson, with its `type`. */
  event(text: string, value: JsonObject, line: boolean): void {
    this.#verifier ??= this.#newVerifier();
    addShownText(this.#verifier, text, value, line);
  }

  /** Appends a part of the export that was verified by itself (export-lines.ts). */
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
    const seals = { trusted: this.#trusted, offered: [], witnesses: this.#witnesses };
    const verifier = new LogVerifier({ scope: this.scope, start: "anywhere", seals });
    for (const anchor of this.#anchors) verifier.seals?.anchor(anchor);
    return verifier;
  }

  #take(bytes: Uint8Array, last: boolean): void {
    if (this.#reader === null) {
      bytes = joined(this.#pending, bytes);
      const end = bytes.indexOf(NEW_LINE);
      if (end < 0 && !last && bytes.length < MAX_RECORD_CHARS) {
        this.#pending = bytes;
        return;
      }
      const firstLine = decode(end < 0 ? bytes : bytes.subarray(0, end));
      this.#reader = isNdjsonHeader(firstLine) ? this.#lines : this.#document;
      this.#pending = new Uint8Array();
    }
    this.#reader.push(bytes);
  }

  /** Runs a step unless reading has ended; the reason why reading ends here is remembered. */
  #guard(step: () => void): void {
    if (this.#undetermined !== null || this.#malformed) return;
    try {
      step();
    } catch (error) {
      const isExport = this.header !== null || this.#document.namesFormat;
      if (error instanceof ExportMalformed || (error instanceof RepeatedMember && isExport)) {
        this.#malformed = true;
        this.#report(error.message);
        return;
      }
      this.#undetermined = unreadable(error);
    }
  }
}

/** ndjson: a header, events, a trailer, one to a line. */
class LineReader {
  #rest: Uint8Array = new Uint8Array();
  #hasTrailing = false;

  constructor(private readonly target: ExportVerifier) {}

  push(bytes: Uint8Array): void {
    const text = new Bytes(joined(this.#rest, bytes));
    const { u8 } = text;
    let from = 0;
    while (this.target.trailer === null) {
      const end = u8.indexOf(NEW_LINE, from);
      if (end < 0) break;
      const quick = this.target.eventBytes(text, from, end, LINE_LEAD);
      if (!quick) this.#line(decode(u8.subarray(from, end)).replace(/\r$/, ""));
      from = end + 1;
    }
    this.#rest = u8.slice(from);
    if (this.target.trailer !== null) this.#takeTrailing();
    if (this.#rest.length > MAX_RECORD_CHARS) throw new ExportFormatError("a line of the export is too long");
  }

  end(): void {
    if (this.target.trailer === null) {
      // A last line without its end is taken if it is whole, which only a trailer can be.
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
      return;
    }
    const { type, ...event } = asObject(parseJson(line), "a line of the export");
    if (type === "event") target.event(line, event, true);
    else if (type === "trailer") target.trailer = asTrailer(parseStrictJson(line));
    else throw new ExportMalformed("a line of the export is neither an event nor the trailer");
  }
}
