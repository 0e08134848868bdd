/**
 * Texts that clients sent and that the daemon must not repeat. When a watched daemon ends, they are searched for in its
 * whole log at the level debug, in its metrics, and in the audit export of each workspace that the test made with
 * `TestDaemon.workspace`.
 */
import { expect } from "bun:test";
import type { Sent } from "./client.ts";

/** Shorter texts could occur anywhere by chance. */
const LEAST_CHARACTERS = 8;
/** Of a longer text, only the beginning is searched for. */
const MOST_CHARACTERS = 64;
/** The most values, and the most names, that are searched for. */
const MOST_TEXTS = 1_000;
/** Members of a body that hold a value: the audit trail has at most its digest. */
const VALUES = new Set(["value", "query", "config", "instructions", "model"]);
/** Members that name the subject of a request: the log contains them. */
const PUBLIC = new Set(["agent_id", "scope", "format", "version", "if_version", "start_time", "end_time", "cursor"]);

export class Confidences {
  /** Never anywhere. */
  readonly #keys = new Set<string>();
  /** Never in the log, the metrics or the trail. */
  readonly #values = new Set<string>();
  /** Never in the log or the metrics. The details of events may contain them. */
  readonly #names = new Set<string>();
  /** Texts that may be repeated, even where they contain one of the others. */
  readonly #said = new Set<string>();

  note({ path, query = {}, body, headers = {} }: Sent, apiKey: string | null): void {
    if (apiKey !== null) take(this.#keys, apiKey);
    this.#said.add(decodeURIComponentOr(path));
    for (const [name, value] of Object.entries(query)) {
      if (PUBLIC.has(name)) this.#said.add(String(value));
      else if (name === "key" || name === "prefix") take(this.#names, String(value));
    }
    for (const name of ["x-request-id"]) if (headers[name] !== undefined) this.#said.add(headers[name]);
    if (typeof body === "string") this.#raw(parsedOrNull(body));
    else this.#body(body, path.startsWith("/v1/config/") ? this.#values : null);
  }

  /** Texts of a body that a test wrote itself are not searched for: a label, say, is in the trail. */
  #raw(body: unknown): void {
    if (typeof body === "string") this.#said.add(body);
    if (typeof body !== "object" || body === null) return;
    for (const [name, inside] of Object.entries(body)) {
      this.#said.add(name);
      this.#raw(inside);
    }
  }

  #body(body: unknown, into: Set<string> | null, member = ""): void {
    if (typeof body === "string" && member !== "") {
      if (PUBLIC.has(member) && into === null) this.#said.add(body);
      else take(into ?? (VALUES.has(member) ? this.#values : this.#names), body);
    }
    if (typeof body !== "object" || body === null || body instanceof Uint8Array) return;
    for (const [name, inside] of Object.entries(body)) {
      // A checkpoint's metadata is in the trail, with the names of its members.
      if (member !== "") this.#said.add(name);
      this.#body(inside, into, name);
    }
  }

  /** @throws what `expect` throws when the log or the metrics repeat something */
  assertKeptBy(what: string, text: string): void {
    this.#assert(what, text, [...this.#keys, ...some(this.#values), ...some(this.#names)]);
  }

  /** @throws what `expect` throws when the trail repeats something */
  assertKeptByTrail(text: string): void {
    const names = [...this.#names].join("\n");
    const values = some(this.#values).filter((value) => !names.includes(value));
    this.#assert("the audit trail", text, [...this.#keys, ...values]);
  }

  #assert(what: string, text: string, texts: readonly string[]): void {
    const said = [...this.#said].join("\n");
    const found = texts.filter((one) => (text.includes(one) || text.includes(escaped(one))) && !said.includes(one));
    expect({ what, found }).toEqual({ what, found: [] });
  }

  /** The number of texts to search for. */
  get size(): number {
    return this.#keys.size + this.#values.size + this.#names.size;
  }
}

function take(into: Set<string>, text: string): void {
  if (text.trim().length >= LEAST_CHARACTERS) into.add(text.slice(0, MOST_CHARACTERS));
}

function some(texts: ReadonlySet<string>): string[] {
  const all = [...texts];
  return all.length <= MOST_TEXTS ? all : [...all.slice(0, MOST_TEXTS / 2), ...all.slice(-MOST_TEXTS / 2)];
}

/** Returns the text as it is written inside a JSON string. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

function decodeURIComponentOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // the daemon refuses it, too
  }
}
