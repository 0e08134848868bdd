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

/** The view of a text that is read as it stands. */
export function identity(text: string): View {
  return { text, start: (at) => at, end: (at) => at };
}

/** A stretch of a view: copied unit by unit, or a piece that stands for something else. */
interface Segment {
  at: number;
  start: number;
  end: number;
  copied: boolean;
}

/** Builds a view piece by piece. */
export class ViewBuilder {
  private readonly parts: string[] = [];
  private readonly segments: Segment[] = [];
  private length = 0;

  /** Adds `piece`, which stands for the original `[start, end)`. */
  add(piece: string, start: number, end: number): void {
    if (piece === "") return;
    this.push(piece, { at: this.length, start, end, copied: false });
  }

  /** Adds the original's `[start, end)` unchanged. */
  copy(text: string, start: number, end: number): void {
    if (end > start) this.push(text.slice(start, end), { at: this.length, start, end, copied: true });
  }

  private push(piece: string, segment: Segment): void {
    this.parts.push(piece);
    this.segments.push(segment);
    this.length += piece.length;
  }

  build(): View {
    const { segments, length } = this;
    return {
      text: this.parts.join(""),
      start: (at) => {
        const segment = segmentAt(segments, at);
        if (!segment) return 0;
        return segment.copied ? Math.min(segment.end, segment.start + at - segment.at) : at >= length ? segment.end : segment.start;
      },
      end: (at) => {
        const segment = segmentAt(segments, at - 1);
        if (!segment) return 0;
        return segment.copied ? segment.start + at - segment.at : segment.end;
      },
    };
  }
}

/** The last segment that begins at or before `at`. */
function segmentAt(segments: readonly Segment[], at: number): Segment | undefined {
  let low = 0;
  let high = segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((segments[middle] as Segment).at <= at) low = middle;
    else high = middle - 1;
  }
  return segments[low];
}

/** A view of a view: `outer` reads a text that `inner` made. */
export function compose(outer: View, inner: View): View {
  return {
    text: outer.text,
    start: (at) => inner.start(outer.start(at)),
    end: (at) => inner.end(outer.end(at)),
  };
}
