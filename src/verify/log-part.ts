/** Verifies a part of a workspace's log. Accepts only valid parts. */
import { canonicalEvent } from "../log/event.ts";
import type { Reader } from "../store/transaction.ts";
import { feedLog } from "./events/log-pages.ts";
import { LogVerifier } from "./events/log-verifier.ts";
import type { Segment } from "./events/segment.ts";
import { isNoted } from "./preparation.ts";
import { type PackedWrites, WritePacker } from "./rows/expected/writes.ts";
import { isStoredTile } from "./rows/stored-tiles.ts";

/** Events from `firstSeq` to `lastSeq`; `marks` are the sizes of seals that end there, ascending. */
export interface LogRange {
  firstSeq: number;
  lastSeq: number;
  marks: readonly number[];
}

/** An event on which stored rows depend, other than a packed write. */
interface NotedEvent {
  /** The number of packed writes before it. */
  after: number;
  /** The canonical text. */
  event: string;
  /** Null when erased. */
  details: string | null;
}

/** The result for a valid part. */
export interface LogPart {
  segment: Segment;
  /** The root over each full tile of leaves. */
  roots: Uint8Array[];
  writes: PackedWrites;
  events: NotedEvent[];
}

/** Verifies a part. Returns null when it is not valid, or when only the whole log can decide. */
export async function verifyLogPart(reader: Reader, range: LogRange): Promise<LogPart | null> {
  const { firstSeq, lastSeq, marks } = range;
  const writes = new WritePacker(lastSeq - firstSeq + 1);
  const events: NotedEvent[] = [];
  const roots: Uint8Array[] = [];
  const verifier: LogVerifier = new LogVerifier({
    scope: "workspace",
    start: { seq: firstSeq },
    seals: { trusted: [], offered: [] },
    marks,
    onEvent: (event, details) => {
      if (isNoted(event)) events.push({ after: writes.count, event: canonicalEvent(event), details });
    },
    onAccepted: (accepted, text) => {
      const { effect } = accepted.shape;
      if (effect === "none" || (effect === "put" && writes.add(accepted, text))) return;
      const event = text.ascii(accepted.start, accepted.end);
      const details = text.text(accepted.detailsAt, accepted.detailsEnd);
      events.push({ after: writes.count, event, details });
    },
    onTile: (tile, hashes, root) => {
      full.push({ level: 0, tile, hashes });
      roots.push(root);
    },
  });
  const full: Parameters<typeof isStoredTile>[1][] = [];
  let stored = true;
  const after = async () => {
    for (const tile of full.splice(0)) stored &&= await isStoredTile(reader, tile);
  };
  await feedLog(reader, verifier, { firstSeq, lastSeq }, { after });
  const segment = verifier.segment();
  const whole = segment.events === lastSeq - firstSeq + 1 && segment.nextSeq === lastSeq + 1;
  if (!whole || !stored || segment.problems.count > 0) return null;
  // A restore must name the event before it, which is in another part.
  if (segment.restores.some(({ seq }) => seq === firstSeq)) return null;
  return { segment, roots, writes: writes.packed(), events };
}
