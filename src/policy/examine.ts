/** What the rules of an agent find in some content, without the exceptions that they make. */
import { BUDGET, DETECTORS, type DetectorName } from "./detectors.ts";
import { type Field, type FieldMatches, fieldsOf, type Match, pathShower } from "./fields.ts";
import type { Mode } from "./modes.ts";
import type { Content } from "./policy.ts";
import { replacedPlaces } from "./redact.ts";
import type { Rules } from "./rules.ts";
import { MOST_HITS } from "./scan.ts";
import { screen } from "./screen.ts";
import { PATTERNS } from "./screening.ts";

export interface Examined {
  found: FieldMatches[];
  /** How many matches were exceptions, by detector; null for none. */
  excepted: Record<string, number> | null;
  /** An exception that ends was taken for one that holds. */
  isProvisional: boolean;
}

/** A match before it is named. `detector` is that of the rules, a pattern's name, or {@link BUDGET}. */
interface Hit {
  detector: string;
  policy: string;
  start: number;
  end: number;
  isEncoded?: true;
}

const NO_HITS: readonly Hit[] = [];
const NOTHING: Examined = { found: [], excepted: null, isProvisional: false };

/** Without `nowMs`, exceptions that end hold. */
export function examine(rules: Rules, content: Content, nowMs: number | undefined): Examined {
  const seen: { field: Field; hits: readonly Hit[] }[] = [];
  for (const field of fieldsOf(content)) {
    const hits = hitsIn(field, rules, content);
    if (hits.length > 0) seen.push({ field, hits });
  }
  const others = rules.others.flatMap(([policy, { decide, setting }]) =>
    decide(setting, content).map((said) => ({ finding: { policy, ...said, mode: "block" as const }, isFixed: true })),
  );
  if (seen.length === 0 && others.length === 0) return NOTHING;
  const exceptions = new Exceptions(rules, content, nowMs);
  const kept = seen
    .map(({ field, hits }) => ({ field, hits: hits.filter((hit) => !exceptions.cover(hit, field.text)) }))
    .filter(({ hits }) => hits.length > 0);
  const show = pathShower(kept.map(({ field }) => field));
  const found: FieldMatches[] = kept.map(({ field, hits }) => ({
    field,
    matches: hits.map((hit) => matchOf(hit, field, show(field), rules)),
  }));
  if (others.length > 0) found.unshift({ field: null, matches: others });
  return { found, excepted: exceptions.counted, isProvisional: exceptions.isProvisional };
}

function hitsIn(field: Field, rules: Rules, content: Content): readonly Hit[] {
  const detected = detectedIn(field, rules);
  const own = patternHits(field.text, rules, content);
  const all = own.length === 0 ? detected : [...detected, ...own];
  if (all.length === 0) return all;
  const isReplaced = replacedPlaces(field.text, rules.modes);
  return isReplaced === null ? all : all.filter(({ start, end }) => !isReplaced(start, end));
}

function detectedIn({ text, context, joined }: Field, { dictionary, budget }: Rules): readonly Hit[] {
  if (dictionary === null) return NO_HITS;
  const hits = screen(text, context, dictionary);
  if (hits.length === 0 && joined === undefined) return NO_HITS;
  const policyOf = (name: string) => (name === BUDGET ? budget.policy : DETECTORS[name as DetectorName].policy);
  const inText = hits.map((hit): Hit => ({ ...hit, policy: policyOf(hit.detector) }));
  const parts = new Set(
    (joined ?? []).flatMap((whole) => screen(whole, "", dictionary).map(({ detector }) => detector)),
  );
  const whole = { start: 0, end: text.length, isEncoded: true } as const;
  return [...inText, ...[...parts].map((detector): Hit => ({ detector, policy: policyOf(detector), ...whole }))];
}

function patternHits(text: string, { patterns, budget }: Rules, content: Content): readonly Hit[] {
  if (patterns === null || text === "") return NO_HITS;
  const { matches, isComplete } = patterns.find(text, ({ prefixes }) => applies(prefixes, content), MOST_HITS);
  const hits = matches.map(
    ({ pattern, start, end }): Hit => ({ detector: pattern.name, policy: PATTERNS, start, end }),
  );
  if (!isComplete) hits.push({ detector: BUDGET, policy: budget.policy, start: 0, end: text.length });
  return hits;
}

/** Labels and reasons have no key: what is limited to prefixes does not apply to them. */
const applies = (prefixes: readonly string[] | undefined, { key, valueName = "value" }: Content): boolean =>
  prefixes === undefined || (valueName === "value" && prefixes.some((prefix) => key.startsWith(prefix)));

function matchOf({ detector, policy, start, end, isEncoded }: Hit, field: Field, path: string, rules: Rules): Match {
  const mode = rules.modes.get(detector) as Mode;
  const { tier = null } = Object.hasOwn(DETECTORS, detector) ? DETECTORS[detector as DetectorName] : {};
  const finding = tier === null ? { policy, detector } : { policy, detector, tier };
  const isFixed = isEncoded === true || detector === BUDGET || field.isName || field.path[0] === "key";
  return { finding: { ...finding, field: path, start, end, mode }, isFixed };
}

/** The exceptions of the rules for one content. */
class Exceptions {
  counted: Record<string, number> | null = null;
  isProvisional = false;

  constructor(
    private readonly rules: Rules,
    private readonly content: Content,
    private readonly nowMs: number | undefined,
  ) {}

  /** Whether a hit is an exception, which is counted. */
  cover({ detector, start, end }: Hit, text: string): boolean {
    const candidates = this.rules.exceptions.get(detector);
    if (candidates === undefined) return false;
    const matched = text.slice(start, end);
    const found = candidates.filter(
      ({ equals, ends_with: ending, prefixes, untilMs }) =>
        (equals === undefined ? ending !== undefined && matched.endsWith(ending) : matched === equals) &&
        applies(prefixes, this.content) &&
        (this.nowMs === undefined || this.nowMs < untilMs),
    );
    if (found.length === 0) return false;
    if (this.nowMs === undefined && found.every(({ untilMs }) => untilMs !== Number.POSITIVE_INFINITY)) {
      this.isProvisional = true;
    }
    this.counted ??= {};
    this.counted[detector] = (this.counted[detector] ?? 0) + 1;
    return true;
  }
}
