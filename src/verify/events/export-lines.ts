/**
 * The lines of an export: decodes them, feeds an event to the verifier, and verifies a part of the lines by itself, for
 * one of several threads.
 */
import { orNull } from "../../failure.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { EventFormatError } from "../../log/event.ts";
import type { ExportHeader, ExportTrailer } from "../../log/export-schema.ts";
import { ExportFormatError } from "../../log/export-schema.ts";
import { hasRepeatedMember, JsonTextError } from "../../log/json-scan.ts";
import { type ExportedEvent, parseRendered, storedFromNewer, storedFromPresented } from "../../log/present.ts";
import { LogVerifier } from "./log-verifier.ts";
import type { Segment } from "./segment.ts";
import { hasNewerEnvelope } from "./vocabularies.ts";

/** Receives the content of an export. */
export interface ExportTarget {
  /** The header. It is set at the end for json, and before the first event for ndjson. */
  header: ExportHeader | null;
  /** The last line of ndjson. */
  trailer: ExportTrailer | null;
  /** The scope of the events; set before the first of them. */
  scope: "workspace" | "agent";
  /** The vocabulary that the header states; set before the first event. Undefined when it states none there. */
  vocabulary: number | undefined;
  /** Receives an event as text. `line`: whether it is a line of ndjson, with its `type`. */
  event(text: string, value: JsonObject, line: boolean): void;
  /** Receives a line as this format's own writer writes an event after `lead`. Returns false for any other line. */
  ownLine(text: string, lead: string): boolean;
  /** Called when something follows the end of the export. */
  trailing(): void;
}

/** Ends a line of an export. */
export const NEW_LINE = 0x0a;
/** Follows an event of a json export. */
export const COMMA = 0x2c;
/** What stands before the first member of an event: on a line of ndjson, and in json. */
export const LINE_LEAD = '{"type":"event",';
export const ELEMENT_LEAD = "{";

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8. @throws TypeError when the bytes are not UTF-8 */
export const decode = (bytes: Uint8Array): string => UTF_8.decode(bytes);

/** Whether the bytes are only JSON white space. */
export function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === NEW_LINE || byte === 0x0d);
}

/** Joins two pieces. */
export function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  return a.length === 0 ? b : Buffer.concat([a, b]);
}

/** Returns why an export cannot be read, from an error of reading it. @throws any other error */
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

/** Whether a first line seems to be that of an ndjson export. */
export const isNdjsonHeader = (line: string): boolean =>
  orNull(Error, () => Object.hasOwn(asObject(JSON.parse(line) as JsonValue, "the first line"), "type")) ?? false;

/** Returns a value that is an object. @throws ExportFormatError, or `refusal`, when it is not */
export function asObject(value: JsonValue, what: string, refusal = ExportFormatError): JsonObject {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  throw new refusal(`${what} is not a JSON object`);
}

/**
 * Feeds an event to the verifier.
 *
 * @param value `text` as parsed by JSON.parse, without `type`
 * @param line whether it is a line of ndjson, with its `type`
 */
export function addShownText(verifier: LogVerifier, text: string, value: JsonObject, line: boolean): void {
  let stored: ExportedEvent;
  try {
    stored = verifier.isOpaque ? storedFromNewer(value) : storedFromPresented(value);
  } catch (error) {
    if (!(error instanceof EventFormatError)) throw error;
    if (verifier.vocabularies.standing === "newer" && hasNewerEnvelope(JSON.stringify({ format: value.format }))) {
      verifier.add([storedFromNewer(value)]);
      return;
    }
    verifier.addMalformed(error.message, typeof value.seq === "number" ? value.seq : undefined);
    return;
  }
  if (verifier.isOpaque) {
    verifier.add([stored]);
    return;
  }
  if (hasRepeatedMember(text, line ? { type: "event", ...value } : value)) {
    verifier.addMalformed("a member is there twice", value.seq as number);
    return;
  }
  verifier.add([stored]);
}

/** The facts about an export that its parts need. */
export interface PartOptions {
  form: "json" | "ndjson";
  scope: "workspace" | "agent";
  /** Tree sizes of the given seals. */
  marks: readonly number[];
}

/** Verifies some lines of an export by themselves. It accepts only valid parts. */
export class ExportPart {
  readonly #options: PartOptions;
  #verifier: LogVerifier | null = null;
  #good = true;

  constructor(options: PartOptions) {
    this.#options = options;
  }

  /** Adds complete lines. Returns false when the part is not valid. */
  push(bytes: Uint8Array): boolean {
    for (let from = 0; this.#good && from < bytes.length; ) {
      const end = bytes.indexOf(NEW_LINE, from);
      this.#good = end >= 0 && this.#line(bytes, from, end);
      from = end + 1;
    }
    return this.#good;
  }

  /**
   * Returns the result. Null when the part is not valid, and when only the whole export can decide: when the part announces
   * a vocabulary, which holds for later parts too, or declares a restore, which must be compared with the event before it.
   */
  segment(): Segment | null {
    const segment = this.#good ? (this.#verifier?.segment() ?? null) : null;
    if (this.#verifier?.vocabularies.needWholeLog) return null;
    return segment?.problems.count === 0 && segment.restores.length === 0 ? segment : null;
  }

  #line(bytes: Uint8Array, start: number, end: number): boolean {
    const json = this.#options.form === "json";
    // An event ends with a comma, except the last event, which is in no part.
    if (json && bytes[end - 1] !== COMMA) return false;
    const line = orNull(TypeError, () => decode(bytes.subarray(start, json ? end - 1 : end)));
    const event = line === null ? null : parseRendered(line, json ? ELEMENT_LEAD : LINE_LEAD);
    if (event === null) return false;
    this.#verifier ??= this.#begin(event.body.seq);
    this.#verifier.add([event]);
    return true;
  }

  #begin(seq: number): LogVerifier {
    const { scope, marks } = this.#options;
    const seals = { trusted: [], offered: [] };
    const ahead = marks.filter((size) => size > seq);
    return new LogVerifier({ scope, start: { seq }, seals, marks: ahead });
  }
}
