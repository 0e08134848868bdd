/** Verifies a part of a workspace's log. Accepts only valid parts. */
import type { JsonObject } from "../json.ts";
import type { AuditEventBody } from "../log/event.ts";
import type { Reader } from "../store/transaction.ts";
import { feedLog } from "./events/log-pages.ts";
import { LogVerifier } from "./events/log-verifier.ts";
import type { Segment } from "./events/segment.ts";
import { isNoted } from "./preparation.ts";
import { type KeyEvent, keyEventOf } from "./rows/expected/key-events.ts";
import { isStoredTile } from "./rows/stored-tiles.ts";

/** Events from `firstSeq` to `lastSeq`; `marks` are the sizes of seals that end there, ascending. */
export interface LogRange {
  firstSeq: number;
  lastSeq: number;
  marks: readonly number[];
}

/** An event on which stored rows depend, other than those about keys. */
interface NotedEvent {
  /** The number of events about keys before it. */
  after: number;
  event: AuditEventBody;
  /** Null when erased. */
  details: JsonObject | null;
}

/** The result for a valid part. */
export interface LogPart {
  segment: Segment;
  /** The root over each full tile of leaves. */
  roots: Uint8Array[];
  ofKeys: KeyEvents["columns"];
  events: NotedEvent[];
}

/** Events about keys in columns, which are sent to another thread at a fraction of the cost of objects. */
export class KeyEvents {
  readonly #numbers: Float64Array<ArrayBuffer>;
  readonly #keys: string[] = [];
  readonly #digests: string[] = [];
  readonly #kinds: Pick<KeyEvent, "act" | "agent_id" | "config_version" | "sees">[] = [];
  /** The numbers of the kinds of each agent. */
  readonly #kindsOf = new Map<string | null, number[]>();

  /** @param capacity the most events */
  constructor(capacity: number) {
    this.#numbers = new Float64Array(NUMBERS * capacity);
  }

  get count(): number {
    return this.#keys.length;
  }

  add({ act, agent_id, config_version, sees, seq, timeMs, key, digest, expiresAtMs, returned }: KeyEvent): void {
    const own = this.#kindsOf.getOrInsertComputed(agent_id, () => []);
    let kind = own.findLast((number) => {
      const known = this.#kinds[number];
      return known?.act === act && known.config_version === config_version && known.sees === sees;
    });
    if (kind === undefined) {
      kind = this.#kinds.push({ act, agent_id, config_version, sees }) - 1;
      own.push(kind);
    }
    this.#numbers.set([seq, timeMs, expiresAtMs ?? -1, kind, returned ?? -1], NUMBERS * this.count);
    this.#keys.push(key);
    this.#digests.push(digest);
  }

  get columns() {
    return { numbers: this.#numbers, keys: this.#keys, digests: this.#digests, kinds: this.#kinds };
  }

  /** Yields the events from number `from` to before number `to`. */
  static *of({ numbers, keys, digests, kinds }: KeyEvents["columns"], from: number, to: number): Generator<KeyEvent> {
    for (let index = from; index < to; index++) {
      const at = NUMBERS * index;
      const [seq, timeMs, expiresMs] = [numbers[at] as number, numbers[at + 1] as number, numbers[at + 2] as number];
      const { act, agent_id, config_version, sees } = kinds[
        numbers[at + 3] as number
      ] as KeyEvents["columns"]["kinds"][number];
      const [key, digest] = [keys[index] as string, digests[index] as string];
      const expiresAtMs = expiresMs < 0 ? null : expiresMs;
      const shown = numbers[at + 4] as number;
      const returned = shown < 0 ? null : shown;
      yield { act, agent_id, config_version, sees, seq, timeMs, key, digest, expiresAtMs, returned };
    }
  }
}

/**
 * The numbers of an event: its position, its time and that of the end of its entry (-1: none), its kind, and the version
 * that it returned (-1: none).
 */
const NUMBERS = 5;

/** Verifies a part. Returns null when it is not valid, or when only the whole log can decide. */
export async function verifyLogPart(reader: Reader, range: LogRange): Promise<LogPart | null> {
  const { firstSeq, lastSeq, marks } = range;
  const ofKeys = new KeyEvents(lastSeq - firstSeq + 1);
  const events: NotedEvent[] = [];
  const roots: Uint8Array[] = [];
  const verifier: LogVerifier = new LogVerifier({
    scope: "workspace",
    start: { seq: firstSeq },
    seals: { trusted: [], offered: [] },
    marks,
    onEvent: (event, details) => {
      if (!isNoted(event, details)) return;
      const ofKey = keyEventOf(event, details);
      if (ofKey !== null) ofKeys.add(ofKey);
      else events.push({ after: ofKeys.count, event, details });
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
  if (verifier.vocabularies.needWholeLog) return null;
  // A restore must name the event before it, which is in another part.
  if (segment.restores.some(({ seq }) => seq === firstSeq)) return null;
  return { segment, roots, ofKeys: ofKeys.columns, events };
}
