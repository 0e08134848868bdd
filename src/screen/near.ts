/** Where a text is looked at again after some of it was replaced. */
import { REACH } from "./check.ts";
import type { View } from "./text/view.ts";

/** A piece of a text, in UTF-16 code units; `end` is exclusive. */
export interface Span {
  start: number;
  end: number;
}

/** Reports whether an anchor that ends at `end` is near a place. To be called with ascending ends. Null: all are. */
export type IsNear = ((end: number) => boolean) | null;

/** Escapes and long anchors may reach a little farther than the checks themselves. */
const MARGIN = 256;

/** Returns the function for anchors in a view; `places` are in the view's original, ordered by their start. */
export function nearIn(view: View, places: readonly Span[]): IsNear {
  const windows: Span[] = [];
  for (const place of places) {
    const start = offsetIn(view, place.start) - REACH - MARGIN;
    const end = offsetIn(view, place.end) + REACH + MARGIN;
    const last = windows.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else windows.push({ start, end });
  }
  let next = 0;
  return (end) => {
    while (next < windows.length && (windows[next] as Span).end < end) next++;
    return next < windows.length && (windows[next] as Span).start <= end;
  };
}

/** Returns the first offset in the view of what is at or after `at` in the original. */
function offsetIn(view: View, at: number): number {
  let [low, high] = [0, view.text.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (view.start(middle) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
