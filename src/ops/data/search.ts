/** Searches an agent's data by words and meaning. */

import { itemCount, itemsIn } from "../../core/lists.ts";
import { type AgentState, readAgent } from "../../core/rows/agents.ts";
import { markOf, WITH_IDS_OF_AGENT } from "../../core/rows/entries.ts";
import { countHidden, FRESH, freshBounds } from "../../core/rows/expiry.ts";
import { entryFilter } from "../../core/rows/listing/filter.ts";
import { versionOf, WRITTEN_RANDOM } from "../../core/rows/log/events.ts";
import { searchAgent } from "../../core/rows/search.ts";
import { answered, type LookContext, naming, operation } from "../../core/writer/operation.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { readAt, recallOf } from "../../log/recall.ts";
import type { OperationInputs } from "../../operations.ts";
import { recorded } from "../../screen/decide.ts";
import { endOf, type Freshness, freshAt } from "../../screen/retention.ts";
import type { SearchHit } from "../../search/index/ranking.ts";
import { BUILT_IN_MODEL } from "../../search/model.ts";
import type { Reader } from "../../store/transaction.ts";
import { collapse } from "./collapse.ts";
import { recordedFilter } from "./list.ts";

type SearchInput = OperationInputs["data.search"];
/** With the position of the newest event, so that the event of the search can say which state it showed. */
const SHOWN = `SELECT id, key, value, metadata, created_at, updated_at, expires_at, quarantined, written_seq, ${WRITTEN_RANDOM},
    (SELECT seq FROM head)
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
  aside: number | null,
  writtenSeq: number,
  random: Uint8Array | null,
  readSeq: number,
];

/** How many more results are looked for when those with nearly the same text become one, and how many at most. */
const MORE_TO_COLLAPSE = 10;
const MOST_TO_COLLAPSE = 300;

/** Returns the results, each as JSON text, and the model whose vectors ranked them. */
async function look(reader: Reader, context: LookContext, input: SearchInput) {
  const queryVector = (await context.queryEmbedder?.embed(input.query)) ?? null;
  const agent = await readAgent(reader, input.agentId);
  if (agent === null) return { ...NOTHING, wantsFullText: false, model: BUILT_IN_MODEL };
  const freshness = freshAt(agent.policies, context);
  // The index may have entries that do not exist for who searches, and that are not in the result.
  const wanted = input.collapse
    ? Math.max(input.limit, Math.min(input.limit * MORE_TO_COLLAPSE, MOST_TO_COLLAPSE))
    : input.limit;
  const limit = wanted + (await countHidden(reader, agent, freshness));
  const { prefix, minSimilarity, filter } = input;
  const { hits, wantsFullText } = await searchAgent(reader, context.indexes, {
    workspaceId: context.workspaceId,
    agent,
    query: input.query,
    options: { limit, prefix, minSimilarity, ...(filter && { filter: { conditions: filter, ...freshness } }) },
    queryVector,
  });
  return {
    ...(await showHits(reader, agent, hits, input, { freshness, wanted })),
    wantsFullText,
    model: queryVector?.model ?? BUILT_IN_MODEL,
  };
}

async function showHits(
  reader: Reader,
  agent: AgentState,
  hits: readonly SearchHit[],
  { filter = [], limit, collapse: collapses }: SearchInput,
  { freshness, wanted }: { freshness: Freshness; wanted: number },
) {
  const named = [JSON.stringify(hits.map(({ id }) => id)), agent.firstSeq, ...freshBounds(freshness)];
  const rows = await reader.all<HitRow>(SHOWN, named);
  const byId = new Map(rows.map((row) => [row[0], row]));
  const { matches } = entryFilter(filter);
  const found: Found[] = [];
  for (const { id, similarity } of hits) {
    const row = byId.get(id);
    if (row === undefined || found.length === wanted) continue;
    // The entry may have changed since it was indexed.
    if (matches(JSON.parse(row[3]) as JsonObject)) found.push({ row, similarity });
  }
  const alone = () => found.map((best) => ({ best, others: undefined }));
  const shown = collapses ? await collapse(found, ({ row }) => JSON.parse(row[2]) as string, limit) : alone();
  return {
    items: shown.map(({ best, others }) =>
      showHit(
        agent,
        best,
        others?.map(({ row }) => row[1]),
      ),
    ),
    recall: recallOf(shown.map(({ best: { row } }) => row[8])),
    readSeq: rows[0]?.[10] ?? 0,
  };
}

/** A result: its row, and how similar it is to the query. */
interface Found {
  row: HitRow;
  similarity: number;
}

const NOTHING = { items: [], recall: recallOf([]), readSeq: 0 };

/** @param similar the keys of what was collapsed into it; absent when nothing is collapsed */
function showHit({ policies }: AgentState, { row, similarity }: Found, similar: readonly string[] | undefined): string {
  const [, key, value, metadata, createdAt, updatedAt, expiresAt, aside, writtenSeq, random] = row;
  return (
    `{"key":${JSON.stringify(key)},"value":${value},"metadata":${metadata},` +
    `"similarity":${Number(similarity.toFixed(6))},"created_at":"${showTime(createdAt)}",` +
    `"updated_at":"${showTime(updatedAt)}","audit_id":"${versionOf(writtenSeq, random)}",` +
    `"expires_at":${JSON.stringify(showTimeOrNull(endOf(policies, { updatedAt, expiresAt })))}` +
    `${markOf({ isSetAside: aside !== null })}${similar === undefined ? "" : `,"similar":${JSON.stringify(similar)}`}}`
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
      ...(input.collapse && { collapse: true }),
      count: itemCount(found.items),
      ...found.recall,
      ...readAt(found.readSeq, context.seq, found.recall),
    };
    return answered(
      agent,
      naming(agent, input.agentId, details),
      itemsIn('{"data":[', found.items, `],"model":${JSON.stringify(found.model)}}`),
    );
  },
});
