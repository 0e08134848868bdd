/** Reads of an earlier moment of the log: finding it, and the outcome when it is not there. */

import type { JsonObject } from "../json.ts";
import type { AsOf } from "../operation-facts.ts";
import type { Reader } from "../store/transaction.ts";
import type { AgentState } from "./rows/agents.ts";
import { findMoment, isMoment, lossAt, type NoMoment, type PastMoment } from "./rows/as-of.ts";
import { atOneMoment } from "./rows/listing/moment.ts";
import { type LookContext, naming, type Outcome, refused } from "./writer/operation.ts";

/** What was found of the state of a moment. */
export type OfMoment<T> = T & {
  /** The moment; absent for the present. */
  at?: PastMoment;
  /** Why there is nothing. */
  no?: NoMoment;
};

/**
 * Reads the state of an agent at the moment that a request names, or the present one.
 * @param nothing what is found when there is no such moment
 */
export const readAsOf = <T extends object>(
  reader: Reader,
  context: LookContext,
  input: { agentId: string } & AsOf,
  nothing: T,
  read: (reader: Reader, agent: AgentState | null, at: PastMoment | undefined) => Promise<T>,
): Promise<OfMoment<T> & { readSeq: number }> =>
  atOneMoment(reader, input.agentId, context, async (own, agent): Promise<OfMoment<T>> => {
    if (input.asOf === undefined) return read(own, agent, undefined);
    const at = await keptMoment(own, context, agent, { agentId: input.agentId, name: input.asOf });
    return isMoment(at) ? { ...(await read(own, agent, at)), at } : { ...nothing, no: at };
  });

async function keptMoment(
  reader: Reader,
  { nowMs, principal }: LookContext,
  agent: AgentState | null,
  asked: Pick<Parameters<typeof findMoment>[1], "agentId" | "name">,
): Promise<PastMoment | NoMoment> {
  const found = await findMoment(reader, { ...asked, nowMs, limit: principal.agents });
  if (!isMoment(found) || agent === null) return found;
  return (await lossAt(reader, agent, found, nowMs)) ?? found;
}

/** Returns the member of details and answers that names the moment of a read; none for the present. */
export const showMoment = ({ at }: { at?: PastMoment } = {}): JsonObject => (at === undefined ? {} : { as_of: at });

const NO_MOMENT = {
  audit_event_not_found: "No event of this agent has this id.",
  checkpoint_not_found: "This agent has no such checkpoint.",
  moment_gone: "Not all that the agent had at this moment is kept. Send a later one, or a checkpoint's id.",
};

/** Returns the outcome of a read of a moment that there is not, or whose state is not all kept. */
export function noMoment(
  agent: AgentState | null,
  agentId: string,
  { code, keptSince }: NoMoment,
  details: JsonObject = {},
): Outcome {
  const extra = { param: "as_of", ...(keptSince !== undefined && { kept_since: keptSince }) };
  const said = naming(agent, agentId, { ...details, code });
  return refused(agent, "not_found", said, { code, detail: NO_MOMENT[code], extra });
}
