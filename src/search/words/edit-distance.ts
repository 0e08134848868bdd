/**
 * How many slips of the keyboard lead from one word to another: letters put in, left out, replaced,
 * or swapped with their neighbour (optimal string alignment). Anything above `limit` comes back as
 * `limit + 1`; only a band of that width is computed.
 */
export function editDistance(one: string, other: string, limit: number): number {
  const tooFar = limit + 1;
  if (Math.abs(one.length - other.length) > limit) return tooFar;
  // Three rows of the usual table: i - 2, i - 1 and i, each over the prefixes of `other`.
  let older = new Array<number>(other.length + 1).fill(tooFar);
  let previous = Array.from({ length: other.length + 1 }, (_, j) => Math.min(j, tooFar));
  let current = new Array<number>(other.length + 1).fill(tooFar);
  for (let i = 1; i <= one.length; i++) {
    current.fill(tooFar);
    if (i <= limit) current[0] = i;
    let nearest = current[0] as number;
    const last = Math.min(other.length, i + limit);
    for (let j = Math.max(1, i - limit); j <= last; j++) {
      const same = one[i - 1] === other[j - 1];
      let distance = Math.min(
        (previous[j] as number) + 1,
        (current[j - 1] as number) + 1,
        (previous[j - 1] as number) + (same ? 0 : 1),
      );
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (swapped) distance = Math.min(distance, (older[j - 2] as number) + 1);
      current[j] = distance;
      nearest = Math.min(nearest, distance);
    }
    if (nearest > limit && (i === one.length || Math.min(...previous) > limit)) return tooFar;
    [older, previous, current] = [previous, current, older];
  }
  return Math.min(previous[other.length] as number, tooFar);
}
