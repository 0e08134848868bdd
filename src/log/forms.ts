/**
 * Whether an event can be: its operation, result, actor, chain and details fit the row of the operation in
 * `operations.ts`. The recorder asks before it writes an event, and the verifier of every event that it reads.
 */
import { type Actors, type Bearer, type DetailsForm, membersProblem } from "../details.ts";
import type { JsonObject } from "../json.ts";
import { EVENT_NAMES, eventFacts } from "../operations.ts";
import type { AuditEventBody, AuditResult } from "./event.ts";

/** What is wrong with an event that cannot be. `verify/codes.ts` says what each code means. */
export interface ImpossibleEvent {
  code: "operation_unknown" | "result_impossible" | "actor_impossible" | "chain_impossible" | "details_invalid";
  message: string;
}

/** The members of an event that its operation's row is about. */
export type Formed = Pick<AuditEventBody, "operation" | "result" | "blocked_by" | "actor" | "agent_id">;

/** Whether a log is that of the installation; null when nobody knows. */
export type OfInstallation = boolean | null;

interface Row {
  actors: Actors;
  forms: Readonly<Partial<Record<AuditResult, readonly DetailsForm[]>>>;
}

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
export const formsFor = (event: Omit<Formed, "blocked_by">, ofInstallation: OfInstallation): readonly DetailsForm[] => {
  const own = ROWS.get(event.operation)?.actors ?? "";
  return formsIn(event, ofInstallation).filter(({ actors = own }) => actors.includes(kindOf(event.actor)));
};

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
  if (row === undefined) return { code: "operation_unknown", message: "there is no such operation" };
  if (row.forms[result] === undefined || (result === "blocked") !== (blockedBy !== null)) {
    return { code: "result_impossible", message: "the operation never has this result, or not with this blocked_by" };
  }
  if (formsIn(event, ofInstallation).length === 0)
    return { code: "chain_impossible", message: "the operation is never recorded in this chain" };
  const forms = formsFor(event, ofInstallation);
  if (forms.length === 0) {
    return { code: "actor_impossible", message: "the operation never has an actor of this kind" };
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
