/**
 * The lines of an export: as text, one event fed to the verifier, and a part of the lines verified by itself, for one of
 * several threads.
 */
import { orNull } from "../../failure.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { Bytes } from "../../log/bytes.ts";
import { EventFormatError } from "../../log/event.ts";
import { ExportFormatError } from "../../log/export-format.ts";
import type { ExportHeader, ExportTrailer } from "../../log/export-schema.ts";
import { hasRepeatedMember, JsonTextError } from "../../log/json-scan.ts";
import { type ExportedEvent, renderEvent, storedFromPresented } from "../../log/present.ts";
import { ELEMENT_LEAD, LINE_LEAD } from "./fast/shown-event.ts";
import { LogVerifier } from "./log-verifier.ts";
import type { Segment } from "./segment.ts";

/** Takes what an export holds. */
export interface ExportTarget {
  /** Of json set at the end, of ndjson before the first event. */
  header: ExportHeader | null;
  /** The last line of ndjson. */
  trailer: ExportTrailer | null;
  /** What the events are; set before the first of them. */
  scope: "workspace" | "agent";
  /** Takes an event as text. `line`: it came as a line of ndjson, with its `type`. */
  event(text: string, value: JsonObject, line: boolean): void;
  /** Takes an event on the fast path. Returns false when it must be passed as text. */
  eventBytes(text: Bytes, start: number, end: number, lead: Bytes): boolean;
  /** Learns that something follows the end of the export. */
  trailing(): void;
}

/** Ends a line of an export. */
export const NEW_LINE = 0x0a;
/** Follows an event of a json export. */
export const COMMA = 0x2c;

/** @throws TypeError when it is not UTF-8 */
export function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Whether there is nothing but JSON's white space. */
export function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === NEW_LINE || byte === 0x0d);
}

/** Joins two pieces. */
export function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  return a.length === 0 ? b : Buffer.concat([a, b]);
}

/** Why an export cannot be read, from what was thrown; anything else is thrown on. */
export function unreadable(error: unknown): string {
  if (error instanceof ExportFormatError) return error.message;
  if (error instanceof JsonTextError) {
    return `this is not a json or ndjson export: ${error.message}`;
  }
  if (error instanceof TypeError && "code" in error && error.code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
    return "this is not a json or ndjson export: it is not UTF-8 text";
  }
  throw error;
}

/** Whether a first line is that of an ndjson export, or meant to be. */
export const isNdjsonHeader = (line: string): boolean =>
  orNull(Error, () => Object.hasOwn(asObject(JSON.parse(line) as JsonValue, "the first line"), "type")) ?? false;

/** @throws ExportFormatError, or `refusal`, when a value is no object */
export function asObject(value: JsonValue, what: string, refusal = ExportFormatError): JsonObject {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  throw new refusal(`${what} is not a JSON object`);
}

/**
 * Feeds an event to the verifier.
 *
 * @param value what JSON.parse made of `text`, without `type`
 * @param line whether it came as a line of ndjson, with its `type`
 */
export function addShownText(verifier: LogVerifier, text: string, value: JsonObject, line: boolean): void {
  let stored: ExportedEvent;
  try {
    stored = storedFromPresented(value);
  } catch (error) {
    if (!(error instanceof EventFormatError)) throw error;
    verifier.addMalformed(error.message, typeof value.seq === "number" ? value.seq : undefined);
    return;
  }
  // Text as this format's own writer writes it has no member twice; other text is looked through.
  const own = renderEvent(stored, stored.hash);
  const same = line ? text === `{"type":"event",${own.slice(1)}` : text === own;
  if (!same && hasRepeatedMember(text, line ? { type: "event", ...value } : value)) {
    verifier.addMalformed("a member is there twice", value.seq as number);
    return;
  }
  verifier.add([stored]);
}

/** What an export is, as far as its parts must know. */
export interface PartOptions {
  form: "json" | "ndjson";
  scope: "workspace" | "agent";
  /** Tree sizes of the given seals. */
  marks: readonly number[];
}

/** Verifies some lines of an export by themselves. It only accepts valid parts. */
export class ExportPart {
  readonly #options: PartOptions;
  #verifier: LogVerifier | null = null;
  #good = true;

  constructor(options: PartOptions) {
    this.#options = options;
  }

  /** Takes whole lines. False when the part is not valid. */
  push(bytes: Uint8Array): boolean {
    const text = new Bytes(bytes);
    for (let from = 0; this.#good && from < bytes.length; ) {
      const end = bytes.indexOf(NEW_LINE, from);
      this.#good = end >= 0 && this.#line(text, from, end);
      from = end + 1;
    }
    return this.#good;
  }

  /**
   * What was found; null when the part is not valid. Null, too, when it declares a restore: that has to be compared
   * with the event before, which may be in another part.
   */
  segment(): Segment | null {
    const segment = this.#good ? (this.#verifier?.segment() ?? null) : null;
    return segment?.problems.count === 0 && segment.restores.length === 0 ? segment : null;
  }

  #line(text: Bytes, start: number, end: number): boolean {
    const json = this.#options.form === "json";
    // The comma after an event; the last event has none and is in no part.
    if (json && text.u8[end - 1] !== COMMA) return false;
    const last = json ? end - 1 : end;
    const lead = json ? ELEMENT_LEAD : LINE_LEAD;
    return this.#verifier?.addShown(text, start, last, lead) || this.#plain(text.u8.subarray(start, last));
  }

  #plain(line: Uint8Array): boolean {
    const found = read(line);
    if (found === null) return false;
    const { type, ...event } = found.value;
    const json = this.#options.form === "json";
    if (json ? type !== undefined : type !== "event") return false;
    this.#verifier ??= this.#begin(event.seq);
    if (this.#verifier === null) return false;
    addShownText(this.#verifier, found.text, event, !json);
    return true;
  }

  #begin(seq: unknown): LogVerifier | null {
    if (typeof seq !== "number" || !Number.isSafeInteger(seq)) return null;
    const { scope, marks } = this.#options;
    const seals = { trusted: [], offered: [] };
    const ahead = marks.filter((size) => size > seq);
    return new LogVerifier({ scope, start: { seq }, seals, marks: ahead });
  }
}

/** A line as text and as an object; null when it is not one. */
const read = (line: Uint8Array): { text: string; value: JsonObject } | null =>
  orNull(Error, () => {
    const text = decode(line);
    return { text, value: asObject(JSON.parse(text) as JsonValue, "a line") };
  });
