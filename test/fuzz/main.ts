/** Runs the fuzzers on demand: `npm run fuzz -- --seed 1 --rounds 100000 --target json.body`. */
import { parseArgs } from "node:util";
import { anySeed } from "../seeded.ts";
import { fuzz, TARGETS } from "./fuzz.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, rounds: { type: "string" }, target: { type: "string" } },
});
const seed = values.seed === undefined ? anySeed() : Number(values.seed);
const rounds = Number(values.rounds ?? 10_000);

let failed = 0;
for (const name of values.target === undefined ? TARGETS.keys() : [values.target]) {
  console.log(`${name}: ${rounds} rounds from seed ${seed} on`);
  try {
    await fuzz(name, seed, rounds);
  } catch (error) {
    failed++;
    console.error((error as Error).message);
    console.error((error as Error).cause);
  }
}
process.exit(failed === 0 ? 0 : 1);
