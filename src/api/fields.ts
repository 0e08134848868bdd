/**
 * The fields that several routes share, each with its rule and its description.
 *
 * Schemas use TypeBox itself and not Elysia's `t`, whose integers accept text. TypeBox counts UTF-16 code units, but
 * this API counts code points and bytes, so these fields have their own kinds: `check` validates, the JSON Schema
 * documents, and its `description` also tells clients in error messages what to send.
 */
import { Kind, type SchemaOptions, type TUnsafe, TypeRegistry, Type as t } from "@sinclair/typebox";
import { AGENT_ID_FORM, isAgentId } from "../agent-id.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { OldestFirst } from "../operation-facts.ts";
import { component } from "./shapes.ts";
import { parseTimestamp } from "./timestamp.ts";

/** Most characters (code points) of a data key and of a prefix. */
const MAX_KEY_LENGTH = 512;
/** Most characters (code points) of a checkpoint's label. */
const MAX_LABEL_LENGTH = 256;
/** Most bytes of a stored value, as UTF-8. */
const MAX_VALUE_BYTES = 1024 * 1024;
/** Most bytes of metadata, as canonical JSON (RFC 8785). */
const MAX_METADATA_BYTES = 64 * 1024;
/** Most bytes of a config, as canonical JSON (RFC 8785). */
export const MAX_CONFIG_BYTES = 256 * 1024;
/** Most and default items of one page of a list. */
export const MAX_LIMIT = 1000;
export const DEFAULT_LIMIT = 100;

/** Unicode category Cc: U+0000 to U+001F and U+007F to U+009F. */
const CONTROL_CHARACTER = /\p{Cc}/u;

/** Reports whether a text holds U+0000 to U+001F or U+007F to U+009F. */
export const hasControlCharacter = (text: string): boolean => CONTROL_CHARACTER.test(text);

/** Most characters (code points) of a name of a person or a workspace. */
export const MAX_NAME_LENGTH = 256;

/** A field with its own rule. `schema` describes it in the API's documentation. */
function field<T>(name: string, schema: SchemaOptions & { description: string }, check: (value: unknown) => boolean) {
  const kind = `governd:${name}`;
  TypeRegistry.Set(kind, (_schema, value) => check(value));
  return t.Unsafe<T>({ ...schema, [Kind]: kind });
}

function hasCodePoints(text: string, least: number, most: number): boolean {
  // A code point is one or two code units, so most lengths need no counting.
  if (text.length <= most) return text.length >= least;
  return text.length <= 2 * most && [...text].length <= most;
}

/** A string with its own rule. */
export function textField(
  name: string,
  schema: SchemaOptions & { description: string },
  check: (text: string) => boolean,
) {
  return field<string>(name, { type: "string", ...schema }, (value) => typeof value === "string" && check(value));
}

/** A string of some characters (code points) without control characters. `words` describe it. */
function plainText(name: string, least: number, most: number, words: string, example: string) {
  const lengths = least === 0 ? `at most ${most}` : `${least} to ${most}`;
  const schema = {
    ...(least === 0 ? {} : { minLength: least }),
    maxLength: most,
    description:
      most === 1 ? `${words}: one character.` : `${words}: ${lengths} characters, none of them a control character.`,
    examples: [example],
  };
  return textField(name, schema, (text) => hasCodePoints(text, least, most) && !hasControlCharacter(text));
}

/** Returns the size of a value in the form of RFC 8785, bytes, which differs from JSON.stringify only in order. */
export const canonicalBytes = (value: JsonObject): number => Buffer.byteLength(JSON.stringify(value), "utf8");

/** The sizes of metadata that was measured before its check, bytes. */
const measured = new WeakMap<JsonObject, number>();

/** Measures the metadata of an operation, so that the check of many operations at once takes little time. */
export function measureMetadata(operation: JsonValue): void {
  const metadata = isJsonObject(operation) ? operation.metadata : undefined;
  if (isJsonObject(metadata)) measured.set(metadata, canonicalBytes(metadata));
}

export const AgentId = component(
  "AgentId",
  textField(
    "AgentId",
    {
      pattern: `^${AGENT_ID_FORM}$`,
      description: "The agent's id, chosen by the client: 1 to 128 characters of A-Z a-z 0-9 . _ : @ ~ -",
      examples: ["support-bot"],
    },
    isAgentId,
  ),
);

export const Key = component(
  "EntryKey",
  plainText("Key", 1, MAX_KEY_LENGTH, "The entry's key", "customers/42/summary"),
);

const PREFIX = "What keys begin with, taken literally";
export const AgentIdPart = plainText("AgentIdPart", 0, 128, "What ids have anywhere in them, taken literally", "bot");
export const Prefix = component("KeyPrefix", plainText("Prefix", 0, MAX_KEY_LENGTH, PREFIX, "customers/"));
export const NonEmptyPrefix = plainText("NonEmptyPrefix", 1, MAX_KEY_LENGTH, PREFIX, "customers/42/");

export const Value = component(
  "EntryValue",
  textField(
    "Value",
    {
      description: "The value: a string of at most 1 MiB of UTF-8.",
      examples: ["Prefers to be contacted in the morning."],
    },
    // A UTF-16 code unit becomes at most three bytes.
    (text) => text.length * 3 <= MAX_VALUE_BYTES || Buffer.byteLength(text, "utf8") <= MAX_VALUE_BYTES,
  ),
);

export const Label = component(
  "Label",
  plainText("Label", 0, MAX_LABEL_LENGTH, "A name for people", "before the migration"),
);

export const Reason = component(
  "Reason",
  plainText("Reason", 1, MAX_LABEL_LENGTH, "Why, for people", "It came from a page that was tampered with."),
);

export const Metadata = component(
  "Metadata",
  field<JsonObject>(
    "Metadata",
    {
      type: "object",
      additionalProperties: true,
      description: "A free-form object of at most 64 KiB as canonical JSON.",
      examples: [{ source: "crm" }],
    },
    (value) => isJsonObject(value) && (measured.get(value) ?? canonicalBytes(value)) <= MAX_METADATA_BYTES,
  ),
);

export const Delimiter = plainText("Delimiter", 1, 1, "Where keys are cut into groups", "/");

export const Below = plainText("Below", 1, 1, "With each row, the entries whose keys begin with its key and this", "/");

/** Sorting of entries. */
export const SORTING = {
  sort: choice(["key", "updated_at"], "What the entries are sorted by", "key"),
  order: choice(["asc", "desc"], "Which end comes first", "asc"),
};

/** The order of events, and its input. */
export const NEWEST_FIRST = { order: choice(["asc", "desc"], "Which end comes first", "desc") };
export const oldestFirst = ({ order }: { order?: "asc" | "desc" }): OldestFirst => (order === "asc" ? { order } : {});

export const FilterField = component(
  "MetadataFilter",
  field<JsonObject>(
    "Filter",
    {
      type: "object",
      additionalProperties: true,
      description:
        "Conditions on the metadata, all of which must hold: by name, a value or an object of operators ($eq, $ne, $gt, $gte, $lt, $lte, $in, $exists).",
      examples: [{ source: "chat", confidence: { $gte: 0.8 } }],
    },
    isJsonObject,
  ),
);

export const Timestamp = component(
  "Timestamp",
  textField(
    "Timestamp",
    {
      format: "date-time",
      description: "An RFC 3339 time that ends with Z or an offset: 2026-01-31T08:00:00Z or 2026-01-31T09:00:00+01:00.",
      examples: ["2026-01-31T08:00:00Z"],
    },
    (text) => parseTimestamp(text) !== null,
  ),
);

/** A boolean. */
export const truth = (description: string) => t.Boolean({ description: `${description}: true or false.` });

/** An optional boolean. */
export const flag = (description: string, byDefault = false) =>
  t.Optional({ ...truth(description), default: byDefault });

/** One of a few words, which are appended to `description`. */
export function wordOf<const W extends string>(words: readonly W[], description: string, options: SchemaOptions = {}) {
  const literals = words.map((word) => t.Literal(word));
  return t.Unsafe<W>(t.Union(literals, { ...options, description: `${description}: ${words.join(", ")}.` }));
}

/** Optionally one of a few words. */
export function choice<const W extends string>(words: readonly W[], description: string, byDefault?: NoInfer<W>) {
  return t.Optional(wordOf(words, description, byDefault === undefined ? {} : { default: byDefault }));
}

/** An optional filter: one or several of a few words. */
export function wordsOf<const W extends string>(words: readonly W[], item: TUnsafe<W>, description: string) {
  const options = { description: `${description}.`, examples: [words.slice(0, 2)] };
  return t.Optional(t.Array(item, { minItems: 1, ...options }));
}

/** An optional integer of a range. `words` describe it. */
export function optionalInteger(minimum: number, maximum: number, words: string, byDefault?: number) {
  const options = byDefault === undefined ? {} : { default: byDefault };
  const description = `${words}: an integer from ${minimum} to ${maximum}.`;
  return t.Optional(t.Integer({ minimum, maximum, ...options, description }));
}

/** The query parameters of every list. */
export const PAGE_PARAMETERS = {
  limit: optionalInteger(1, MAX_LIMIT, "How many items to return", DEFAULT_LIMIT),
  offset: t.Optional(
    t.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: "How many items to skip: an integer from 0. For deep pages `cursor` is faster.",
    }),
  ),
  cursor: t.Optional(
    t.String({
      description: "`next_cursor` of the previous page, with the same filters and without `offset`.",
      examples: ["WyJkMmY4YSIsNDFd"],
    }),
  ),
};
