/** Screening: no text costs much more time than its length allows, whatever is in it. */
import { everyAnchor } from "../../src/screen/anchors.ts";
import { decide } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";
import { effort } from "../effort.ts";
import type { Seeded } from "../seeded.ts";
import type { Target } from "./target.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const MIB = 1 << 20;
const LENGTH = effort({ usual: MIB >> 8, long: MIB });
/** How often a text is changed, and the costliest kept. */
const CHANGES = effort({ usual: 1, long: 6 });
/** What a text may cost, in honest ones of the same length, and what any text may, in honest ones of a MiB. */
const MOST = 6;
const FREE = 0.5;

const ALPHABETS: readonly string[] = [
  "0123456789",
  "0123456789abcdef",
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
  "abcdefghijklmnopqrstuvwxyz",
  "ABCDEFGH",
];
const JOINERS = [..." -.,:;/|@=+()[]{}\"'`<>\\%&_#!?\n\t", "  ", "\n\n", ": ", " is ", '="', "", "а", "年"];

/** A text as its parts: which are taken at random, or one after the other. */
interface Recipe {
  parts: string[];
  inTurn: boolean;
}

const words = everyAnchor().map(([, { word }]) => word);

function part(random: Seeded): string {
  const kind = random.below(10);
  if (kind < 3) return random.pick(words);
  if (kind < 6) return random.pick(JOINERS);
  const alphabet = random.pick(ALPHABETS);
  const length = random.pick([1, 2, 3, 4, 5, 8, 12, 16, 24, 40, 64]);
  return Array.from({ length }, () => random.pick([...alphabet])).join("");
}

function changed(random: Seeded, { parts, inTurn }: Recipe): Recipe {
  const next = [...parts];
  const at = random.below(next.length);
  const kind = random.below(4);
  if (kind === 0) next.splice(at, 0, part(random));
  else if (kind === 1 && next.length > 1) next.splice(at, 1);
  else next[at] = part(random);
  return { parts: next, inTurn: random.chance(0.1) ? !inTurn : inTurn };
}

function textOf(random: Seeded, { parts, inTurn }: Recipe): string {
  let text = "";
  for (let at = 0; text.length < LENGTH; at++) text += (inTurn ? parts[at % parts.length] : random.pick(parts)) || " ";
  return text.slice(0, LENGTH);
}

/** Processor time of the least of some decisions, ms: what else the machine does can only add to it. */
function leastMs(value: string, rounds: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const begin = process.cpuUsage();
    decide(BOTH, { key: "k", value, metadata: {} });
    const { user, system } = process.cpuUsage(begin);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

const LINE = '{"time":"2026-05-04T10:11:12.131Z","level":"info","phone":null,"msg":"job 4711 done in 12 ms"}\n';
/** What a MiB of log costs on this machine, ms. */
let honestMs: number | undefined;

/** The costliest text that some changes of a random one lead to. */
function costly(random: Seeded): { ms: number; text: string; recipe: Recipe } {
  let recipe: Recipe = {
    parts: Array.from({ length: 1 + random.below(6) }, () => part(random)),
    inTurn: random.chance(0.6),
  };
  let text = textOf(random, recipe);
  let ms = leastMs(text, 2);
  for (let count = 0; count < CHANGES; count++) {
    const next = changed(random, recipe);
    const made = textOf(random, next);
    const cost = leastMs(made, 2);
    if (cost > ms) [recipe, text, ms] = [next, made, cost];
  }
  return { ms, text, recipe };
}

function cost(random: Seeded): void {
  honestMs ??= leastMs(LINE.repeat(MIB / LINE.length), 5);
  const most = honestMs * (MOST * (LENGTH / MIB) + FREE);
  const { text, recipe, ms } = costly(random);
  if (ms <= most) return;
  const least = leastMs(text, 8);
  if (least > most)
    throw new Error(`${least.toFixed(1)} ms instead of ${most.toFixed(1)} ms: ${JSON.stringify(recipe).slice(0, 500)}`);
}

export const SCREENING_TARGETS: Readonly<Record<string, Target>> = { cost };
