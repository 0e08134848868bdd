/** Fuzzes every parser for some rounds. */
import { Seeded } from "../seeded.ts";
import { EVIDENCE_TARGETS } from "./evidence-targets.ts";
import { JSON_TARGETS } from "./json-targets.ts";
import { SCREENING_TARGETS } from "./screening-targets.ts";
import type { Target } from "./target.ts";
import { TEXT_TARGETS } from "./text-targets.ts";

/** By name. */
export const TARGETS: ReadonlyMap<string, Target> = new Map(
  Object.entries({
    json: JSON_TARGETS,
    evidence: EVIDENCE_TARGETS,
    text: TEXT_TARGETS,
    screening: SCREENING_TARGETS,
  }).flatMap(([kind, targets]) =>
    Object.entries(targets).map(([name, target]): [string, Target] => [`${kind}.${name}`, target]),
  ),
);

/** A round that takes more processor time hangs, as far as anybody who waits can tell, ms. */
const MAX_ROUND_MS = 5_000;

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Each round has its own seed, so that it can be repeated alone.
 * @throws an error that names the seed of the round and the command that repeats it
 */
export async function fuzz(name: string, seed: number, rounds: number): Promise<void> {
  const target = TARGETS.get(name);
  if (target === undefined) throw new Error(`there is no target ${name}; there are ${[...TARGETS.keys()].join(", ")}`);
  for (let round = seed; round < seed + rounds; round++) {
    const beforeMs = usedMs();
    try {
      await target(new Seeded(round));
      if (usedMs() - beforeMs > MAX_ROUND_MS) throw new Error("the round took too long");
    } catch (error) {
      const command = `npm run fuzz -- --target ${name} --seed ${round} --rounds 1`;
      throw new Error(`${name} failed: ${(error as Error).message}\nRepeat it with: ${command}`, { cause: error });
    }
  }
}
