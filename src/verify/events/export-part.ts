/** Verifies some lines of an export by themselves, for one of several threads. It only accepts valid parts. */
import type { JsonObject, JsonValue } from "../../json.ts";
import { Bytes } from "../../log/bytes.ts";
import { addShownText } from "./export-event.ts";
import { asObject, COMMA, decode, NEW_LINE } from "./export-text.ts";
import { ELEMENT_LEAD, LINE_LEAD } from "./fast/shown-event.ts";
import { LogVerifier } from "./log-verifier.ts";
import type { Segment } from "./segment.ts";

/** What an export is, as far as its parts must know. */
export interface PartOptions {
  form: "json" | "ndjson";
  scope: "workspace" | "agent";
  /** Tree sizes of the given seals. */
  marks: readonly number[];
}

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
function read(line: Uint8Array): { text: string; value: JsonObject } | null {
  try {
    const text = decode(line);
    return { text, value: asObject(JSON.parse(text) as JsonValue, "a line") };
  } catch {
    return null;
  }
}
