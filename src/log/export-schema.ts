/**
 * The schemas of an export's header and trailer, and the types that follow from them. The threads of
 * a daemon import only the types.
 */
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueErrorIterator, ValueErrorType } from "@sinclair/typebox/errors";
import type { JsonObject, JsonValue } from "../json.ts";
import { Count, Hash, only, orNull } from "../schemas.ts";
import { EXPORT_FORMAT } from "./event.ts";
import { KeyChainSchema } from "./key-chain.ts";

/** The longest line or event that is read, characters. A workspace cannot write one nearly as long. */
export const MAX_RECORD_CHARS = 16 * 1024 * 1024;

/** The file is not an export of this format. The message is for the person who has the file. */
export class ExportFormatError extends Error {
  override readonly name: string = "ExportFormatError";
}

/** An export of another format, which a newer program wrote. */
export class NewerExport extends ExportFormatError {
  override readonly name = "NewerExport";
}

/** An export of this format with something in it that the format does not allow: it was changed. */
export class ExportMalformed extends ExportFormatError {
  override readonly name = "ExportMalformed";
}

const NullableString = orNull(Type.String());

/** More hashes than any proof has. */
const MAX_HASHES = 128;
const Hashes = Type.Array(Hash, { maxItems: MAX_HASHES });
const RangeSchema = only({ before: Hashes, after: Hashes, binding: Hashes });
const PathSchema = only({ path: Hashes, binding: Hashes });
/** An event. Its members are checked when it is parsed. */
const EventObject = Type.Unsafe<JsonObject>(Type.Object({}));

const ErasuresSchema = only({
  events: Type.Array(only({ event: EventObject, path: orNull(Hashes) })),
  seal: NullableString,
});

const RestoresSchema = Type.Array(only({ event: EventObject, path: Hashes }), { minItems: 1 });

const HeaderSchema = only({
  format: Type.Literal(EXPORT_FORMAT),
  vocabulary: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  workspace_id: Type.String(),
  agent_id: NullableString,
  start_time: NullableString,
  end_time: NullableString,
  exported_at: Type.String(),
  event_count: Count,
  seal: NullableString,
  public_key: NullableString,
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

/** The header of an export; in `json` the members other than `events`. */
export type ExportHeader = Static<typeof HeaderSchema>;

/** The last line of an ndjson export. */
export type ExportTrailer = Static<typeof TrailerSchema>;

const header = TypeCompiler.Compile(HeaderSchema);
const trailer = TypeCompiler.Compile(TrailerSchema);

/**
 * Checks the members of a header.
 * @throws ExportMalformed naming the first member that is wrong
 * @throws NewerExport when it names a later format
 * @throws ExportFormatError when it names no format of exports
 */
export function asHeader(value: JsonObject): ExportHeader {
  refuseNewer(value.format);
  if (value.format !== EXPORT_FORMAT) throw new ExportFormatError("this is not an export of a known format");
  if (header.Check(value)) return value;
  throw new ExportMalformed(`the export's header is not in order (${wrongMember(header.Errors(value))})`);
}

/** @throws NewerExport when this is the name of a later format */
export function refuseNewer(format: JsonValue | undefined): void {
  if (typeof format === "string" && format !== EXPORT_FORMAT && /^governd\.audit-export\/[1-9][0-9]*$/.test(format)) {
    throw new NewerExport("this is an export of a later format than this governd knows");
  }
}

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
