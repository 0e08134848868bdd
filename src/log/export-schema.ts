/**
 * The schemas of an export's header and trailer (export-format.ts), and the types that follow from them. The threads of
 * a daemon import only the types.
 */
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueErrorIterator, ValueErrorType } from "@sinclair/typebox/errors";
import type { JsonObject } from "../json.ts";
import { Count, Hash, only, orNull } from "../schemas.ts";
import { EXPORT_FORMAT, ExportFormatError, ExportMalformed, OLDER_EXPORT_FORMAT } from "./export-format.ts";
import { KeyChainSchema } from "./key-chain.ts";

const NullableString = orNull(Type.String());

/** More hashes than any proof has. */
const MAX_HASHES = 128;
const Hashes = Type.Array(Hash, { maxItems: MAX_HASHES });
const OlderRange = only({ before: Hashes, after: Hashes });
const OlderPath = only({ path: Hashes });
const RangeSchema = only({ before: Hashes, after: Hashes, binding: Hashes });
const PathSchema = only({ path: Hashes, binding: Hashes });
/** An event. Its members are checked when it is parsed. */
const EventObject = Type.Unsafe<JsonObject>(Type.Object({}));

const COMMON = {
  workspace_id: Type.String(),
  agent_id: NullableString,
  start_time: NullableString,
  end_time: NullableString,
  exported_at: Type.String(),
  event_count: Count,
  seal: NullableString,
  public_key: NullableString,
};

const ErasuresSchema = only({
  events: Type.Array(only({ event: EventObject, path: orNull(Hashes) })),
  seal: NullableString,
});

const OlderHeaderSchema = only({
  format: Type.Literal(OLDER_EXPORT_FORMAT),
  ...COMMON,
  starts_after: orNull(only({ agent_seq: Count, hash: Hash })),
  proof: Type.Optional(Type.Union([OlderRange, OlderPath, Type.Null()])),
});

const RestoresSchema = Type.Array(only({ event: EventObject, path: Hashes }), { minItems: 1 });

const HeaderSchema = only({
  format: Type.Literal(EXPORT_FORMAT),
  ...COMMON,
  before: orNull(EventObject),
  after: EventObject,
  binding: EventObject,
  proof: Type.Union([RangeSchema, PathSchema, Type.Null()]),
  keys: Type.Optional(KeyChainSchema),
  restores: Type.Optional(RestoresSchema),
  // In the json format, it is among the header's members.
  erasures: Type.Optional(ErasuresSchema),
});

const TrailerSchema = only({
  type: Type.Literal("trailer"),
  event_count: Count,
  head: orNull(Hash),
  erasures: Type.Optional(ErasuresSchema),
});

/**
 * All declared restores of the log, with inclusion proofs in the seal, in an export that does not contain all events.
 */
export type ExportRestores = Static<typeof RestoresSchema>;

/** Erasures after the last exported event, which explain why details in the export are missing. */
export type ExportErasures = Static<typeof ErasuresSchema>;

/** The header of an export of the older format. */
export type OlderExportHeader = Static<typeof OlderHeaderSchema>;

/** The header of an export of the present format. */
export type BoundExportHeader = Static<typeof HeaderSchema>;

/** The header of an export; in `json` the members other than `events`. */
export type ExportHeader = OlderExportHeader | BoundExportHeader;

/** The last line of an ndjson export. */
export type ExportTrailer = Static<typeof TrailerSchema>;

const HEADERS = {
  [EXPORT_FORMAT]: TypeCompiler.Compile(HeaderSchema),
  [OLDER_EXPORT_FORMAT]: TypeCompiler.Compile(OlderHeaderSchema),
};
const trailer = TypeCompiler.Compile(TrailerSchema);

/**
 * Checks the members of a header.
 * @throws ExportMalformed naming the first member that is wrong
 * @throws ExportFormatError when it does not name this format
 */
export function asHeader(value: JsonObject): ExportHeader {
  if (!isExportFormat(value.format)) throw new ExportFormatError("this is not an export of a known format");
  const header = HEADERS[value.format];
  if (header.Check(value)) return value;
  throw new ExportMalformed(`the export's header is not in order (${wrongMember(header.Errors(value))})`);
}

/** Whether a value names a format of exports. */
export const isExportFormat = (value: unknown): value is ExportHeader["format"] =>
  typeof value === "string" && Object.hasOwn(HEADERS, value);

/** Checks a trailer. @throws ExportMalformed naming the first member that is wrong */
export function asTrailer(value: unknown): ExportTrailer {
  if (trailer.Check(value)) return value;
  throw new ExportMalformed(`the export's trailer is not in order (${wrongMember(trailer.Errors(value))})`);
}

/** Returns a message about the first wrong member. The name of an unknown member is left out, since it is not ours. */
function wrongMember(errors: ValueErrorIterator): string {
  const first = errors.First();
  if (first === undefined) return "unknown";
  const isUnknown = first.type === ValueErrorType.ObjectAdditionalProperties;
  const path = isUnknown ? first.path.slice(0, first.path.lastIndexOf("/")) : first.path;
  return `${path.slice(1) || "members"}: ${first.message}`;
}
