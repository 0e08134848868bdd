/** Who was shown something, or wrote it, in which session and when: what connects reads with the writes that came after. */
import type { Who } from "./blocks.ts";

/** How far apart the times of a read and of a write without a session may be, ms: ten minutes. */
const APART_MS = 600_000;

/** An event of a reader or a writer. */
interface Act {
  seq: number;
  timeMs: number;
  /** How far what it showed, or wrote, is from where the walk began. */
  depth: number;
  /** The position of that write. */
  from: number;
}

/** The earliest and the latest event of one actor, at one depth, in one span of ten minutes. */
interface Span {
  earliest: Act;
  latest: Act;
}

/** Events by session, and by actor and time. Of each, those with the smallest depth are found. */
export class Acts {
  /** By actor and session. */
  readonly #sessions = new Map<string, Act>();
  /** By actor, and by the number of the span of ten minutes; for each depth. */
  readonly #spans = new Map<string, Map<number, (Span | undefined)[]>>();

  inSession({ actor, session }: Who, act: Act): void {
    const name = JSON.stringify([actor, session]);
    const known = this.#sessions.get(name);
    if (known === undefined || known.depth > act.depth) this.#sessions.set(name, act);
  }

  atTime({ actor }: Who, act: Act): void {
    const { timeMs, depth } = act;
    const spans = this.#spans.getOrInsertComputed(actor, () => new Map());
    const byDepth = spans.getOrInsertComputed(Math.floor(timeMs / APART_MS), () => []);
    const span = byDepth[depth];
    if (span === undefined) byDepth[depth] = { earliest: act, latest: act };
    else if (timeMs < span.earliest.timeMs) span.earliest = act;
    else if (timeMs > span.latest.timeMs) span.latest = act;
  }

  /** Returns an event with the smallest depth in a session. */
  ofSession({ actor, session }: Who): Act | undefined {
    return this.#sessions.size === 0 ? undefined : this.#sessions.get(JSON.stringify([actor, session]));
  }

  /** Returns an event with the smallest depth that the actor made at most ten minutes before or after a time. */
  around({ actor }: Who, timeMs: number): Act | undefined {
    const spans = this.#spans.get(actor);
    if (spans === undefined) return undefined;
    const number = Math.floor(timeMs / APART_MS);
    const [before, own, after] = [spans.get(number - 1), spans.get(number), spans.get(number + 1)];
    const depths = Math.max(before?.length ?? 0, own?.length ?? 0, after?.length ?? 0);
    for (let depth = 0; depth < depths; depth++) {
      // Every event of the same span is near enough, and of the others those at the near end.
      const near = own?.[depth]?.earliest;
      if (near !== undefined) return near;
      const earlier = before?.[depth]?.latest;
      if (earlier !== undefined && earlier.timeMs >= timeMs - APART_MS) return earlier;
      const later = after?.[depth]?.earliest;
      if (later !== undefined && later.timeMs <= timeMs + APART_MS) return later;
    }
    return undefined;
  }
}

/** Returns the one with the smaller depth. */
export const nearer = (one: Act | undefined, other: Act | undefined): Act | undefined =>
  other === undefined || (one !== undefined && one.depth <= other.depth) ? one : other;
