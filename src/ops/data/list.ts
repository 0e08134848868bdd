/** Operations that list an agent's entries, page by page: all under a prefix, or those that match a filter. */

import { itemCount, listBody } from "../../core/lists.ts";
import { readAgent } from "../../core/rows/agents.ts";
import { answered, naming, operation } from "../../core/writer/operation.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import type { Filter } from "../../operation-facts.ts";
import { recorded } from "../../screen/decide.ts";
import { readingsOf } from "../../screen/fields.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import { nextTurn } from "../../timer.ts";
import { type FoundPage, readPage } from "./page.ts";

export const listData = operation("data.list", {
  look: async (reader, { nowMs }, input): Promise<FoundPage> =>
    readPage(reader, await readAgent(reader, input.agentId), input, { nowMs, pause: nextTurn }),
  async run(reader, context, input, found) {
    const agent = await context.agents.find(input.agentId);
    const { items, next, more } = found ?? (await readPage(reader, agent, input, context));
    const prefix = recorded("prefix", input.prefix, context.agents.policiesOf(agent));
    const details = naming(agent, input.agentId, { ...prefix, count: itemCount(items) });
    return answered(agent, details, listBody("data.list", input, items, next, more));
  },
});

export const queryData = operation("data.query", {
  look: async (reader, { nowMs }, input): Promise<FoundPage> =>
    readPage(reader, await readAgent(reader, input.agentId), input, { nowMs, pause: nextTurn }),
  async run(_reader, context, input, { items, shown, next, more }) {
    const agent = await context.agents.find(input.agentId);
    const policies = context.agents.policiesOf(agent);
    const details = {
      ...recorded("prefix", input.prefix, policies),
      ...recordedFilter(input.filter, policies),
      count: shown,
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
