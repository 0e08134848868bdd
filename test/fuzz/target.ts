/** What every fuzz target is made of. */
import type { Seeded } from "../seeded.ts";

/** One round. It throws when a parser did what it must not. */
export type Target = (random: Seeded) => void | Promise<void>;

/** What the work returns; undefined when it threw one of these errors. Any other error is a finding. */
export function attempt<T>(work: () => T, ...known: (abstract new (...parameters: never[]) => Error)[]): T | undefined {
  try {
    return work();
  } catch (error) {
    if (known.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}

export function requireEqual(what: string, found: unknown, expected: unknown): void {
  if (Bun.deepEquals(found, expected, true)) return;
  throw new Error(`${what.slice(0, 2_000)}: found ${show(found)}, expected ${show(expected)}`);
}

const show = (value: unknown): string => (JSON.stringify(value) ?? "nothing").slice(0, 2_000);
