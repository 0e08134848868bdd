/** Operations that list an agent's entries, page by page: all under a prefix, or those that match a filter. */

import { itemCount, listBody } from "../../core/lists.ts";
import { atOneMoment } from "../../core/rows/listing/moment.ts";
import { answered, type LookContext, naming, operation } from "../../core/writer/operation.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { readAt } from "../../log/recall.ts";
import type { Filter } from "../../operation-facts.ts";
import { recorded } from "../../screen/decide.ts";
import { readingsOf } from "../../screen/fields.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";
import { type ListInput, readPage } from "./page.ts";

/** Reads a page on another thread, as it was at one moment. */
const lookUp = (reader: Reader, context: LookContext, input: ListInput & { agentId: string }) =>
  atOneMoment(reader, input.agentId, context, (own, agent) =>
    readPage(own, agent, input, { nowMs: context.nowMs, pause: nextTurn }),
  );

export const listData = operation("data.list", {
  look: lookUp,
  async run(reader, context, input, found) {
    const agent = await context.agents.find(input.agentId);
    const { items, next, more, recall } = found ?? (await readPage(reader, agent, input, context));
    const details = {
      ...recorded("prefix", input.prefix, context.agents.policiesOf(agent)),
      count: itemCount(items),
      ...recall,
      ...(found && readAt(found.readSeq, context.seq, recall)),
    };
    return answered(agent, naming(agent, input.agentId, details), listBody("data.list", input, items, next, more));
  },
});

export const queryData = operation("data.query", {
  look: lookUp,
  async run(_reader, context, input, { items, shown, next, more, recall, readSeq }) {
    const agent = await context.agents.find(input.agentId);
    const policies = context.agents.policiesOf(agent);
    const details = {
      ...recorded("prefix", input.prefix, policies),
      ...recordedFilter(input.filter, policies),
      count: shown,
      ...recall,
      ...readAt(readSeq, context.seq, recall),
    };
    return answered(agent, naming(agent, input.agentId, details), listBody("data.query", input, items, next, more));
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
