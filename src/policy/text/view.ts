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

/** Numbers of one segment in `ViewBuilder`: where in the view, start and end in the original, whether copied. */
const SEGMENT = 4;

/** Builds a view from segments: ranges copied unit by unit, and pieces that replace a range. */
export class ViewBuilder {
  private text = "";
  private readonly segments: number[] = [];
  private length = 0;

  /** Adds `piece` in place of the original `[start, end)`. */
  add(piece: string, start: number, end: number): void {
    if (piece !== "") this.push(piece, start, end, 0);
  }

  /** Adds the original's `[start, end)` unchanged. */
  copy(text: string, start: number, end: number): void {
    if (end > start) this.push(text.slice(start, end), start, end, 1);
  }

  private push(piece: string, start: number, end: number, aligned: number): void {
    let copied = aligned;
    const { segments } = this;
    this.text += piece;
    if (piece.length === end - start) {
      // Unit for unit, so it continues the segment before it.
      const last = segments.length - SEGMENT;
      if (last >= 0 && segments[last + 3] === 1 && segments[last + 2] === start) {
        segments[last + 2] = end;
        this.length += piece.length;
        return;
      }
      copied = 1;
    }
    segments.push(this.length, start, end, copied);
    this.length += piece.length;
  }

  build(): View {
    const { segments, length } = this;
    return {
      text: this.text,
      start: (at) => {
        if (length === 0) return 0;
        const [from = 0, start = 0, end = 0, copied = 0] = segmentAt(segments, at);
        if (copied) return Math.min(end, start + at - from);
        return at >= length ? end : start;
      },
      end: (at) => {
        if (length === 0) return 0;
        const [from = 0, start = 0, end = 0, copied = 0] = segmentAt(segments, at - 1);
        return copied ? start + at - from : end;
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
