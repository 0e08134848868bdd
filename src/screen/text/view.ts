/**
 * A view is a text as the detectors read it: compatible forms made plain, invisible characters taken
 * out, or one layer of encoding undone, together with the way back to offsets in the original text.
 */

/** A text to scan and the map from its offsets to the original's. */
export interface View {
  readonly text: string;
  /** Offset of the original start of the unit at `at`. */
  start(at: number): number;
  /** Offset of the original end of what ends before `at`. */
  end(at: number): number;
}

/** The view of an unchanged text. */
export function identity(text: string): View {
  return { text, start: (at) => at, end: (at) => at };
}

/**
 * The numbers of one segment in `ViewBuilder`: its offset in the view, start and end in the original, whether unit for
 * unit.
 */
const SEGMENT = 4;

/** Builds the view of a text in which pieces replace ranges. */
export class ViewBuilder {
  #text = "";
  readonly #segments: number[] = [];
  /** Where the last replaced range ends. */
  #readTo = 0;

  constructor(private readonly original: string) {}

  /** Puts `piece` in the place of the original's `[start, end)`. Ranges come in order. */
  replace(start: number, end: number, piece: string): void {
    if (start > this.#readTo) this.#add(this.#readTo, start, this.original.slice(this.#readTo, start));
    if (piece !== "") this.#add(start, end, piece);
    this.#readTo = end;
  }

  #add(start: number, end: number, piece: string): void {
    const segments = this.#segments;
    const last = segments.length - SEGMENT;
    const aligned = piece.length === end - start;
    if (aligned && last >= 0 && segments[last + 3] === 1 && segments[last + 2] === start) segments[last + 2] = end;
    else segments.push(this.#text.length, start, end, aligned ? 1 : 0);
    this.#text += piece;
  }

  /** Returns the view, or null when nothing was replaced. */
  build(): View | null {
    if (this.#readTo === 0) return null;
    this.replace(this.original.length, this.original.length, "");
    const text = this.#text;
    const segments = this.#segments;
    return {
      text,
      start: (at) => {
        const [from = 0, start = 0, end = 0, aligned = 0] = segmentAt(segments, at);
        if (aligned) return Math.min(end, start + at - from);
        return at >= text.length ? end : start;
      },
      end: (at) => {
        const [from = 0, start = 0, end = 0, aligned = 0] = segmentAt(segments, at - 1);
        return aligned ? start + at - from : end;
      },
    };
  }
}

/** The last segment that begins at or before `at`. */
function segmentAt(segments: readonly number[], at: number): readonly number[] {
  let low = 0;
  let high = segments.length / SEGMENT - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((segments[middle * SEGMENT] as number) <= at) low = middle;
    else high = middle - 1;
  }
  return segments.slice(low * SEGMENT, low * SEGMENT + SEGMENT);
}

/** A view of a view: `outer` reads a text that `inner` made. */
export function compose(outer: View, inner: View): View {
  return { text: outer.text, start: (at) => inner.start(outer.start(at)), end: (at) => inner.end(outer.end(at)) };
}
