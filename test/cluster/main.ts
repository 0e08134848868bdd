/**
 * `npm run chaos -- [--seed N] [--minutes N]`: disturbs three nodes and their server under random clients, and checks the
 * history of answers against the audit trail. Prints its seed, which repeats its choices; ends with 1 when something does
 * not hold.
 */
import { parseArgs } from "node:util";
import { anySeed } from "../seeded.ts";
import { chaos } from "./chaos.ts";

const { values } = parseArgs({ options: { seed: { type: "string" }, minutes: { type: "string", default: "10" } } });
const seed = values.seed === undefined ? anySeed() : Number(values.seed);
const minutes = Number(values.minutes);
if (!Number.isSafeInteger(seed) || !(minutes > 0))
  throw new Error("--seed is a whole number, --minutes a number above 0");
console.log(`seed ${seed}, ${minutes} minutes`);
const begun = performance.now();
const seen = await chaos({
  seed,
  ms: minutes * 60_000,
  freezeMs: 14_000,
  workspaces: 2,
  clients: 4,
  say: (line) => console.log(`${((performance.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${line}`),
});
console.log(JSON.stringify(seen, null, 2));
process.exitCode = seen.violations.length === 0 ? 0 : 1;
