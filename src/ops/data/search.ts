/** Searches an agent's data by words and meaning. */

import { itemCount, itemsIn } from "../../core/lists.ts";
import { type AgentState, readAgent } from "../../core/rows/agents.ts";
import { WITH_IDS_OF_AGENT } from "../../core/rows/entries.ts";
import { countExpired, FRESH, freshBounds } from "../../core/rows/expiry.ts";
import { type EntryFilter, entryFilter } from "../../core/rows/listing/filter.ts";
import { versionOf, WRITTEN_RANDOM } from "../../core/rows/log/events.ts";
import { searchAgent } from "../../core/rows/search.ts";
import { answered, type LookContext, naming, operation } from "../../core/writer/operation.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { OperationInputs } from "../../operations.ts";
import { recorded } from "../../screen/decide.ts";
import { endOf, type Freshness, freshAt } from "../../screen/retention.ts";
import type { SearchHit } from "../../search/index/ranking.ts";
import { BUILT_IN_MODEL } from "../../search/model.ts";
import type { Reader } from "../../store/transaction.ts";
import { recordedFilter } from "./list.ts";

type SearchInput = OperationInputs["data.search"];
const SHOWN = `SELECT id, key, value, metadata, created_at, updated_at, expires_at, written_seq, ${WRITTEN_RANDOM}
  FROM entries
  WHERE ${WITH_IDS_OF_AGENT} AND live_to IS NULL AND ${FRESH}`;
type HitRow = [
  id: number,
  key: string,
  value: string,
  metadata: string,
  createdAt: number,
  updatedAt: number,
  expiresAt: number | null,
  writtenSeq: number,
  random: Uint8Array | null,
];

/** Returns the results, each as JSON text, and the model whose vectors ranked them. */
async function look(reader: Reader, context: LookContext, input: SearchInput) {
  const queryVector = (await context.queryEmbedder?.embed(input.query)) ?? null;
  const agent = await readAgent(reader, input.agentId);
  if (agent === null) return { items: [], wantsFullText: false, model: BUILT_IN_MODEL };
  const freshness = freshAt(agent.policies, context.nowMs);
  // The index may have expired entries that were not swept yet, and that are not in the result.
  const limit = input.limit + (await countExpired(reader, agent, freshness));
  const { prefix, minSimilarity, filter } = input;
  const { hits, wantsFullText } = await searchAgent(reader, context.indexes, {
    workspaceId: context.workspaceId,
    agent,
    query: input.query,
    options: { limit, prefix, minSimilarity, ...(filter && { filter: { conditions: filter, nowMs: context.nowMs } }) },
    queryVector,
  });
  return {
    items: await showHits(reader, agent, hits, { freshness, limit: input.limit, filter: entryFilter(filter ?? []) }),
    wantsFullText,
    model: queryVector?.model ?? BUILT_IN_MODEL,
  };
}

async function showHits(
  reader: Reader,
  agent: AgentState,
  hits: readonly SearchHit[],
  bounds: { freshness: Freshness; limit: number; filter: EntryFilter },
): Promise<string[]> {
  const named = [JSON.stringify(hits.map(({ id }) => id)), agent.firstSeq, ...freshBounds(bounds.freshness)];
  const rows = await reader.all<HitRow>(SHOWN, named);
  const byId = new Map(rows.map((row) => [row[0], row]));
  const shown: string[] = [];
  for (const { id, similarity } of hits) {
    const row = byId.get(id);
    if (row === undefined || shown.length === bounds.limit) continue;
    // The entry may have changed since it was indexed.
    if (bounds.filter.matches(JSON.parse(row[3]) as JsonObject)) shown.push(showHit(agent, row, similarity));
  }
  return shown;
}

function showHit({ policies }: AgentState, row: HitRow, similarity: number): string {
  const [, key, value, metadata, createdAt, updatedAt, expiresAt, writtenSeq, random] = row;
  return (
    `{"key":${JSON.stringify(key)},"value":${value},"metadata":${metadata},` +
    `"similarity":${Number(similarity.toFixed(6))},"created_at":"${showTime(createdAt)}",` +
    `"updated_at":"${showTime(updatedAt)}","audit_id":"${versionOf(writtenSeq, random)}",` +
    `"expires_at":${JSON.stringify(showTimeOrNull(endOf(policies, { updatedAt, expiresAt })))}}`
  );
}

export const searchData = operation("data.search", {
  look,
  async run(_reader, context, input, found) {
    const agent = await context.agents.find(input.agentId);
    const { prefix, limit, filter } = input;
    const policies = context.agents.policiesOf(agent);
    const details = {
      ...recorded("prefix", prefix, policies),
      ...recordedFilter(filter ?? [], policies),
      limit,
      count: itemCount(found.items),
    };
    return answered(
      agent,
      naming(agent, input.agentId, details),
      itemsIn('{"data":[', found.items, `],"model":${JSON.stringify(found.model)}}`),
    );
  },
});
