/** Operations that list an agent's entries, page by page: all under a prefix, or those that match a filter. */

import { itemCount, listBody } from "../../core/lists.ts";
import { noMoment, type OfMoment, readAsOf, showMoment } from "../../core/past.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import { answered, type LookContext, naming, type Outcome, operation } from "../../core/writer/operation.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { type Recall, readAt } from "../../log/recall.ts";
import type { AsOf, Filter } from "../../operation-facts.ts";
import { recorded } from "../../screen/decide.ts";
import { readingsOf } from "../../screen/fields.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";
import { type FoundPage, type ListInput, readPage } from "./page.ts";

type Input = ListInput & { agentId: string } & AsOf;

const NO_PAGE: FoundPage = { items: [], shown: 0, recall: {}, next: null, more: {} };

/** Reads a page on another thread, as it was at one moment. */
const lookUp = (reader: Reader, context: LookContext, input: Input) =>
  readAsOf(reader, context, input, NO_PAGE, (own, agent, at) => {
    const { nowMs, seesSetAside } = context;
    return readPage(own, agent, input, { nowMs, seesSetAside, pause: nextTurn, ...(at && { asOf: at.seq }) });
  });

/** Returns the members of details that say which state was read. */
const stateRead = (found: OfMoment<{ readSeq: number }>, seq: number, recall: Recall): JsonObject => ({
  ...showMoment(found),
  ...readAt(found.readSeq, seq, recall),
});

/** Returns the outcome of a list of a moment that is not there; null when it is. */
function notThere(
  agent: AgentState | null,
  { agentId, prefix }: Input,
  policies: PolicySettings,
  { no }: OfMoment<object> = {},
): Outcome | null {
  return no === undefined ? null : noMoment(agent, agentId, no, recorded("prefix", prefix, policies));
}

export const listData = operation("data.list", {
  look: lookUp,
  async run(reader, context, input, found) {
    const agent = await context.agents.find(input.agentId);
    const policies = context.agents.policiesOf(agent);
    const refusal = notThere(agent, input, policies, found);
    if (refusal !== null) return refusal;
    const { items, next, more, recall } = found ?? (await readPage(reader, agent, input, context));
    const details = {
      ...recorded("prefix", input.prefix, policies),
      count: itemCount(items),
      ...recall,
      ...(found && stateRead(found, context.seq, recall)),
    };
    const body = listBody("data.list", input, items, next, { ...more, ...showMoment(found) });
    return answered(agent, naming(agent, input.agentId, details), body);
  },
});

export const queryData = operation("data.query", {
  look: lookUp,
  async run(_reader, context, input, found) {
    const agent = await context.agents.find(input.agentId);
    const policies = context.agents.policiesOf(agent);
    const refusal = notThere(agent, input, policies, found);
    if (refusal !== null) return refusal;
    const { items, shown, next, more, recall } = found;
    const details = {
      ...recorded("prefix", input.prefix, policies),
      ...recordedFilter(input.filter, policies),
      count: shown,
      ...recall,
      ...stateRead(found, context.seq, recall),
    };
    const body = listBody("data.query", input, items, next, { ...more, ...showMoment(found) });
    return answered(agent, naming(agent, input.agentId, details), body);
  },
});

/**
 * Returns the details of an event about a filter: which members were compared and how, without the values. If a policy
 * refuses a name, all names are left out, since they may not be names in stored data.
 */
export function recordedFilter(filter: Filter, policies: PolicySettings): JsonObject {
  if (filter.length === 0) return {};
  const names = filter.flatMap(({ path }) => readingsOf(path));
  const isRedacted = names.some((name) => "redacted" in recorded("name", name, policies));
  if (isRedacted) return { redacted: true };
  const compared: JsonValue[] = filter.map(({ path, operator }) => [...path, operator]);
  return { filter: compared };
}
