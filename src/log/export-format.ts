/**
 * # Format governd.audit-export/1
 *
 * Events as the API shows them (present.ts), with what is needed to verify them away from the
 * database. In `json` one object:
 *
 *   {"format": "governd.audit-export/1", "workspace_id", "agent_id"|null, "start_time"|null,
 *    "end_time"|null, "exported_at", "event_count", "starts_after": {"agent_seq", "hash"}|null,
 *    "proof": …|null, "events": [ … ], "seal": …|null, "public_key": …|null}
 *
 * In `ndjson` a line `{"type": "header", …}` with all of these but the events, a line
 * `{"type": "event", …}` for each event, and a last line `{"type": "trailer", "event_count", "head"}`,
 * in which `head` is the hash of the last event, or null when there is none.
 *
 * Events are in seq order. `agent_id` null means the whole workspace, without gaps in seq;
 * otherwise it is one agent's chain. `starts_after` names the agent's event before the first one
 * here, when a window of time cut it off; it is null for the beginning of a chain and for a whole
 * workspace, whose events name their predecessors themselves.
 *
 * `seal` is a seal (seal.ts) over at least these events, `public_key` the key that made it, as a
 * verifier key (note.ts). `proof` connects them, hashes in hex: for a whole workspace `{"before",
 * "after"}`, the subtrees on both sides of its run of events (proof.ts, RangeProof), which prove that
 * none is missing between; for one agent's chain `{"path"}`, the inclusion proof of its last event,
 * whose links reach all events before it.
 *
 * An export without its end (the trailer, or the closing brace) is incomplete and proves nothing about what is missing.
 * Members beyond these, and anything but white space after the end, are tampering.
 */
import Type, { type Static } from "typebox";
import { Compile } from "typebox/compile";
import type { JsonObject } from "../json.ts";

/** The format that every export names. */
export const EXPORT_FORMAT = "governd.audit-export/1";

/** The longest line or event that is read, characters. A workspace cannot write one nearly as long. */
export const MAX_RECORD_CHARS = 16 * 1024 * 1024;

const NullableString = Type.Union([Type.String(), Type.Null()]);
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Hash = Type.String({ pattern: "^[0-9a-f]{64}$" });

/** More hashes than any proof has. */
const MAX_HASHES = 128;
const Hashes = Type.Array(Hash, { maxItems: MAX_HASHES });
const RangeSchema = Type.Object({ before: Hashes, after: Hashes }, { additionalProperties: false });
const PathSchema = Type.Object({ path: Hashes }, { additionalProperties: false });

const HeaderSchema = Type.Object(
  {
    format: Type.Literal(EXPORT_FORMAT),
    workspace_id: Type.String(),
    agent_id: NullableString,
    start_time: NullableString,
    end_time: NullableString,
    exported_at: Type.String(),
    event_count: Count,
    starts_after: Type.Union([
      Type.Object({ agent_seq: Count, hash: Hash }, { additionalProperties: false }),
      Type.Null(),
    ]),
    proof: Type.Optional(Type.Union([RangeSchema, PathSchema, Type.Null()])),
    seal: NullableString,
    public_key: NullableString,
  },
  { additionalProperties: false },
);

const TrailerSchema = Type.Object(
  { type: Type.Literal("trailer"), event_count: Count, head: Type.Union([Hash, Type.Null()]) },
  { additionalProperties: false },
);

/** What connects an export's events with its seal. */
export type ExportProof = Static<typeof RangeSchema> | Static<typeof PathSchema>;

/** What an export says about itself; in `json` the members beside `events`. */
export type ExportHeader = Static<typeof HeaderSchema>;

/** The last line of an ndjson export. */
export type ExportTrailer = Static<typeof TrailerSchema>;

const header = Compile(HeaderSchema);
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
  if (header.Check(value)) return value;
  const message = `the export's header is not in order (${wrongMember(header.Errors(value))})`;
  throw value.format === EXPORT_FORMAT ? new ExportMalformed(message) : new ExportFormatError(message);
}

/** Checks a trailer. @throws ExportMalformed naming the first member that is wrong */
export function asTrailer(value: unknown): ExportTrailer {
  if (trailer.Check(value)) return value;
  throw new ExportMalformed(`the export's trailer is not in order (${wrongMember(trailer.Errors(value))})`);
}

function wrongMember(errors: readonly { instancePath: string; message: string }[]): string {
  const first = errors[0];
  return first === undefined ? "unknown" : `${first.instancePath.slice(1) || "members"}: ${first.message}`;
}
