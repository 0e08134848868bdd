/**
 * Looks for the text that takes screening longest: `bun bench/screening/slowest.ts [--seconds 60] [--seed 1] [--top 20]`.
 *
 * The search joins words that detectors look for with text that may follow them, repeats the result to 128 KiB, and
 * measures the processor time. Then it varies the slowest texts: it removes, doubles or replaces a part, or adds a part
 * of another slow text. At the end it measures the slowest texts again at 256 KiB and at 1 MiB. Any text must take less
 * than 100 ms per MiB, and the time must be linear in the length of the text.
 */
import { parseArgs } from "node:util";
import { everyAnchor } from "../../src/policy/anchors.ts";
import { decide } from "../../src/policy/decide.ts";
import { effectivePolicies } from "../../src/policy/floor.ts";
import { type PolicySettings, policiesOf } from "../../src/policy/policies.ts";

const { values: options } = parseArgs({
  options: { seconds: { type: "string" }, seed: { type: "string" }, top: { type: "string" } },
});
const seconds = Number(options.seconds ?? 60);
const top = Number(options.top ?? 20);
let state = Number(options.seed ?? 1);

const MIB = 1 << 20;
const SEARCHED = MIB / 8;
/** The number of slow texts that are kept and varied, and the share of attempts that begin with a new text. */
const KEPT = 60;
const NEW_SHARE = 0.35;
const MOST_PARTS = 6;

const inMode = (mode: string) => policiesOf({ policies: { screening: { pii: { mode }, secrets: { mode } } } });
const floor = { version: 1, policies: inMode("audit"), requireConfig: false, exceptionsFromAgents: false };
/** Without a mode that blocks, screening reads all of a text. In the mode `redact` it reads the redacted text again. */
const POLICIES = [inMode("block"), inMode("redact"), effectivePolicies(floor, inMode("audit"))];

/** A Lehmer generator (Park and Miller, 1988), so that a seed repeats a run. */
function random(): number {
  state = (state * 48_271) % 0x7fffffff;
  return state / 0x7fffffff;
}
const oneOf = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

const WORDS = [...new Set(everyAnchor().map(([, { word }]) => word))];
const FILLERS =
  ` |  |\n|\n\n|\t|,|, |;|:|: |=| = |="|"|'|(|)|[|]|{|}|<|>|/|\\|-|_|.|. |!|?|@|#|$|%|&|*|+|~|1|12|123|1234|12345|123456|1234567890|1 |12 |a|ab |Ab |aB1|Ab1!|x9|Word |word |Word.9 |is |ist |to |the |der |é|ß |я|中|。|،| است|の|한|1980|1990-01-02 |0x1f|0172 482936 |+49 |192.168.1.1|8.8.4.|a@b.|://a:b|=3D|%41|\\u0041|&#65;|QUJD|616263|eyJ|-----|Main St|12 Abc|[redacted:email]|-----END|AKIA|password=|ghp_`.split(
    "|",
  );

const part = (): string => (random() < 0.5 ? oneOf(WORDS) : oneOf(FILLERS));
const fresh = (): string[] => [oneOf(WORDS), ...Array.from({ length: 1 + Math.floor(random() * 3) }, part)];

function changed(parts: readonly string[], others: readonly Measured[]): string[] {
  const at = Math.floor(random() * parts.length);
  const chance = random();
  if (chance < 0.2 && parts.length > 1) return parts.toSpliced(at, 1);
  if (chance < 0.45) return parts.toSpliced(at, 1, part());
  if (chance < 0.75) return parts.toSpliced(at, 0, part());
  if (chance < 0.85) return parts.toSpliced(at, 0, parts[at] as string);
  return parts.toSpliced(at, 0, oneOf(oneOf(others).parts));
}

interface Measured {
  parts: string[];
  ms: number;
}

const textOf = (parts: readonly string[], size: number): string => {
  const piece = parts.join("");
  return piece.repeat(Math.ceil(size / piece.length)).slice(0, size);
};

const processorMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

function once(text: string, policies: PolicySettings): number {
  const begin = processorMs();
  decide(policies, { key: "k", value: text, metadata: {} });
  return processorMs() - begin;
}

/**
 * Returns the processor time, ms per MiB, under the slowest policies. The least of several rounds counts, since other
 * programs can only add to the time.
 */
function measured(parts: readonly string[], size: number, rounds: number): number {
  const text = textOf(parts, size);
  let slowest = 0;
  for (const policies of POLICIES) {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < rounds; round++) least = Math.min(least, once(text, policies));
    slowest = Math.max(slowest, least);
  }
  return slowest * (MIB / size);
}

const kept: Measured[] = [];
const seen = new Set<string>();
let tried = 0;

/** Measures a new text, and keeps it if it is among the slowest. */
function attempt(parts: string[]): void {
  const piece = parts.join("");
  if (piece === "" || parts.length > MOST_PARTS || seen.has(piece)) return;
  seen.add(piece);
  tried++;
  const least = kept.length < KEPT ? 0 : (kept.at(-1) as Measured).ms;
  if (measured(parts, SEARCHED, 1) <= least) return;
  const ms = measured(parts, SEARCHED, 3);
  if (ms <= least) return;
  kept.push({ parts, ms });
  kept.sort((a, b) => b.ms - a.ms);
  kept.length = Math.min(kept.length, KEPT);
}

for (let at = 0; at < 3; at++) attempt(fresh());
const until = performance.now() + seconds * 1000;
while (performance.now() < until) attempt(random() < NEW_SHARE ? fresh() : changed(oneOf(kept).parts, kept));

console.log(`${tried} texts tried. The slowest, in ms of processor time per MiB:`);
console.table(
  kept
    .slice(0, top)
    .map(({ parts }) => ({
      text: JSON.stringify(parts.join("")),
      "256 KiB": Math.round(measured(parts, MIB / 4, 3)),
      "1 MiB": Math.round(measured(parts, MIB, 3)),
    }))
    .toSorted((a, b) => b["1 MiB"] - a["1 MiB"]),
);
