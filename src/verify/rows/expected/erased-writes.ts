/**
 * Writes whose version was erased alone, while the other versions of their key stay. The event of the erasure names
 * another event about the same key, and says when the version would have ended by itself. So the replay follows the key
 * through the write, whose own details are gone.
 */
import { sqlNames } from "../../../core/rows/entry-changes.ts";
import type { ErasedVersion } from "../../../log/effects.ts";
import type { Reader } from "../../../store/transaction.ts";
import { eventColumn, type NamedEvent, readNamedEvent } from "../events-named.ts";

/** What is still known of such a write. */
interface ErasedWrite {
  key: string;
  /** When the entry would have ended by itself, ms; null for never. */
  expiresAtMs: number | null;
}

export type ErasedWrites = ReadonlyMap<number, ErasedWrite>;

/** In place of the digest of a content that is erased. No digest is empty. */
export const ERASED = "";

const ERASURES = `SELECT seq FROM events WHERE operation IN (${sqlNames("erase")}) AND result = 'ok'`;
const EVENT = `SELECT ${eventColumn("e")} FROM events e WHERE e.seq = ?`;

/** Returns such writes by their positions. One whose key no other event names any more is left out. */
export async function loadErasedWrites(reader: Reader): Promise<ErasedWrites> {
  const read = async (seq: number): Promise<NamedEvent | null> => {
    const column = await reader.value<Buffer>(EVENT, [seq]);
    return column === undefined ? null : readNamedEvent(column);
  };
  const erased = new Map<number, ErasedVersion>();
  for (const [seq] of await reader.all<[number]>(ERASURES)) {
    const effect = (await read(seq))?.effect;
    if (effect?.kind === "erase" && effect.version !== null) erased.set(effect.version.seq, effect.version);
  }
  const writes = new Map<number, ErasedWrite>();
  for (const [seq, { expiresAtMs }] of erased) {
    const key = (await read(namingEvent(erased, seq)))?.details?.key;
    if (typeof key === "string") writes.set(seq, { key, expiresAtMs });
  }
  return writes;
}

/** Returns the position of an event that still names the key of an erased write; that of the write itself for none. */
function namingEvent(erased: ReadonlyMap<number, ErasedVersion>, seq: number): number {
  const passed = new Set([seq]);
  for (let at = seq; ; ) {
    const next = erased.get(at)?.keyOf ?? null;
    if (next === null || passed.has(next)) return seq;
    if (!erased.has(next)) return next;
    passed.add(next);
    at = next;
  }
}

/** Returns an event with the key of the write that it is, if only its version was erased; otherwise the event. */
export function knownWrite(named: NamedEvent | null, writes: ErasedWrites): NamedEvent | null {
  const known = named === null || named.effect.kind !== "unknown" ? undefined : writes.get(named.event.seq);
  if (named === null || known === undefined) return named;
  return { ...named, effect: { kind: "put", digest: ERASED, ...known } };
}
