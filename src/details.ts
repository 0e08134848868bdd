/**
 * The forms of events' details. Each row of `operations.ts` states the members that an event of its operation has with
 * each result, in which chain it is, and who may be its actor. The recorder writes nothing else, and the verifier
 * accepts nothing else. docs/audit-format.md has the same table for other verifiers.
 */
import { AGENT_ID_FORM } from "./agent-id.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

export const AUDIT_RESULTS = ["ok", "allowed", "blocked", "not_found", "conflict", "denied"] as const;
/** The result of an operation. */
export type AuditResult = (typeof AUDIT_RESULTS)[number];

/** Who can be the actor: a key, a user, a workload, the command line (`cli`), the daemon (`system`). */
export type Actors = Exclude<`${"k" | ""}${"u" | ""}${"l" | ""}${"c" | ""}${"s" | ""}`, "">;

/** The form of a value. */
export interface ValueForm {
  /** The name of the form in docs/audit-format.md. */
  readonly name: string;
  fits(value: JsonValue): boolean;
  /** The parts of a form that has parts. */
  readonly parts?: Parts;
}

/** The words of which a value is one; the form of each item of a list; two forms of which a value has one; members. */
type Parts =
  | { readonly words: readonly string[] }
  | { readonly items: ValueForm }
  | { readonly either: readonly [ValueForm, ValueForm] }
  | { readonly members: Members };

/** The form of a member. Absent `presence`: the member is always there. */
interface Member extends ValueForm {
  /** `unless_redacted`: the member is there unless `redacted` is true. */
  readonly presence?: "optional" | "unless_redacted" | "optional_or_redacted";
}

export type Members = Readonly<Record<string, Member>>;

/**
 * The chain of an event: its agent's; its agent's, or the workspace's own with `agent_id` while the agent has no event;
 * the workspace's own, in every log, or only in that of a workspace or of the installation.
 */
export type Chain = "agent" | "agent or none" | "own" | "workspace" | "installation";

/** One form of details, and the chains in which events have it. */
export interface DetailsForm {
  readonly chain: Chain;
  /** Set when only some of the operation's actors have this form. */
  readonly actors?: Actors;
  readonly members: Members;
  /** The number of members that are always there. */
  readonly due: number;
}

const value = (name: string, fits: (value: JsonValue) => boolean, parts?: Parts): ValueForm => ({
  name,
  fits,
  ...(parts && { parts }),
});
const matching = (name: string, pattern: string): ValueForm => {
  const whole = new RegExp(`^(?:${pattern})$`);
  return value(name, (text) => typeof text === "string" && whole.test(text));
};

/** A hash in hex, and what is behind the prefix of an id, as patterns. */
export const HASH_FORM = "[0-9a-f]{64}";
export const TYPE_ID_FORM = "[0-7][0-9a-hjkmnp-tv-z]{25}";

export const TEXT = value("text", (text) => typeof text === "string");
export const COUNT = value("count", (count) => Number.isSafeInteger(count) && (count as number) >= 0);
/** A count of at least 1. */
export const SOME = value("some", (count) => Number.isSafeInteger(count) && (count as number) >= 1);
export const FLAG = value("flag", (flag) => typeof flag === "boolean");
export const HASH = matching("hash", HASH_FORM);
export const AGENT = matching("agent", AGENT_ID_FORM);
/** An object whose members the operation does not limit. */
export const OBJECT = value("object", isJsonObject);

/**
 * Returns the moment of a time as events write it (RFC 3339, UTC, three decimals), ms since the Unix epoch; undefined
 * for any other value.
 */
export function momentOf(text: JsonValue | undefined): number | undefined {
  const timeMs = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isFinite(timeMs) && new Date(timeMs).toISOString() === text ? timeMs : undefined;
}

export const TIME = value("time", (text) => momentOf(text) !== undefined);
export const id = (prefix: string): ValueForm => matching(`${prefix}_`, `${prefix}_${TYPE_ID_FORM}`);
/** A version: `v` for a config, `p` for the policies of the workspace, and its number. */
export const version = (letter: "v" | "p"): ValueForm => matching(`${letter}1`, `${letter}[1-9][0-9]{0,15}`);
export const oneOf = (...words: readonly string[]): ValueForm =>
  value(words.map((word) => `"${word}"`).join(" or "), (text) => words.includes(text as string), { words });
/** The most positions in a list of them. */
export const MOST_POSITIONS = 1_000;
/** Positions in the log: each once, ascending. */
export const POSITIONS = value("positions", (list) => {
  if (!Array.isArray(list) || list.length > MOST_POSITIONS) return false;
  return list.every((one, at) => COUNT.fits(one) && (at === 0 || (one as number) > (list[at - 1] as number)));
});
/** Positions of at least one write. */
export const WRITES = value("writes", (list) => POSITIONS.fits(list) && (list as JsonValue[]).length > 0);
export const TRUE = value("true", (flag) => flag === true);
export const FALSE = value("false", (flag) => flag === false);
export const NULL = value("null", (nothing) => nothing === null);
export const listOf = (items: ValueForm): ValueForm =>
  value(`[${items.name}]`, (list) => Array.isArray(list) && list.every(items.fits), { items });
export const either = (a: ValueForm, b: ValueForm): ValueForm =>
  value(`${a.name} or ${b.name}`, (given) => a.fits(given) || b.fits(given), { either: [a, b] });
/** The same form under a name of its own in docs/audit-format.md. */
export const named = (name: string, form: ValueForm): ValueForm => ({ ...form, name });
export const nullable = (form: ValueForm): ValueForm => either(form, NULL);
/** An object with exactly these members, of which optional ones may be absent. */
export const only = (members: Members): ValueForm => {
  const due = dueIn(members);
  return value(describe(members), (given) => isJsonObject(given) && hasOnly(given, members, due), { members });
};
/** An object of any members that are all of this form. */
export const mapOf = ({ name, fits }: ValueForm): ValueForm =>
  value(`{*: ${name}}`, (given) => isJsonObject(given) && Object.values(given).every(fits));

export const optional = (form: ValueForm): Member => ({ ...form, presence: "optional" });
/** A text of the request. When a policy objects to it, the member is absent, and `redacted` is true. */
export const redactable = (form: ValueForm): Member => ({ ...form, presence: "unless_redacted" });
/** The same for a text that the request may lack. */
export const optionalRedactable = (form: ValueForm): Member => ({ ...form, presence: "optional_or_redacted" });

const formIn =
  (chain: Chain) =>
  (members: Members): DetailsForm => ({ chain, members, due: dueIn(members) });

/** A form that only some of the operation's actors have. */
export const by = (actors: Actors, form: DetailsForm): DetailsForm => ({ ...form, actors });

export const inAgent = formIn("agent");
export const aboutAgent = formIn("agent or none");
export const inOwn = formIn("own");
export const inWorkspace = formIn("workspace");
export const inInstallation = formIn("installation");

const MARKS = { optional: "?", unless_redacted: "~", optional_or_redacted: "?~" } as const;

/** Returns members as docs/audit-format.md writes them. */
export const describe = (members: Members): string =>
  `{${Object.entries(members)
    .map(([name, { name: form, presence }]) => `${name}${presence === undefined ? "" : MARKS[presence]}: ${form}`)
    .join(", ")}}`;

const dueIn = (members: Members): number =>
  Object.values(members).filter(({ presence }) => presence === undefined).length;

const memberOf = (members: Members, name: string): Member | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined;

function hasOnly(given: JsonObject, members: Members, due: number): boolean {
  let there = 0;
  for (const name in given) {
    const member = memberOf(members, name);
    if (member?.fits(given[name] as JsonValue) !== true) return false;
    if (member.presence === undefined) there += 1;
  }
  return there === due;
}

/** The event that has the details. */
export interface Bearer {
  actor: string;
  /** Null: the workspace's own chain. */
  agentId: string | null;
}

const TRACE = matching("trace", "[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}");
const SESSION = matching("session", "[!-~]{1,128}");
/** Whether a text can name the session of a request: 1 to 128 visible ASCII characters. */
export const isSession = (text: JsonValue): boolean => SESSION.fits(text);
const WORKLOAD = only({ issuer: TEXT, subject: TEXT });
/** One of a token's parties (RFC 8693 section 4.1): its subject, or an actor. */
export type Party = Readonly<{ iss: string | null; sub: string }>;
/** The most actors behind the subject of a workload's token that an event states. */
export const MOST_ACTORS = 5;
const CHAIN = listOf(only({ iss: nullable(TEXT), sub: TEXT }));
/** The subject of a token, and at least one actor. */
const isChain = (given: JsonValue): boolean =>
  Array.isArray(given) && given.length >= 2 && given.length <= 1 + MOST_ACTORS && CHAIN.fits(given);
const SECOND_FACTORS = ["totp", "recovery_code", "passkey"] as const;
/** A second factor. */
export type SecondFactor = (typeof SECOND_FACTORS)[number];
export const FACTOR = oneOf(...SECOND_FACTORS);
const AUTHORISED_BY = only({
  session_id: id("ses"),
  second_factor: nullable(FACTOR),
  second_factor_at: nullable(TIME),
});
const POLICIES_VERSION = version("p");

/**
 * Members that details of every operation have when they apply: what a request stated, who a workload is and on whose
 * behalf it acts, the session of a person, the agent without events that an event in the workspace's own chain is about, and the policies in force.
 */
function isShared(name: string, given: JsonValue, details: JsonObject, form: DetailsForm, bearer: Bearer): boolean {
  switch (name) {
    case "client":
      return TEXT.fits(given) && bearer.actor.includes("_");
    case "trace":
      return TRACE.fits(given) && bearer.actor.includes("_");
    case "session":
      return isSession(given) && bearer.actor.includes("_");
    case "on_behalf_of":
      return isChain(given) && isWorkload(bearer);
    case "workload":
      return WORKLOAD.fits(given) && isWorkload(bearer);
    case "authorised_by":
      return AUTHORISED_BY.fits(given) && bearer.actor.startsWith("usr_");
    case "agent_id":
      return TEXT.fits(given) && isAboutNone(form, bearer);
    case "policies_version":
      return POLICIES_VERSION.fits(given) && dependsOnPolicies(details, bearer.agentId);
    case "redacted":
      return (
        given === true &&
        Object.entries(form.members).some(
          ([one, { presence }]) => isRedactable(presence) && !Object.hasOwn(details, one),
        )
      );
    default:
      return false;
  }
}

const isRedactable = (presence: Member["presence"]): boolean =>
  presence === "unless_redacted" || presence === "optional_or_redacted";
const isWorkload = ({ actor }: Bearer): boolean => actor.startsWith("wid_");
const isAboutNone = ({ chain }: DetailsForm, { agentId }: Bearer): boolean =>
  agentId === null && chain === "agent or none";

/**
 * Whether details state the version of the workspace's policies, if there are any: in an agent's chain, about an agent,
 * of a text that a policy keeps out, and of a decision (`allowed`).
 */
export const dependsOnPolicies = (details: JsonObject, agentId: string | null): boolean =>
  agentId !== null ||
  details.redacted === true ||
  Object.hasOwn(details, "agent_id") ||
  Object.hasOwn(details, "allowed");

/** Returns what is wrong with the members of details; null when they have the form. Never repeats a value. */
export function membersProblem(details: JsonObject, form: DetailsForm, bearer: Bearer): string | null {
  const { members, due } = form;
  let there = 0;
  for (const name in details) {
    const given = details[name] as JsonValue;
    const member = memberOf(members, name);
    if (member === undefined) {
      if (!isShared(name, given, details, form, bearer)) return "a member is unknown, or not of its type";
    } else if (!member.fits(given)) return `the member ${name} is not of its type`;
    else if (member.presence === undefined) there += 1;
  }
  if (there < due) return "a member is missing";
  if (isWorkload(bearer) && !Object.hasOwn(details, "workload")) return "the member workload is missing";
  if (isAboutNone(form, bearer) && !Object.hasOwn(details, "agent_id")) return "the member agent_id is missing";
  if (details.redacted === true) return null;
  for (const name in members) {
    if (members[name]?.presence === "unless_redacted" && !Object.hasOwn(details, name))
      return `the member ${name} is missing`;
  }
  return null;
}
