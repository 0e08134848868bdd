/** Operations that list an agent's entries, page by page: all under a prefix, or those that match a filter. */

import { itemCount, listBody } from "../../core/lists.ts";
import { readAgent } from "../../core/rows/agents.ts";
import { answered, inquiry, naming, type PreparedOperation, type Recorded } from "../../core/writer/operation.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import type { Filter } from "../../operation-facts.ts";
import { looksAhead } from "../../operations.ts";
import { recorded } from "../../screen/decide.ts";
import { readingsOf } from "../../screen/fields.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import { nextTurn } from "../../timer.ts";
import { type FoundPage, readPage } from "./page.ts";

/** Runs on the workspace's thread. If it examines more entries than it shows, a reader thread reads the page before. */
export const listData: PreparedOperation<"data.list", Recorded<FoundPage>> = {
  prepare: (_agents, input, found) => (looksAhead(input) ? (found as Recorded<FoundPage> | undefined) : undefined),
  ahead: async (reader, input, now) =>
    readPage(reader, await readAgent(reader, input.agentId), input, { ...now, pause: nextTurn }),
  async run(reader, context, input, ahead) {
    const agent = await context.agents.find(input.agentId);
    const { items, next, more } = ahead ?? (await readPage(reader, agent, input, context));
    const prefix = recorded("prefix", input.prefix, context.agents.policiesOf(agent));
    const details = naming(agent, input.agentId, { ...prefix, count: itemCount(items) });
    return answered(agent, details, listBody("data.list", input, items, next, more));
  },
};

export const queryData = inquiry("data.query", {
  query: async (reader, { nowMs, versions }, input): Promise<FoundPage> =>
    readPage(reader, await readAgent(reader, input.agentId), input, { nowMs, versions, pause: nextTurn }),
  async record(_reader, context, input, { items, shown, next, more }) {
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
