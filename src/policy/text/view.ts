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

/** Builds a view piece by piece. */
export class ViewBuilder {
  private readonly parts: string[] = [];
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];

  /** Adds `piece`, which stands for the original `[start, end)`. */
  add(piece: string, start: number, end: number): void {
    this.parts.push(piece);
    for (let i = 0; i < piece.length; i++) {
      this.starts.push(start);
      this.ends.push(end);
    }
  }

  /** Adds the original's `[start, end)` unchanged. */
  copy(text: string, start: number, end: number): void {
    this.parts.push(text.slice(start, end));
    for (let i = start; i < end; i++) {
      this.starts.push(i);
      this.ends.push(i + 1);
    }
  }

  build(): View {
    const { starts, ends } = this;
    const last = ends.length === 0 ? 0 : (ends[ends.length - 1] as number);
    return {
      text: this.parts.join(""),
      start: (at) => starts[at] ?? last,
      end: (at) => (at === 0 ? (starts[0] ?? 0) : (ends[at - 1] as number)),
    };
  }
}

/** A view of a view: `outer` reads a text that `inner` made. */
export function compose(outer: View, inner: View): View {
  return {
    text: outer.text,
    start: (at) => inner.start(outer.start(at)),
    end: (at) => inner.end(outer.end(at)),
  };
}
