/** Finds what the rules of an agent match in some content, without the rules' exceptions. */
import { beginEffort, type Hit as CheckHit, continueEffort, isExhausted } from "./check.ts";
import { BUDGET, DETECTORS, type DetectorName } from "./detectors.ts";
import { type Field, type FieldMatches, fieldsOf, isPart, type Match, pathShower } from "./fields.ts";
import { type Mode, strongerMode } from "./modes.ts";
import type { Span } from "./near.ts";
import type { ListText } from "./parts.ts";
import type { OwnPattern } from "./patterns/pattern-set.ts";
import { addPatternWork, beginPatternWork } from "./patterns/work.ts";
import type { Content } from "./policy.ts";
import { Fitting } from "./redaction/fitting.ts";
import { mayHaveMarks, withoutNames } from "./redaction/marks.ts";
import type { Changes } from "./redaction/redact.ts";
import type { Layer, Rules } from "./rules.ts";
import { type Dictionary, MOST_HITS } from "./scan.ts";
import { screen } from "./screen.ts";
import { PATTERNS } from "./screening.ts";

export interface Examined {
  found: FieldMatches[];
  /** How many matches were exceptions, by detector; null for none. */
  excepted: Record<string, number> | null;
  /** When an exception that it used ends, ms since the Unix epoch; infinite for never. */
  validUntilMs: number;
}

/** A match before its policy is known. `detector` is a detector of the rules, a pattern's name, or {@link BUDGET}. */
interface Hit {
  detector: string;
  policy: string;
  start: number;
  end: number;
  isEncoded?: true;
  /** The pattern that matched. */
  pattern?: OwnPattern;
}

/** A hit with its mode after all exceptions. */
interface Judged {
  hit: Hit;
  mode: Mode;
}

const NO_HITS: readonly Hit[] = [];
/** For texts that stand alone. */
const NAMELESS = { path: { part: "", above: null }, context: "", isName: true };
const NOTHING: Examined = { found: [], excepted: null, validUntilMs: Number.POSITIVE_INFINITY };

/** Reports whether the rules are already known to find nothing in a text that stands alone, such as a key. */
export const isKnownClean = ({ dictionary, patterns, others, names }: Rules, text: string): boolean =>
  patterns === null &&
  others.length === 0 &&
  (dictionary === null || dictionary.clean.has(withoutNames(text, names), ""));

/**
 * Examines content at a time. Without `nowMs`, exceptions with an end are in force. With `isStored`, the content may
 * cost as much as what is stored after redactions.
 */
export function examine(rules: Rules, content: Content, nowMs: number | undefined, isStored = false): Examined {
  const fields = fieldsOf(content);
  beginEffort(fields.reduce((sum, { text }) => sum + text.length, 0));
  if (isStored) continueEffort();
  beginPatternWork();
  return examineFields(fields, rules, content, nowMs, null);
}

/**
 * Examines content again after some of it was replaced. Returns what is in the texts that changed, near the changes: all
 * else was found before. Counts on with the effort of the content.
 */
export function examineAgain(rules: Rules, content: Content, nowMs: number | undefined, changes: Changes): Examined {
  return examineFields(fieldsOf(content), rules, content, nowMs, changes);
}

function examineFields(
  fields: readonly Field[],
  rules: Rules,
  content: Content,
  nowMs: number | undefined,
  changes: Changes | null,
): Examined {
  const seen: { field: Field; index: number; hits: readonly Hit[] }[] = [];
  for (const [index, field] of fields.entries()) {
    const changed = changes?.get(index) ?? null;
    // A text that did not change may still be read together with one that did.
    if (changes !== null && changed === null && field.joined === undefined && field.list === undefined) continue;
    const hits = hitsIn(field, rules, content, changed);
    if (hits.length > 0) seen.push({ field, index, hits });
    // The content is blocked, or nothing blocks.
    if (isExhausted()) break;
  }
  const others = rules.others.flatMap(([policy, { decide, setting }]) =>
    decide(setting, content).map((said) => ({ finding: { policy, ...said, mode: "block" as const }, isFixed: true })),
  );
  if (seen.length === 0 && others.length === 0) return NOTHING;
  const exceptions = new Exceptions(rules, content, nowMs);
  const kept = seen
    .map(({ field, index, hits }) => ({ field, index, places: hits, hits: judged(field, hits, rules, exceptions) }))
    .filter(({ hits }) => hits.length > 0);
  const show = pathShower(
    kept.map(({ field }) => field),
    (text) => hitsIn({ ...NAMELESS, text }, rules, content, null).length > 0,
  );
  const found: FieldMatches[] = kept.map(({ field, index, places, hits }) => ({
    field,
    index,
    places,
    matches: matchesOf(hits, field, show(field)),
  }));
  if (others.length > 0) found.unshift({ field: null, index: -1, matches: others, places: [] });
  return { found, excepted: exceptions.counted, validUntilMs: exceptions.validUntilMs };
}

function hitsIn(field: Field, rules: Rules, content: Content, changed: readonly Span[] | null): readonly Hit[] {
  const alone = detectedIn(field, rules, changed);
  const detected = field.list === undefined ? alone : [...alone, ...listedIn(field, rules, alone)];
  const own = patternHits(field.text, rules, content);
  return own.length === 0 ? detected : [...detected, ...own];
}

/** Returns the hits of which not everything was replaced, with their modes. */
function judged(field: Field, hits: readonly Hit[], { names }: Rules, exceptions: Exceptions): Judged[] {
  const { text } = field;
  if (!mayHaveMarks(text)) return exceptions.judge(hits, text);
  const fitting = new Fitting(text, names, isPart(field));
  const isLeft = (hit: Hit) => fitting.piecesOf(hit, hit.detector, hit.policy === PATTERNS)?.length !== 0;
  return exceptions.judge(hits.filter(isLeft), text);
}

function detectedIn(
  { path, text, context, joined }: Field,
  { dictionary, budget, names }: Rules,
  changed: readonly Span[] | null,
): readonly Hit[] {
  if (dictionary === null) return NO_HITS;
  // Rules with other names may have the same dictionary, so what is remembered is the text as it is screened.
  const screened = withoutNames(text, names);
  // What is remembered depends on no other text. The value is not: its context is the key, so it rarely recurs.
  const mayRecur = joined === undefined && (context === "" || path.above !== null);
  if (mayRecur && dictionary.clean.has(screened, context)) return NO_HITS;
  const hits = screen(screened, context, dictionary, changed);
  if (hits.length === 0 && joined === undefined) {
    // With `changed`, only a part of the text was screened.
    if (mayRecur && changed === null) dictionary.clean.add(screened, context);
    return NO_HITS;
  }
  const policyOf = (name: string) => (name === BUDGET ? budget.policy : DETECTORS[name as DetectorName].policy);
  const inText = hits.map((hit): Hit => ({ ...hit, policy: policyOf(hit.detector) }));
  const parts = new Set(
    (joined ?? []).flatMap((whole) => screen(whole, "", dictionary).map(({ detector }) => detector)),
  );
  const whole = { start: 0, end: text.length, isEncoded: true } as const;
  return [...inText, ...[...parts].map((detector): Hit => ({ detector, policy: policyOf(detector), ...whole }))];
}

/** The secrets that are found in a text as an item of its array, beside what is found in the text alone. */
function listedIn({ list, context, text }: Field, { dictionary, names }: Rules, alone: readonly Hit[]): readonly Hit[] {
  if (list === undefined || dictionary === null) return NO_HITS;
  const { whole, at } = list;
  const screened = withoutNames(whole.text, names);
  if (dictionary.clean.has(screened, context)) return NO_HITS;
  const hits = screenedLists.getOrInsertComputed(whole, () => hitsInList(screened, whole, context, dictionary));
  if (hits.length === 0) dictionary.clean.add(screened, context);
  const last = at + text.length;
  return hits
    .filter(({ start, end }) => start < last && at < end)
    .filter((hit) => !alone.some(({ detector }) => detector === hit.detector))
    .map((hit) => ({
      ...hit,
      policy: DETECTORS[hit.detector as DetectorName].policy,
      start: Math.max(hit.start, at) - at,
      end: Math.min(hit.end, last) - at,
    }));
}

/** Most arrays under a word for a secret hold none: without a word for codes, an item alone must be one. */
function hitsInList(text: string, { items }: ListText, context: string, dictionary: Dictionary): readonly CheckHit[] {
  const hits = screen(text, context, dictionary).filter(({ detector }) => isSecret(detector));
  const isFound = (item: string) => screen(item, context, dictionary).some(({ detector }) => isSecret(detector));
  return hits.length === 0 || OF_CODES.test(context) || items.some(isFound) ? hits : [];
}
const OF_CODES = /c[oó]d|k[oó]d|κωδ|код|码|碼|コード|코드|รหัส/i;

/** What is found in the arrays of the content that is examined, each of which is screened once. */
const screenedLists = new WeakMap<ListText, readonly CheckHit[]>();
const isSecret = (detector: string): boolean =>
  detector !== BUDGET && DETECTORS[detector as DetectorName].tier === null;

function patternHits(text: string, { patterns, budget }: Rules, content: Content): readonly Hit[] {
  if (patterns === null || text === "") return NO_HITS;
  addPatternWork(patterns.steps * text.length);
  const { matches, isComplete } = patterns.find(text, ({ prefixes }) => applies(prefixes, content), MOST_HITS);
  const hits = matches.map(
    ({ pattern, start, end }): Hit => ({ detector: pattern.name, policy: PATTERNS, start, end, pattern }),
  );
  if (!isComplete) hits.push({ detector: BUDGET, policy: budget.policy, start: 0, end: text.length });
  return hits;
}

/** Labels and reasons have no key, so patterns and exceptions that are limited to prefixes do not apply to them. */
const applies = (prefixes: readonly string[] | undefined, { key, valueName = "value" }: Content): boolean =>
  prefixes === undefined || (valueName === "value" && prefixes.some((prefix) => key.startsWith(prefix)));

function matchesOf(hits: readonly Judged[], { path, isName }: Field, shown: string): Match[] {
  const isKey = path.above === null && path.part === "key";
  return hits.map(({ hit: { detector, policy, start, end, isEncoded }, mode }) => {
    const { tier = null } = Object.hasOwn(DETECTORS, detector) ? DETECTORS[detector as DetectorName] : {};
    const finding = tier === null ? { policy, detector } : { policy, detector, tier };
    const isFixed = isEncoded === true || detector === BUDGET || isName || isKey;
    return { finding: { ...finding, field: shown, start, end, mode }, isFixed };
  });
}

/** The exceptions of the rules for one content. */
class Exceptions {
  counted: Record<string, number> | null = null;
  validUntilMs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly rules: Rules,
    private readonly content: Content,
    private readonly nowMs: number | undefined,
  ) {}

  /**
   * Returns the remaining hits, each with its mode. What patterns with one name of several settings match in the same
   * place is one hit.
   */
  judge(hits: readonly Hit[], text: string): Judged[] {
    const isAlone = this.rules.layers.length === 1 || hits.every(({ pattern }) => pattern === undefined);
    const places = isAlone
      ? hits.map((hit) => [hit])
      : [...Map.groupBy(hits, ({ detector, start, end }) => `${detector} ${start} ${end}`).values()];
    return places
      .map((same) => ({ hit: same[0] as Hit, mode: this.#modeOf(same, text) }))
      .filter(({ mode }) => mode !== "off");
  }

  /**
   * Returns the strongest mode that some settings demand in a place without an exception. Counts exceptions that weaken
   * the mode.
   */
  #modeOf(hits: readonly Hit[], text: string): Mode {
    const { layers, budget } = this.rules;
    const { detector, start, end } = hits[0] as Hit;
    if (detector === BUDGET) return budget.mode;
    const demanded = layers.map(({ modes }, layer): Mode => {
      const ofHits = hits.map(({ pattern }): Mode => {
        if (pattern === undefined) return modes.get(detector) ?? "off";
        return pattern.layer === layer ? pattern.mode : "off";
      });
      return ofHits.reduce(strongerMode);
    });
    const left = demanded.map((mode, layer) =>
      mode !== "off" && this.#isExcepted(layers[layer] as Layer, detector, text.slice(start, end)) ? "off" : mode,
    );
    const [mode, before] = [left.reduce(strongerMode), demanded.reduce(strongerMode)];
    if (mode !== before) {
      this.counted ??= {};
      this.counted[detector] = (this.counted[detector] ?? 0) + 1;
    }
    return mode;
  }

  #isExcepted({ exceptions }: Layer, detector: string, matched: string): boolean {
    const candidates = exceptions.get(detector);
    if (candidates === undefined) return false;
    const found = candidates.filter(
      ({ equals, ends_with: ending, prefixes, untilMs }) =>
        (equals === undefined ? ending !== undefined && matched.endsWith(ending) : matched === equals) &&
        applies(prefixes, this.content) &&
        (this.nowMs === undefined || this.nowMs < untilMs),
    );
    if (found.length === 0) return false;
    this.validUntilMs = Math.min(this.validUntilMs, Math.max(...found.map(({ untilMs }) => untilMs)));
    return true;
  }
}
