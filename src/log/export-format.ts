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

/** The format that every new export names. */
export const EXPORT_FORMAT = "governd.audit-export/2";
/** The format without a binding event. */
export const OLDER_EXPORT_FORMAT = "governd.audit-export/1";

/** The longest line or event that is read, characters. A workspace cannot write one nearly as long. */
export const MAX_RECORD_CHARS = 16 * 1024 * 1024;

/** The file is not an export of this format. The message is for the person who has the file. */
export class ExportFormatError extends Error {
  override readonly name: string = "ExportFormatError";
}

/** An export of this format with something in it that the format does not allow: it was changed. */
export class ExportMalformed extends ExportFormatError {
  override readonly name = "ExportMalformed";
}
