/** A repeatable source of choices: everything that a simulation or a fuzzer does follows from its seed. */

export class Seeded {
  readonly #state: Uint32Array;

  constructor(seed: number) {
    this.#state = Uint32Array.of(seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0, 0x9e3779b9, 1);
    for (let i = 0; i < 16; i++) this.next();
  }

  /** The next 32 bits (sfc32, https://pracrand.sourceforge.net). */
  next(): number {
    const state = this.#state;
    const [a, b, c, counter] = state as unknown as [number, number, number, number];
    const result = (a + b + counter) >>> 0;
    state[3] = counter + 1;
    state[0] = b ^ (b >>> 9);
    state[1] = c + (c << 3);
    state[2] = ((c << 21) | (c >>> 11)) + result;
    return result;
  }

  /** A whole number from 0 to `limit - 1`. */
  below(limit: number): number {
    return Math.floor((this.next() / 2 ** 32) * limit);
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  chance(probability: number): boolean {
    return this.next() / 2 ** 32 < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  /** Returns the list in a random order (Fisher-Yates). */
  shuffled<T>(list: readonly T[]): T[] {
    const found = [...list];
    for (let end = found.length - 1; end > 0; end--) {
      const at = this.below(end + 1);
      [found[at], found[end]] = [found[end] as T, found[at] as T];
    }
    return found;
  }

  /** Returns one of the values, each with a probability in proportion to its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T {
    let rest = this.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, value] of choices) {
      rest -= weight;
      if (rest < 0) return value;
    }
    throw new Error("no choices");
  }

  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.next();
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    this.fill(bytes);
    return bytes;
  }
}

/** A random seed, for runs on demand. */
export const anySeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0] as number;
