/**
 * Looks for the text that takes screening longest: `bun bench/screening/slowest.ts [--seconds 60] [--seed 1] [--top 20] [--patterns]`.
 *
 * The search joins words that detectors look for with text that may follow them, repeats the result to 128 KiB, and
 * measures the processor time. Then it varies the slowest texts: it removes, doubles or replaces a part, or adds a part
 * of another slow text. A text is repeated as it is, with its parts in random orders, with something to redact now and
 * then, or as the members, names or items of metadata. At the end it measures the slowest texts again at 256 KiB and at
 * 1 MiB, metadata at 16 and 64 KiB. With `--patterns`, an operator's own patterns are in force as well. Any value must
 * take less than 100 ms per MiB, and the time must be linear in its length. Metadata, which are small, may take longer
 * per MiB, since some work is free for any content.
 */
import { parseArgs } from "node:util";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { everyAnchor } from "../../src/screen/anchors.ts";
import { decide } from "../../src/screen/decide.ts";
import { type PolicySettings, policiesOf } from "../../src/screen/policies.ts";
import { effectivePolicies } from "../../src/screen/workspace-policies.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string" },
    seed: { type: "string" },
    top: { type: "string" },
    patterns: { type: "boolean" },
  },
});
const seconds = Number(options.seconds ?? 60);
const top = Number(options.top ?? 20);
let state = Number(options.seed ?? 1);

const MIB = 1 << 20;
const SEARCHED = MIB / 8;
/** The number of slow texts that are kept and varied, and the share of attempts that begin with a new text. */
const KEPT = 60;
const NEW_SHARE = 0.35;
const OTHER_FORM_SHARE = 0.3;
const MOST_PARTS = 6;

const inMode = (mode: string, more: JsonObject = {}) =>
  policiesOf({ policies: { screening: { pii: { mode }, secrets: { mode }, ...more } } });
const OWN = {
  patterns: ["\\bPRJ-[0-9]{5}\\b", "(?i)internal [a-z]+", "[0-9a-f]{12}"].map((regex, at) => ({
    name: `own_${at}`,
    regex,
    mode: "redact",
  })),
  exceptions: Array.from({ length: 64 }, (_, at) => ({ detector: "email", ends_with: `@${at}.de`, reason: "public" })),
};
const floor = { version: 1, policies: inMode("audit"), requireConfig: false, exceptionsFromAgents: false };
/** Without a mode that blocks, screening reads all of a text. In the mode `redact` it reads the redacted text again. */
const POLICIES = [
  inMode("block"),
  inMode("redact"),
  ...(options.patterns ? [inMode("redact", OWN)] : []),
  effectivePolicies(floor, inMode("audit")),
];

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
  form: Form;
  ms: number;
}

const repeated = (piece: string, size: number): string => piece.repeat(Math.ceil(size / piece.length)).slice(0, size);

/** The parts in other orders each time, so that no two pieces are the same. */
function varied(parts: readonly string[], size: number): string {
  let [text, last] = ["", 1];
  while (text.length < size) {
    last = (last * 48_271) % 0x7fffffff;
    text += parts[last % parts.length];
  }
  return text.slice(0, size);
}

const MAIL = " anna.berg@posteo.de ";
const BETWEEN_MAILS = 4096;
const MEMBER = 24;
const listed = (parts: readonly string[], size: number): string[] =>
  Array.from({ length: size / (MEMBER + 8) }, () => repeated(parts.join(""), MEMBER));

const inValue = (value: string) => ({ value, metadata: {} });
const inMetadata = (metadata: JsonObject) => ({ value: "", metadata });
/** How content is made of the parts of a text. */
const FORMS = {
  repeated: (parts, size) => inValue(repeated(parts.join(""), size)),
  varied: (parts, size) => inValue(varied(parts, size)),
  "with mails": (parts, size) => inValue(repeated(MAIL + repeated(parts.join(""), BETWEEN_MAILS), size)),
  "with one mail": (parts, size) => inValue(MAIL + repeated(parts.join(""), size - MAIL.length)),
  members: (parts, size) => inMetadata(Object.fromEntries(listed(parts, size).map((text, at) => [`m${at}`, text]))),
  names: (parts, size) => inMetadata(Object.fromEntries(listed(parts, size).map((text, at) => [text + at, at]))),
  items: (parts, size) => inMetadata({ [repeated(parts.join(""), MEMBER)]: listed(parts, size) }),
  nested: (parts, size) =>
    inMetadata({ nested: listed(parts, size).reduce<JsonValue>((below, text) => ({ [text]: below }), "x") }),
} satisfies Record<string, (parts: readonly string[], size: number) => { value: string; metadata: JsonObject }>;
type Form = keyof typeof FORMS;
const FORM_NAMES = Object.keys(FORMS) as Form[];
const isMetadata = (form: Form): boolean => ["members", "names", "items", "nested"].includes(form);

const processorMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

function once(content: { value: string; metadata: JsonObject }, policies: PolicySettings): number {
  const begin = processorMs();
  decide(policies, { key: "k", ...content });
  return processorMs() - begin;
}

/**
 * Returns the processor time, ms per MiB, under the slowest policies. The least of several rounds counts, since other
 * programs can only add to the time.
 */
function measured({ parts, form }: Omit<Measured, "ms">, most: number, rounds: number): number {
  // Metadata are at most 64 KiB.
  const size = isMetadata(form) ? most / 16 : most;
  const content = FORMS[form](parts, size);
  let slowest = 0;
  for (const policies of POLICIES) {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < rounds; round++) least = Math.min(least, once(content, policies));
    slowest = Math.max(slowest, least);
  }
  return slowest * (MIB / size);
}

const kept: Measured[] = [];
const seen = new Set<string>();
let tried = 0;

/** Measures a new text, and keeps it if it is among the slowest. */
function attempt(parts: string[], form: Form): void {
  const piece = parts.join("");
  const name = `${form} ${piece}`;
  if (piece === "" || parts.length > MOST_PARTS || seen.has(name)) return;
  seen.add(name);
  tried++;
  const least = kept.length < KEPT ? 0 : (kept.at(-1) as Measured).ms;
  if (measured({ parts, form }, SEARCHED, 1) <= least) return;
  const ms = measured({ parts, form }, SEARCHED, 3);
  if (ms <= least) return;
  kept.push({ parts, form, ms });
  kept.sort((a, b) => b.ms - a.ms);
  kept.length = Math.min(kept.length, KEPT);
}

for (const form of FORM_NAMES) attempt(fresh(), form);
const until = performance.now() + seconds * 1000;
while (performance.now() < until) {
  const one = oneOf(kept);
  if (random() < NEW_SHARE) attempt(fresh(), oneOf(FORM_NAMES));
  else attempt(changed(one.parts, kept), random() < OTHER_FORM_SHARE ? oneOf(FORM_NAMES) : one.form);
}

console.log(`${tried} texts tried. The slowest, in ms of processor time per MiB:`);
console.table(
  kept
    .slice(0, top)
    .map((one) => ({
      form: one.form,
      text: JSON.stringify(one.parts.join("")),
      "256 KiB": Math.round(measured(one, MIB / 4, 3)),
      "1 MiB": Math.round(measured(one, MIB, 3)),
    }))
    .toSorted((a, b) => b["1 MiB"] - a["1 MiB"]),
);
