/**
 * An event of the audit log, format governd.audit/1: the RFC 8785 (JCS) text of one JSON object. docs/audit-format.md
 * specifies the format, and `operations.ts` what an event of each operation can be. All of the text is printable ASCII
 * without quotes or backslashes inside the strings, so it has no escapes and each character is one byte.
 */
import { AGENT_ID_FORM } from "../agent-id.ts";
import {
  type Actors,
  AUDIT_RESULTS,
  type AuditResult,
  type Bearer,
  type DetailsForm,
  HASH_FORM,
  membersProblem,
  TYPE_ID_FORM,
} from "../details.ts";
import { positionOf } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import { EVENT_NAMES, type EventName, eventFacts } from "../operations.ts";
import { ZERO_HASH } from "./hash.ts";

export type { AuditResult } from "../details.ts";

/** The format that every event names. */
export const AUDIT_FORMAT = "governd.audit/1";

/** The format that every export names. */
export const EXPORT_FORMAT = "governd.audit-export/1";

/** The operation of the first event of every log. */
export const GENESIS = "workspace.create" satisfies EventName;

/** The `actor` of what the daemon does by itself. */
export const SYSTEM = "system";

/** Whether an actor sees what is set aside: people, the command line and the daemon; not keys and workloads, which are programs. */
export const seesSetAside = (actor: string): boolean => !/^(?:key|wid)_/.test(actor);

/** The hashed part of an event. {@link MEMBERS} has the form of each member, and their canonical order. */
export interface AuditEventBody {
  actor: string;
  agent_id: string | null;
  agent_seq: number;
  blocked_by: string | null;
  config_version: string | null;
  details_commitment: string;
  format: typeof AUDIT_FORMAT;
  id: string;
  operation: string;
  previous_hash: string;
  /** Under a greater vocabulary than this program knows, it may be another word. */
  result: AuditResult;
  seq: number;
  timestamp: string;
  workspace_id: string;
}

/** Bytes are not an event of this format. The message says what is wrong and never repeats the content. */
export class EventFormatError extends Error {
  override readonly name = "EventFormatError";
}

const NAME = "[a-z][a-z0-9_]{0,63}";
const COUNT = "0|[1-9][0-9]{0,15}";

/** The form of each member's JSON text, in canonical order, each with one capture. */
export const MEMBERS: readonly (readonly [keyof AuditEventBody, string])[] = [
  ["actor", `"([a-z]{3}_${TYPE_ID_FORM}|[a-z]{1,16})"`],
  ["agent_id", `(?:null|"(${AGENT_ID_FORM})")`],
  ["agent_seq", "([1-9][0-9]{0,15})"],
  ["blocked_by", `(?:null|"(policy:${NAME})")`],
  ["config_version", `(?:null|"(v[1-9][0-9]{0,15})")`],
  ["details_commitment", `"(${HASH_FORM})"`],
  ["format", `"(governd\\.audit/1)"`],
  ["id", `"(aud_${TYPE_ID_FORM})"`],
  ["operation", `"(${NAME}\\.${NAME})"`],
  ["previous_hash", `"(${HASH_FORM})"`],
  ["result", `"(${NAME})"`],
  ["seq", `(${COUNT})`],
  [
    "timestamp",
    `"([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z)"`,
  ],
  ["workspace_id", `"(ws_${TYPE_ID_FORM})"`],
];

// The object is flat and needs no escapes, so one regular expression matches every valid text. Parsing and the check of
// canonical form are one step.
const EVENT = new RegExp(`^\\{${MEMBERS.map(([name, form]) => `"${name}":${form}`).join(",")}\\}$`);

/**
 * Returns the canonical text of an event, for hashing and storing.
 * @throws EventFormatError when a member is malformed, so that nothing is written that {@link parseEvent} would refuse
 */
export function canonicalEvent(body: AuditEventBody): string {
  const text = textOf(body);
  if (!EVENT.test(text)) throw new EventFormatError(whatIsWrong(text));
  checkRanges(body);
  return text;
}

/**
 * Reports whether the members of an event have their forms, so that {@link parseEvent} returns the same. The id and the
 * timestamp were made of the position and of a moment, so only their presence is examined.
 * @param text what {@link textOf} returns for them
 */
export const isInForm = ({ seq, agent_seq: agentSeq }: AuditEventBody, text: string): boolean =>
  Number.isSafeInteger(seq) && Number.isSafeInteger(agentSeq) && EVENT.test(text);

/** Returns the text of an event whose members have their forms. */
export const textOf = (body: AuditEventBody): string =>
  `{"actor":"${body.actor}","agent_id":${quotedOrNull(body.agent_id)},"agent_seq":${body.agent_seq}` +
  `,"blocked_by":${quotedOrNull(body.blocked_by)},"config_version":${quotedOrNull(body.config_version)}` +
  `,"details_commitment":"${body.details_commitment}","format":"${body.format}","id":"${body.id}"` +
  `,"operation":"${body.operation}","previous_hash":"${body.previous_hash}","result":"${body.result}"` +
  `,"seq":${body.seq},"timestamp":"${body.timestamp}","workspace_id":"${body.workspace_id}"}`;

/**
 * Parses the canonical text of an event. It is the inverse of {@link canonicalEvent}.
 * @throws EventFormatError for anything that is not exactly canonical: another order, white space, escapes, an unknown
 *   or missing member, a wrong type, a malformed id or number
 */
export function parseEvent(canonical: string): AuditEventBody {
  const match = EVENT.exec(canonical);
  if (match === null) throw new EventFormatError(whatIsWrong(canonical));
  const body: AuditEventBody = {
    actor: match[1] as string,
    agent_id: match[2] ?? null,
    agent_seq: Number(match[3]),
    blocked_by: match[4] ?? null,
    config_version: match[5] ?? null,
    details_commitment: match[6] as string,
    format: AUDIT_FORMAT,
    id: match[8] as string,
    operation: match[9] as string,
    previous_hash: match[10] as string,
    result: match[11] as AuditResult,
    seq: Number(match[12]),
    timestamp: match[13] as string,
    workspace_id: match[14] as string,
  };
  checkRanges(body);
  return body;
}

/**
 * Returns what is wrong with the genesis, seq 0, or with another event that claims to be one; null when nothing is.
 * Looks only at the event itself.
 */
export function genesisProblem(body: AuditEventBody): string | null {
  const isCreate = body.operation === GENESIS;
  if (body.seq !== 0) return isCreate ? `${GENESIS} may stand at seq 0 only` : null;
  if (!isCreate) return `seq 0 is not ${GENESIS}`;
  if (body.agent_id !== null || body.agent_seq !== 1 || body.previous_hash !== ZERO_HASH) {
    return "seq 0 does not begin the workspace's own chain";
  }
  return body.result === "ok" ? null : "seq 0 has a result other than ok";
}

/** Returns the JSON text of null or of a string that needs no escapes. */
export const quotedOrNull = (value: string | null): string => (value === null ? "null" : `"${value}"`);

/**
 * Returns what the regular expression cannot see: integers beyond 2^53 - 1, another position in the id, and days that a
 * month does not have. Null when nothing is wrong.
 */
export function rangeProblem(body: AuditEventBody): string | null {
  if (!Number.isSafeInteger(body.seq)) return "seq is beyond 2^53 - 1";
  if (!Number.isSafeInteger(body.agent_seq)) return "agent_seq is beyond 2^53 - 1";
  if (positionOf(body.id) !== body.seq) return "id is that of another position";
  const day = body.timestamp.charCodeAt(8) * 10 + body.timestamp.charCodeAt(9) - 528;
  return day > 28 && day > daysInMonth(body.timestamp) ? "timestamp is no day" : null;
}

function checkRanges(body: AuditEventBody): void {
  const found = rangeProblem(body);
  if (found !== null) throw new EventFormatError(found);
}

function daysInMonth(timestamp: string): number {
  const [year, month] = [Number(timestamp.slice(0, 4)), Number(timestamp.slice(5, 7))];
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Returns what is wrong with the first malformed member. Only error paths call it. */
function whatIsWrong(text: string): string {
  let rest = text;
  for (const [index, [name, form]] of MEMBERS.entries()) {
    const lead = index === 0 ? "{" : ",";
    const match = new RegExp(`^\\${lead}"${name}":(?:${form})(?=[,}])`).exec(rest);
    if (match === null) {
      const present = rest.startsWith(`${lead}"${name}":`);
      return present ? `${name} has the wrong type or form` : `${name} is not where canonical form has it`;
    }
    rest = rest.slice(match[0].length);
  }
  return "something follows workspace_id";
}

/** What is wrong with an event that cannot be. `verify/codes.ts` says what each code means. */
interface ImpossibleEvent {
  code: "operation_unknown" | "result_impossible" | "actor_impossible" | "chain_impossible" | "details_invalid";
  message: string;
}

/** The members of an event that its operation's row is about. */
type Formed = Pick<AuditEventBody, "operation" | "result" | "blocked_by" | "actor" | "agent_id">;

/** Whether a log is that of the installation; null when nobody knows. */
export type OfInstallation = boolean | null;

interface Row {
  actors: Actors;
  forms: Readonly<Partial<Record<AuditResult, readonly DetailsForm[]>>>;
}

/** The results and the actors of this vocabulary. Any other is of a greater one. */
const RESULTS: ReadonlySet<string> = new Set(AUDIT_RESULTS);
const ACTORS = /^(?:(?:key|usr|wid)_|(?:cli|system)$)/;

const ROWS: ReadonlyMap<string, Row> = new Map(
  EVENT_NAMES.map((name) => {
    const { actors, details } = eventFacts(name) as NonNullable<ReturnType<typeof eventFacts>>;
    const forms = Object.entries(details).map(([result, form]) => [result, Array.isArray(form) ? form : [form]]);
    return [name, { actors, forms: Object.fromEntries(forms) }];
  }),
);

/** Returns the forms of an operation with a result; none when there is no such operation, or it never has the result. */
const formsOf = ({ operation, result }: Pick<Formed, "operation" | "result">): readonly DetailsForm[] =>
  ROWS.get(operation)?.forms[result] ?? [];

/** Returns the forms that details of an event can have in its chain. The log of the installation has no agents. */
export const formsIn = (
  event: Pick<Formed, "operation" | "result" | "agent_id">,
  ofInstallation: OfInstallation,
): readonly DetailsForm[] =>
  event.agent_id !== null && ofInstallation === true
    ? []
    : formsOf(event).filter(({ chain }) => isIn(chain, event.agent_id, ofInstallation));

function isIn(chain: DetailsForm["chain"], agentId: string | null, ofInstallation: OfInstallation): boolean {
  switch (chain) {
    case "agent":
      return agentId !== null;
    case "agent or none":
      return true;
    case "own":
      return agentId === null;
    case "workspace":
      return agentId === null && ofInstallation !== true;
    case "installation":
      return agentId === null && ofInstallation !== false;
  }
}

/** Returns those of {@link formsIn} that an event of this actor can have. */
const formsFor = (event: Omit<Formed, "blocked_by">, ofInstallation: OfInstallation): readonly DetailsForm[] => {
  const kind = kindOf(event.actor);
  const known = `${event.operation} ${event.result} ${kind} ${event.agent_id === null} ${ofInstallation}`;
  return FORMS.getOrInsertComputed(known, () => {
    const own = ROWS.get(event.operation)?.actors ?? "";
    return formsIn(event, ofInstallation).filter(({ actors = own }) => actors.includes(kind));
  });
};

/** The forms that were sought before. Only operations that exist get here, so their number is limited. */
const FORMS = new Map<string, readonly DetailsForm[]>();

/** Returns the letter of an actor's kind in {@link Actors}. */
const kindOf = (actor: string): string => (actor.startsWith("wid_") ? "l" : actor.charAt(0));

/**
 * Returns why an event cannot be, by itself; null when it can.
 * @param details null when they are erased or not genuine
 */
export function formProblem(
  event: Formed,
  details: JsonObject | null,
  ofInstallation: OfInstallation,
): ImpossibleEvent | null {
  const { operation, result, blocked_by: blockedBy, actor, agent_id: agentId } = event;
  const row = ROWS.get(operation);
  if (row === undefined || !RESULTS.has(result) || !ACTORS.test(actor)) {
    return { code: "operation_unknown", message: "there is no such operation, result or kind of actor" };
  }
  if (row.forms[result] === undefined || (result === "blocked") !== (blockedBy !== null)) {
    return { code: "result_impossible", message: "the operation never has this result, or not with this blocked_by" };
  }
  const forms = formsFor(event, ofInstallation);
  if (forms.length === 0) {
    return formsIn(event, ofInstallation).length === 0
      ? { code: "chain_impossible", message: "the operation is never recorded in this chain" }
      : { code: "actor_impossible", message: "the operation never has an actor of this kind" };
  }
  return details === null ? null : detailsProblem(details, forms, { actor, agentId });
}

function detailsProblem(details: JsonObject, forms: readonly DetailsForm[], bearer: Bearer): ImpossibleEvent | null {
  let problem = "";
  for (const form of forms) {
    const found = membersProblem(details, form, bearer);
    if (found === null) return null;
    problem ||= found;
  }
  const message = `the details do not have the form of this operation and result: ${problem}`;
  return { code: "details_invalid", message };
}

// The vocabulary of a log is its operations, results, actors and forms of details, under a number. The genesis announces
// the first number, and each `log.vocabulary` event the next one. Announcements mean the same under every number.

/** The number of the vocabulary that this program writes, and the greatest that it knows. */
export const VOCABULARY = 1;

/** The operation that raises the number. */
export const RAISE_VOCABULARY = "log.vocabulary" satisfies EventName;

/** Whether an event announces a number. */
export const announcesVocabulary = ({
  seq,
  operation,
  agent_id: agentId,
  result,
}: Pick<AuditEventBody, "seq" | "operation" | "agent_id" | "result">): boolean =>
  agentId === null && result === "ok" && operation === (seq === 0 ? GENESIS : RAISE_VOCABULARY);

/** Returns the number that an announcement states; null when it does not have its form. */
export function announcedVocabulary(event: AuditEventBody, details: JsonObject | null): number | null {
  const number = details?.vocabulary;
  if (!Number.isSafeInteger(number) || (number as number) < 1) return null;
  const isRaise = event.operation === RAISE_VOCABULARY;
  if (isRaise && (event.actor !== SYSTEM || Object.keys(details as JsonObject).length !== 1)) return null;
  return number as number;
}
