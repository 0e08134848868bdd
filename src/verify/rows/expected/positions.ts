/** Searches ascending positions in the log. */

/** Returns the first index whose position is `seq` or later; the length when there is none. */
export function firstAtOrAfter(positions: ArrayLike<number>, seq: number): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((positions[middle] as number) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
