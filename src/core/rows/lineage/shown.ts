/** Who was shown something, or wrote it, in which session and when: what connects reads with the writes that came after. */
import type { Who } from "./blocks.ts";

/** How far apart the times of a read and of a write without a session may be, ms: ten minutes. */
const APART_MS = 600_000;

/** How far an event is from where the walk began, and its position. */
interface Found {
  depth: number;
  seq: number;
}

/** An event and its time. */
interface Timed {
  timeMs: number;
  seq: number;
}

/** The earliest and the latest event of one actor, at one depth, in one span of ten minutes. */
interface Span {
  earliest: Timed;
  latest: Timed;
}

/** Events by session, and by actor and time. Of each, those with the smallest depth are found. */
export class Acts {
  /** By actor and session. */
  readonly #sessions = new Map<string, Found>();
  /** By actor, and by the number of the span of ten minutes; for each depth. */
  readonly #spans = new Map<string, Map<number, (Span | undefined)[]>>();

  inSession({ actor, session }: Who, depth: number, seq: number): void {
    const name = JSON.stringify([actor, session]);
    const known = this.#sessions.get(name);
    if (known === undefined || known.depth > depth) this.#sessions.set(name, { depth, seq });
  }

  atTime({ actor }: Who, timeMs: number, depth: number, seq: number): void {
    const spans = this.#spans.getOrInsertComputed(actor, () => new Map());
    const byDepth = spans.getOrInsertComputed(Math.floor(timeMs / APART_MS), () => []);
    const own = { timeMs, seq };
    const span = byDepth[depth];
    if (span === undefined) byDepth[depth] = { earliest: own, latest: own };
    else if (timeMs < span.earliest.timeMs) span.earliest = own;
    else if (timeMs > span.latest.timeMs) span.latest = own;
  }

  /** Returns an event with the smallest depth in a session. */
  ofSession({ actor, session }: Who): Found | undefined {
    return this.#sessions.size === 0 ? undefined : this.#sessions.get(JSON.stringify([actor, session]));
  }

  /** Returns an event with the smallest depth that the actor made at most ten minutes before or after a time. */
  around({ actor }: Who, timeMs: number): Found | undefined {
    const spans = this.#spans.get(actor);
    if (spans === undefined) return undefined;
    const number = Math.floor(timeMs / APART_MS);
    const [before, own, after] = [spans.get(number - 1), spans.get(number), spans.get(number + 1)];
    const depths = Math.max(before?.length ?? 0, own?.length ?? 0, after?.length ?? 0);
    for (let depth = 0; depth < depths; depth++) {
      // Every event of the same span is near enough, and of the others those at the near end.
      const near = own?.[depth]?.earliest;
      if (near !== undefined) return { depth, seq: near.seq };
      const earlier = before?.[depth]?.latest;
      if (earlier !== undefined && earlier.timeMs >= timeMs - APART_MS) return { depth, seq: earlier.seq };
      const later = after?.[depth]?.earliest;
      if (later !== undefined && later.timeMs <= timeMs + APART_MS) return { depth, seq: later.seq };
    }
    return undefined;
  }
}

/** Returns the one with the smaller depth. */
export const nearer = (one: Found | undefined, other: Found | undefined): Found | undefined =>
  other === undefined || (one !== undefined && one.depth <= other.depth) ? one : other;
