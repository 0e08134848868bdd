/** Draws policies, and contents with planted texts in every place where a policy looks. */
import type { JsonObject, JsonValue } from "../../src/json.ts";
import type { Seeded } from "../seeded.ts";
import { KINDS, type Kind } from "./planted.ts";
import {
  type Exception,
  type Match,
  MODES,
  type Mode,
  type Policies,
  type WorkspacePolicies,
} from "./policy-oracle.ts";

export interface Content {
  key: string;
  value: string;
  metadata: JsonObject;
  matches: Match[];
  /** Every planted text, including those that are encoded or in parts. */
  texts: string[];
}

/** What a content consists of, and the name of its value in findings. */
export interface Form {
  valueName: "value" | "label" | "reason";
  hasKey: boolean;
  hasMetadata: boolean;
}

const PREFIXES = ["notes/", "public/", "misc/"];

let planted = 0;

/** Returns a text that no other call returns. */
export function plant(kind: Kind, seeded: Seeded): string {
  const text = kind.text(++planted);
  return kind.policy === "patterns" && seeded.chance(0.3) ? text.toLowerCase() : text;
}

/** Puts texts into the places of one content. */
class Draft {
  readonly content: Content;
  readonly #valueName: string;

  constructor(
    private readonly seeded: Seeded,
    { valueName, hasKey }: Form,
  ) {
    const number = ++planted;
    this.#valueName = valueName;
    const key = hasKey ? `${seeded.pick(PREFIXES)}${number}` : "";
    this.content = { key, value: `Entry ${number}`, metadata: {}, matches: [], texts: [] };
  }

  #note({ detector, policy }: Kind, text: string, field: string, place: Partial<Match> & { start: number }): void {
    this.content.texts.push(text);
    const rest = { text, end: place.start + text.length, isFixed: false };
    this.content.matches.push({ policy, detector, field, ...rest, ...place });
  }

  readonly places: Record<string, () => void> = {
    value: () => {
      for (let more = this.seeded.between(1, 2); more > 0; more--) {
        const kind = this.seeded.pick(KINDS);
        const text = plant(kind, this.seeded);
        this.content.value += ", about ";
        this.#note(kind, text, this.#valueName, { start: this.content.value.length });
        this.content.value += text;
      }
    },
    encoded: () => {
      const kind = this.seeded.pick(KINDS.filter(({ policy }) => policy !== "patterns"));
      const text = plant(kind, this.seeded);
      const run = Buffer.from(`This is about ${text} today`).toString("base64");
      this.content.value += ", see ";
      const start = this.content.value.length;
      this.#note(kind, text, this.#valueName, { text: null, start, end: start + run.length, isFixed: true });
      this.content.value += `${run} there`;
    },
    metadata: () => {
      const kind = this.seeded.pick(KINDS);
      const text = plant(kind, this.seeded);
      this.content.metadata.note = `about ${text}.`;
      this.#note(kind, text, "metadata.note", { start: 6 });
    },
    deep: () => {
      const kind = this.seeded.pick(KINDS);
      const text = plant(kind, this.seeded);
      this.content.metadata.topic = { deep: ["ok", text] };
      this.#note(kind, text, "metadata.topic.deep.1", { start: 0 });
    },
    number: () => {
      const kind = KINDS.find(({ detector }) => detector === "credit_card") as Kind;
      const text = plant(kind, this.seeded);
      this.content.metadata.paid = { with: Number(text) };
      this.#note(kind, text, "metadata.paid.with", { start: 0 });
    },
    parts: () => {
      const kind = this.seeded.pick(KINDS.filter(({ parts }) => parts !== null));
      const text = plant(kind, this.seeded);
      const parts = kind.parts?.(text) as [string, ...string[]];
      this.content.metadata.parts = parts;
      this.#note(kind, text, "metadata.parts.0", { text: null, start: 0, end: parts[0].length, isFixed: true });
    },
    name: () => {
      const kind = this.seeded.pick(KINDS);
      const text = plant(kind, this.seeded);
      this.content.metadata[text] = true;
      this.#note(kind, text, "metadata.*", { start: 0, isFixed: true });
    },
    key: () => {
      const kind = this.seeded.pick(KINDS.filter(({ isFoundInKeys }) => isFoundInKeys));
      const text = plant(kind, this.seeded);
      const prefix = this.seeded.pick(PREFIXES);
      this.content.key = prefix + text;
      this.#note(kind, text, "key", { start: prefix.length, isFixed: true });
    },
  };
}

/** Draws a content with up to three places that something matches. */
export function drawContent(seeded: Seeded, form: Form): Content {
  const { content, places } = new Draft(seeded, form);
  const possible = ["value", "value", "encoded"];
  if (form.hasMetadata) possible.push("metadata", "deep", "number", "parts", "name");
  if (form.hasKey) possible.push("key");
  const many = seeded.weighted([
    [2, 0],
    [6, 1],
    [4, 2],
    [2, 3],
  ]);
  for (const place of new Set(seeded.shuffled(possible).slice(0, many))) places[place]?.();
  content.value += ".";
  return content;
}

/** Returns the content as it is stored: each replaced match is written as `[redacted:<detector>]`. */
export function storedOf({ value, metadata }: Content, replaced: readonly Match[]) {
  const names = new Map(replaced.map(({ text, detector }) => [text as string, `[redacted:${detector}]`]));
  const inText = (text: string) => [...names].reduce((left, [one, name]) => left.replaceAll(one, name), text);
  const inside = (one: JsonValue): JsonValue => {
    if (typeof one === "string") return inText(one);
    if (typeof one === "number") return names.get(String(one)) ?? one;
    if (Array.isArray(one)) return one.map(inside);
    if (one === null || typeof one !== "object") return one;
    return Object.fromEntries(Object.entries(one).map(([name, member]) => [name, inside(member)]));
  };
  return { value: inText(value), metadata: inside(metadata) };
}

const drawMode = (seeded: Seeded): Mode => seeded.pick(MODES);

function drawModes(seeded: Seeded, policy: Kind["policy"]) {
  const names = KINDS.filter((kind) => kind.policy === policy && seeded.chance(0.25)).map(({ detector }) => detector);
  return {
    ...(seeded.chance(0.6) && { mode: drawMode(seeded) }),
    ...(names.length > 0 && { detectors: Object.fromEntries(names.map((name) => [name, drawMode(seeded)])) }),
  };
}

function drawPattern(seeded: Seeded) {
  return {
    name: "project",
    regex: "PRJ-[0-9]{6}",
    mode: drawMode(seeded),
    ...(seeded.chance(0.4) && { ignore_case: true }),
    ...(seeded.chance(0.3) && { prefixes: ["notes/"] }),
  };
}

/** Draws an exception for one of the planted texts, or for another one. */
function drawException(seeded: Seeded, { matches }: Content): Exception {
  const { detector, text } = seeded.pick([...matches, { detector: "email", text: "somebody.else@posteo.de" }]);
  const about = text ?? "another text";
  return {
    detector,
    ...(seeded.chance(0.5) ? { equals: about } : { ends_with: about.slice(-6) }),
    reason: "it is public",
    ...(seeded.chance(0.25) && { prefixes: [seeded.pick(PREFIXES)] }),
    ...(seeded.chance(0.4) && { expires_at: seeded.pick(["2024-03-01T00:00:00Z", "2099-03-01T00:00:00Z"]) }),
  };
}

export function drawPolicies(seeded: Seeded, content: Content): Policies {
  const exceptions = Array.from({ length: seeded.chance(0.4) ? seeded.between(1, 3) : 0 }, () =>
    drawException(seeded, content),
  );
  // An exception names a pattern of the same policies, which may be off.
  const isNamed = exceptions.some(({ detector }) => detector === "project");
  const screening = {
    ...(seeded.chance(0.7) && { pii: drawModes(seeded, "block_pii") }),
    ...(seeded.chance(0.6) && { secrets: drawModes(seeded, "block_secrets") }),
    ...((isNamed || seeded.chance(0.6)) && { patterns: [drawPattern(seeded)] }),
    ...(exceptions.length > 0 && { exceptions }),
  };
  return {
    ...(seeded.chance(0.2) && { block_pii: seeded.chance(0.7) }),
    ...(seeded.chance(0.2) && { block_secrets: seeded.chance(0.7) }),
    ...(seeded.chance(0.2) && { retention_days: seeded.pick([1, 30, 365]) }),
    ...(seeded.chance(0.9) && { screening }),
    ...(seeded.chance(0.15) && {
      limits: seeded.pick([
        { value_bytes: seeded.pick([8, 1_000_000]) },
        { entries: seeded.pick([1, 2, 1_000]) },
        { writes_per_minute: seeded.pick([1, 2, 1_000]) },
        { value_bytes: 1_000_000, entries: 1_000, writes_per_minute: 1_000 },
      ]),
    }),
  };
}

export function drawFloor(seeded: Seeded, content: Content): WorkspacePolicies {
  if (seeded.chance(0.1)) return {};
  return {
    policies: drawPolicies(seeded, content),
    ...(seeded.chance(0.1) && { require_config: true }),
    ...(seeded.chance(0.4) && { exceptions_from_agents: seeded.chance(0.7) }),
  };
}
