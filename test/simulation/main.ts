/** Runs the simulator on demand: `npm run simulate -- --seed 1 --steps 2000 --runs 100`. */
import { parseArgs } from "node:util";
import { anySeed } from "../seeded.ts";
import { simulate } from "./simulation.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, steps: { type: "string" }, runs: { type: "string" } },
});
const first = values.seed === undefined ? anySeed() : Number(values.seed);
const steps = Number(values.steps ?? 500);
const runs = Number(values.runs ?? 1);

console.log(`simulating ${runs} runs of ${steps} steps from seed ${first} on`);
let failed = 0;
for (let seed = first; seed < first + runs; seed++) {
  try {
    console.log(`seed ${seed}:`, JSON.stringify(await simulate({ seed, steps })));
  } catch (error) {
    failed++;
    console.error((error as Error).message);
    console.error((error as Error).cause);
  }
}
console.log(failed === 0 ? "no run failed" : `${failed} of ${runs} runs failed`);
process.exit(failed === 0 ? 0 : 1);
