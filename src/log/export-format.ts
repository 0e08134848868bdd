/**
 * # Format governd.audit-export/2
 *
 * Events as the API shows them (present.ts), with what is needed to verify them away from the
 * database. In `json` one object:
 *
 *   {"format": "governd.audit-export/2", "workspace_id", "agent_id"|null, "start_time"|null,
 *    "end_time"|null, "exported_at", "event_count", "before": …|null, "after": …, "binding": …,
 *    "proof": …|null, "events": [ … ], "erasures": …, "seal": …|null, "public_key": …|null}
 *
 * In `ndjson` a line `{"type": "header", …}` with all of these but `events` and `erasures`, a line
 * `{"type": "event", …}` for each event, and a last line
 * `{"type": "trailer", "event_count", "head", "erasures": …}`, in which `head` is the hash of the last
 * event, or null when there is none.
 *
 * Events are in seq order. `agent_id` null means the whole workspace, without gaps in seq; otherwise it is one agent's
 * chain. `binding` is the event of the export itself, whose details state what the export holds (export-binding.ts).
 * `before` and `after` are the events on both sides of the exported ones, in the same order (the log's or the agent's
 * chain), each as the 14 members that its hash is made of. They show that the exported events are all of their window.
 * `before` is null when there is none. `after` always exists: at the latest it is the event of the export.
 *
 * `seal` is the seal (seal.ts) over the log up to the event of the export, `public_key` the key that made it, as a
 * verifier key (note.ts). `proof` connects them, hashes in hex: `binding` is the inclusion proof of the event of the
 * export. For a whole workspace `before` and `after` are the subtrees on both sides of the run of leaves from the event
 * before to the event after (proof.ts, RangeProof), which prove that none is missing between; for one agent's chain
 * `path` is the inclusion proof of the event after, whose links reach all events before it.
 *
 * `erasures` is absent when it is not needed: {"events": [{"event", "path"}, …], "seal"}. Details of exported events may
 * be destroyed by erasures that come after the last exported event, even while the export is streamed. Each such
 * erasure is there as shown, with its inclusion proof in `seal`; `path` and `seal` are null when no seal covers it yet.
 *
 * `keys` is absent unless the sealing key was rotated: it leads from the log's first key to `public_key` (key-chain.ts).
 *
 * An export without its end (the trailer, or the closing brace) is incomplete and proves nothing about what is missing.
 * Members beyond these, and anything but white space after the end, are tampering.
 *
 * # Format governd.audit-export/1
 *
 * The older format, which is still read. It has no `before`, `after`, `binding` and `erasures`. `starts_after` names the
 * agent's event before the first one by `agent_seq` and `hash`, or is null. The seal covers the events up to the
 * export's own, which is not in it. `proof` is `{"before", "after"}` around the exported events, or `{"path"}` of the last one.
 */
import Type, { type Static } from "typebox";
import { Compile } from "typebox/compile";
import type { JsonObject } from "../json.ts";
import { KeyChainSchema } from "./key-chain.ts";

/** The format that every new export names. */
export const EXPORT_FORMAT = "governd.audit-export/2";
/** The format without a binding event. */
const OLDER_EXPORT_FORMAT = "governd.audit-export/1";

/** The longest line or event that is read, characters. A workspace cannot write one nearly as long. */
export const MAX_RECORD_CHARS = 16 * 1024 * 1024;

const NullableString = Type.Union([Type.String(), Type.Null()]);
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Hash = Type.String({ pattern: "^[0-9a-f]{64}$" });

/** More hashes than any proof has. */
const MAX_HASHES = 128;
const Hashes = Type.Array(Hash, { maxItems: MAX_HASHES });
const OlderRange = Type.Object({ before: Hashes, after: Hashes }, { additionalProperties: false });
const OlderPath = Type.Object({ path: Hashes }, { additionalProperties: false });
const RangeSchema = Type.Object({ before: Hashes, after: Hashes, binding: Hashes }, { additionalProperties: false });
const PathSchema = Type.Object({ path: Hashes, binding: Hashes }, { additionalProperties: false });
/** Its members are checked when it is read as an event. */
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

const ErasuresSchema = Type.Object(
  {
    events: Type.Array(
      Type.Object({ event: EventObject, path: Type.Union([Hashes, Type.Null()]) }, { additionalProperties: false }),
    ),
    seal: NullableString,
  },
  { additionalProperties: false },
);

const OlderHeaderSchema = Type.Object(
  {
    format: Type.Literal(OLDER_EXPORT_FORMAT),
    ...COMMON,
    starts_after: Type.Union([
      Type.Object({ agent_seq: Count, hash: Hash }, { additionalProperties: false }),
      Type.Null(),
    ]),
    proof: Type.Optional(Type.Union([OlderRange, OlderPath, Type.Null()])),
  },
  { additionalProperties: false },
);

const HeaderSchema = Type.Object(
  {
    format: Type.Literal(EXPORT_FORMAT),
    ...COMMON,
    before: Type.Union([EventObject, Type.Null()]),
    after: EventObject,
    binding: EventObject,
    proof: Type.Union([RangeSchema, PathSchema, Type.Null()]),
    keys: Type.Optional(KeyChainSchema),
    // In json it stands beside the header's members.
    erasures: Type.Optional(ErasuresSchema),
  },
  { additionalProperties: false },
);

const TrailerSchema = Type.Object(
  {
    type: Type.Literal("trailer"),
    event_count: Count,
    head: Type.Union([Hash, Type.Null()]),
    erasures: Type.Optional(ErasuresSchema),
  },
  { additionalProperties: false },
);

/** What connects an export's events with its seal. */
export type ExportProof = Static<typeof RangeSchema> | Static<typeof PathSchema>;

/** Erasures after the last exported event, which explain why details in the export are missing. */
export type ExportErasures = Static<typeof ErasuresSchema>;

/** What an export of the older format says about itself. */
export type OlderExportHeader = Static<typeof OlderHeaderSchema>;

/** What an export of the present format says about itself. */
export type BoundExportHeader = Static<typeof HeaderSchema>;

/** What an export says about itself; in `json` the members beside `events`. */
export type ExportHeader = OlderExportHeader | BoundExportHeader;

/** The last line of an ndjson export. */
export type ExportTrailer = Static<typeof TrailerSchema>;

const HEADERS = { [EXPORT_FORMAT]: Compile(HeaderSchema), [OLDER_EXPORT_FORMAT]: Compile(OlderHeaderSchema) };
const trailer = Compile(TrailerSchema);

/** The file is not an export of this format. The message is for the person who has the file. */
export class ExportFormatError extends Error {
  override readonly name: string = "ExportFormatError";
}

/** An export of this format with something in it that the format does not allow: it was changed. */
export class ExportMalformed extends ExportFormatError {
  override readonly name = "ExportMalformed";
}

/**
 * Checks the members of a header.
 *
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

function wrongMember(errors: readonly { instancePath: string; message: string }[]): string {
  const first = errors[0];
  return first === undefined ? "unknown" : `${first.instancePath.slice(1) || "members"}: ${first.message}`;
}
