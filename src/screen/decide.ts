/**
 * Decides about content under all policies. The decision is a pure function of settings, content and time; writes,
 * restores and `governd scan` share it.
 */
import type { JsonObject } from "../json.ts";
import { continueEffort } from "./check.ts";
import { detectorWords } from "./detectors.ts";
import { type Examined, examine, examineAgain, isKnownClean } from "./examine.ts";
import type { FieldMatches, Match } from "./fields.ts";
import type { LimitName } from "./limits.ts";
import { TooMuchWork } from "./patterns/work.ts";
import {
  contentPolicies,
  examplePolicies,
  type PolicyName,
  type PolicySettings,
  PRECEDENCE,
  screeningPolicies,
} from "./policies.ts";
import type { Content, Finding } from "./policy.ts";
import { redacted } from "./redaction/redact.ts";
import { type Rules, rulesOf } from "./rules.ts";

export type { Content, Finding } from "./policy.ts";

export interface Refused {
  allowed: false;
  /** `policy:` and the name of the first policy of the precedence that refuses. */
  blockedBy: string;
  /** Says what was found and where, for people. Never contains the text. */
  message: string;
  /** What every policy found. */
  findings: Finding[];
  /** The limit that refuses the content, and the seconds after which it no longer does, if it is a limit over time. */
  limit?: LimitName;
  retryAfterSeconds?: number;
  /** How many matches were exceptions, by detector. */
  excepted?: Record<string, number>;
}

/** The report on content that is stored although something was found in it. */
export interface Reported {
  findings: Finding[];
  /** What to store instead; absent when nothing was replaced. */
  redacted?: Pick<Content, "value" | "metadata">;
  /** How many matches were exceptions, by detector. */
  excepted?: Record<string, number>;
}

export interface Allowed {
  allowed: true;
  found?: Reported;
}

export type Decision = (Allowed | Refused) & {
  /** When an exception that the decision rests on ends, ms since the Unix epoch; absent for never. */
  validUntilMs?: number;
};

/** The decision about content in which nothing was found. */
const ALLOWED: Decision = { allowed: true };

/** What happens to the content: it is stored as it is, stored with a report, stored in another form, or not stored. */
export type Outcome = "unchanged" | "audit" | "redact" | "block";

export function outcomeOf(decision: Decision): Outcome {
  if (!decision.allowed) return "block";
  const { redacted: replaced, findings = [] } = decision.found ?? {};
  if (replaced !== undefined) return "redact";
  return findings.length > 0 ? "audit" : "unchanged";
}

/** Returns all findings, whatever happens to the content. */
export const findingsOf = (decision: Decision): readonly Finding[] =>
  decision.allowed ? (decision.found?.findings ?? []) : decision.findings;

/** The most findings that an answer and an event name. */
const MOST_REPORTED = 256;
/** How often content is screened again after replacements. */
const MOST_ROUNDS = 8;

/**
 * Decides about key, value and metadata of an entry at a time, ms since the Unix epoch. Without a time, exceptions with
 * an end are in force. `field` of a finding is a path in which metadata names that matched are `*`: a name can
 * be the personal data.
 */
export function decide(policies: PolicySettings, content: Content, nowMs?: number): Decision {
  const rules = rulesOf(policies);
  const { found, excepted, validUntilMs } = examine(rules, content, nowMs);
  if (found.length === 0 && excepted === null) return ALLOWED;
  return until(validUntilMs, noting(excepted, decided(rules, content, found, nowMs)));
}

/** Adds to a decision the exceptions that it used. */
function noting(excepted: Examined["excepted"], decision: Allowed | Refused): Allowed | Refused {
  if (excepted === null) return decision;
  return decision.allowed
    ? { ...decision, found: { findings: [], ...decision.found, excepted } }
    : { ...decision, excepted };
}

/** Reports whether a match prevents storing: it blocks, or it should be replaced and cannot be. */
const refuses = ({ finding: { mode }, isFixed }: Match): boolean => mode === "block" || (mode === "redact" && isFixed);
const isToRedact = ({ finding: { mode } }: Match): boolean => mode === "redact";

const matchesOf = (found: readonly FieldMatches[]): Match[] => found.flatMap(({ matches }) => matches);

function decided(
  rules: Rules,
  content: Content,
  found: readonly FieldMatches[],
  nowMs: number | undefined,
): Allowed | Refused {
  const all = matchesOf(found);
  const findings = reported(all);
  let clean = content;
  let left = found;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const matches = matchesOf(left);
    const refusing = matches.filter(refuses);
    if (refusing.length > 0) return refuse(findings, refusing);
    if (!matches.some(isToRedact)) {
      const { value, metadata } = clean;
      return { allowed: true, found: round === 0 ? { findings } : { findings, redacted: { value, metadata } } };
    }
    const replaced = redacted(clean, left, rules.names);
    if (replaced.fixed.length > 0) return refuse(findings, replaced.fixed);
    if (round === 0) continueEffort();
    clean = replaced.content;
    left = examineAgain(rules, clean, nowMs, replaced.changes).found;
  }
  return refuse(findings, all.filter(isToRedact));
}

const reported = (matches: readonly Match[]): Finding[] =>
  matches.slice(0, MOST_REPORTED).map(({ finding }) => finding);

/** Combines the reports on several contents that are stored. */
export function reportedTogether(all: readonly Reported[]): Reported {
  const excepted: Record<string, number> = {};
  for (const [detector, count] of all.flatMap((one) => Object.entries(one.excepted ?? {})))
    excepted[detector] = (excepted[detector] ?? 0) + count;
  const findings = all.flatMap((one) => one.findings).slice(0, MOST_REPORTED);
  return Object.keys(excepted).length === 0 ? { findings } : { findings, excepted };
}

/**
 * Decides like {@link decide} about content that cannot be stored in another form: it is refused when it would be
 * redacted.
 */
export function decideAsItIs(policies: PolicySettings, content: Content, nowMs?: number): Decision {
  const { found, excepted, validUntilMs } = examine(rulesOf(policies), content, nowMs, true);
  if (found.length === 0 && excepted === null) return ALLOWED;
  const all = matchesOf(found);
  const refusing = all.filter((match) => refuses(match) || isToRedact(match));
  const findings = reported(all);
  const outcome: Allowed | Refused =
    refusing.length === 0 ? { allowed: true, found: { findings } } : refuse(findings, refusing);
  return until(validUntilMs, noting(excepted, outcome));
}

const until = (validUntilMs: number, decision: Allowed | Refused): Decision =>
  validUntilMs === Number.POSITIVE_INFINITY ? decision : { ...decision, validUntilMs };

/**
 * Returns what an event records of a text that its request names, such as a key that is read: the text, or
 * `{"redacted": true}` when a policy in any mode finds something in it, or it would take too long to tell. `policies` are
 * the policies in force for the agent.
 */
export function recorded(name: string, text: string, policies: PolicySettings): JsonObject {
  const rules = rulesOf(policies);
  if (text === "" || isKnownClean(rules, text)) return { [name]: text };
  return isFoundIn(rules, text) ? { redacted: true } : { [name]: text };
}

function isFoundIn(rules: Rules, text: string): boolean {
  try {
    // At this time, only exceptions without an end are in force.
    return examine(rules, { key: text, value: "", metadata: {} }, Number.MAX_SAFE_INTEGER).found.length > 0;
  } catch (error) {
    if (error instanceof TooMuchWork) return true;
    throw error;
  }
}

/**
 * As {@link recorded}, for a request from which no agent is known: every detector counts, beside the policies of the
 * workspace.
 */
export function recordedOfNobody(name: string, text: string, ofWorkspace: PolicySettings): JsonObject {
  const said = recorded(name, text, ofWorkspace);
  return "redacted" in said ? said : recorded(name, text, EVERY_POLICY);
}

const EVERY_POLICY = examplePolicies(screeningPolicies());

function refuse(findings: Finding[], refusing: readonly Match[]): Refused {
  const policies = new Set(refusing.map(({ finding }) => finding.policy));
  const [other] = policies;
  const first = PRECEDENCE.find((name) => policies.has(name)) ?? other;
  return { allowed: false, blockedBy: `policy:${first}`, message: describe(refusing), findings };
}

/** The most findings that the message names; it gives the number of the others. */
const NAMED_FINDINGS = 5;

function describe(refusing: readonly Match[]): string {
  const findings = refusing.map(({ finding }) => finding);
  const forbidden = [...new Set(findings.map(({ policy }) => forbids(policy)))];
  const places = findings.map(({ detector, field }) => `${detectorWords(detector)} in ${place(field)}`);
  const kinds = [...new Set(places)];
  const named = kinds.slice(0, NAMED_FINDINGS).join(", ");
  const more = kinds.length > NAMED_FINDINGS ? ` and ${kinds.length - NAMED_FINDINGS} more` : "";
  return `Blocked, nothing was stored: the agent's policy does not allow ${forbidden.join(" and ")}. Found ${named}${more}. Remove it and write again.`;
}

const forbids = (policy: string): string =>
  new Map(contentPolicies()).get(policy as PolicyName)?.forbids ?? "what its patterns match";

const place = (field: string): string => (field.startsWith("metadata") ? field : `the ${field}`);

/** Content whose screening uses the tables for every text, for other alphabets and for long tokens. */
const SAMPLE: Content = {
  key: "note/1",
  value: "Привет. The customer in Köln asked on Monday about invoice 2024-1093, see build 7f3c9ad1e2b4.",
  metadata: {},
};

/** Builds the tables for which the first content would otherwise wait, whatever policies its agent has. */
export function buildScreeningTables(): void {
  decide(EVERY_POLICY, SAMPLE);
}
