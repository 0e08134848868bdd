/**
 * What is set aside, at every position of the log. It does not depend on what else happened to a version, so all events that
 * set versions aside or release them are read before the others: also those in the chains of other agents.
 */
import { sqlNames } from "../../../core/rows/entry-changes.ts";
import type { EffectFacts } from "../../../log/effects.ts";
import type { Reader } from "../../../store/transaction.ts";
import { pages } from "../../../store/walk.ts";
import { eventColumn, readNamedEvent } from "../events-named.ts";

/** A version was set aside by the event `from`, and released by the event `to`. */
type Span = { from: number; to: number };

const NOT_YET = Number.POSITIVE_INFINITY;

/** An event that is not possible after the events before it. */
interface Impossible {
  agentId: string | null;
  seq: number;
  message: string;
}

export class Quarantines {
  readonly #spans = new Map<number, Span[]>();
  readonly impossible: Impossible[] = [];

  /** Takes the next event. Returns whether it is possible after the events before it. */
  take(kind: "set_aside" | "release", { versions }: EffectFacts["set_aside"], seq: number): boolean {
    let isPossible = true;
    for (const written of versions) {
      const spans = this.#spans.getOrInsertComputed(written, () => []);
      const last = spans.at(-1);
      const isAside = last !== undefined && last.to === NOT_YET;
      if (written >= seq || isAside !== (kind === "release")) isPossible = false;
      else if (kind === "set_aside") spans.push({ from: seq, to: NOT_YET });
      else (last as Span).to = seq;
    }
    return isPossible;
  }

  /** Whether the version that an event wrote was set aside right before the event at a position. */
  isSetAside(written: number, seq: number): boolean {
    if (this.#spans.size === 0) return false;
    return this.#spans.get(written)?.some(({ from, to }) => from < seq && seq <= to) ?? false;
  }

  /** Returns the event that has set a version aside, after the last event; null when it is not set aside. */
  setAsideBy(written: number): number | null {
    const last = this.#spans.get(written)?.at(-1);
    return last?.to === NOT_YET ? last.from : null;
  }
}

const SELECT = `SELECT e.seq, ${eventColumn("e")} FROM events e
  WHERE e.seq > ? AND e.operation IN (${sqlNames("set_aside", "release")}) ORDER BY e.seq LIMIT 100`;

/** The events at some positions that are there and are not stored writes. */
const OTHERS = `SELECT count(*) FROM events WHERE seq IN (SELECT value FROM json_each(?))
  AND NOT (operation IN (${sqlNames("put")}) AND result = 'allowed')`;

const IMPOSSIBLE = {
  set_aside: "the operation sets aside what is no stored version, or is set aside already",
  release: "the operation releases what is not set aside",
};

/** Reads what is set aside. The events themselves are verified with the log. */
export async function loadQuarantines(reader: Reader): Promise<Quarantines> {
  const quarantines = new Quarantines();
  const read = (after: number) => reader.all<[number, Buffer]>(SELECT, [after]);
  for await (const page of pages(-1, 100, read, ([seq]) => seq)) {
    for (const [, column] of page) {
      const named = readNamedEvent(column);
      if (named === null) continue;
      const { event, effect } = named;
      if (effect.kind !== "set_aside" && effect.kind !== "release") continue;
      const isPossible = quarantines.take(effect.kind, effect, event.seq);
      const others =
        effect.kind === "release" ? 0 : await reader.value<number>(OTHERS, [JSON.stringify(effect.versions)]);
      if (isPossible && others === 0) continue;
      const { agent_id: agentId, seq } = event;
      quarantines.impossible.push({ agentId, seq, message: IMPOSSIBLE[effect.kind] });
    }
  }
  return quarantines;
}
