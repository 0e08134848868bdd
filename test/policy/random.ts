/** A small repeatable generator of numbers for tests. */
export function numbers(seed: number): () => number {
  let state = (seed * 2654435761 + 40503) >>> 0;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state >>> 3;
  };
}

/** A string of `length` from `alphabet`. */
export function randomText(alphabet: string, length: number, seed: number): string {
  const next = numbers(seed);
  let text = "";
  for (let i = 0; i < length; i++) text += alphabet[next() % alphabet.length];
  return text;
}
