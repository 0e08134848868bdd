/**
 * Searching an agent's data: full text over its live entries, best first. The words of the query are
 * alternatives; the more of them an entry has, and the rarer they are, the nearer it is.
 */
import type { JsonObject, JsonValue } from "../../json.ts";
import { sha256Hex } from "../../log/hash.ts";
import { readAgent } from "../../state/agents.ts";
import { retentionCutoff } from "../../state/configs.ts";
import { endOfPrefix } from "../../state/entries.ts";
import type { Reader } from "../../store/transaction.ts";
import type { OperationInputs } from "../../workspace/contract.ts";
import { answered, type Inquiry, knownAgent, type QueryContext } from "../../workspace/operation.ts";

/** Names how `similarity` was made; a client can tell when it changes. */
const MODEL = "governd-fulltext/1";
/** Words of a query that are looked for; what follows adds nothing to so many alternatives. */
const MAX_QUERY_WORDS = 64;
/** Weight of a word in key, value and metadata. */
const WEIGHTS = "2.0, 4.0, 1.0";
const WORD = /[\p{L}\p{N}\p{M}]+/gu;

type SearchInput = OperationInputs["data.search"];
type Hit = [key: string, value: string, metadata: string, updatedAt: number, rank: number];

/** The rows found, each as JSON text. */
interface Found extends JsonObject {
  rows: string[];
}

/** BM25 is without bound: x / (1 + x) brings it into 0..1 and keeps its order. */
export const similarityOf = (bm25: number): number => Math.max(0, bm25) / (1 + Math.max(0, bm25));

/** The query as FTS5 wants it: quoted words, any of them. Null when it has no word. */
function matchExpression(query: string): string | null {
  const words = new Set(query.normalize("NFC").toLowerCase().match(WORD)?.slice(0, MAX_QUERY_WORDS));
  return words.size === 0 ? null : Array.from(words, (word) => `"${word}"`).join(" OR ");
}

async function query(reader: Reader, context: QueryContext, input: SearchInput): Promise<Found> {
  const agent = await readAgent(reader, input.agentId);
  const match = matchExpression(input.query);
  if (agent === null || match === null) return { rows: [] };
  const hits = await reader.all<Hit>(
    `SELECT e.key, e.value, e.metadata, e.updated_at, -bm25(entry_words, ${WEIGHTS}) AS closeness
     FROM entry_words JOIN entries e ON e.id = entry_words.rowid
     WHERE entry_words MATCH ? AND e.agent = ? AND e.live_to IS NULL AND e.updated_at >= ?
       AND e.key >= ? AND e.key < ?
     ORDER BY closeness DESC, e.updated_at DESC, e.key LIMIT ?`,
    [
      match,
      agent.firstSeq,
      retentionCutoff(agent.policies, context.nowMs),
      input.prefix,
      endOfPrefix(input.prefix),
      input.limit,
    ],
  );
  return { rows: hits.filter((hit) => similarityOf(hit[4]) >= input.minSimilarity).map(showHit) };
}

function showHit([key, value, metadata, updatedAt, closeness]: Hit): string {
  return (
    `{"key":${JSON.stringify(key)},"value":${value},"metadata":${metadata},` +
    `"similarity":${similarityOf(closeness).toFixed(6)},"updated_at":"${new Date(updatedAt).toISOString()}"}`
  );
}

export const searchData: Inquiry<"data.search", Found & JsonValue> = {
  query,
  async record(tx, context, input, found) {
    const agent = await knownAgent(tx, context, input.agentId);
    const details = {
      query_digest: sha256Hex(input.query),
      prefix: input.prefix,
      limit: input.limit,
      count: found.rows.length,
    };
    return answered(
      agent,
      agent === null ? { agent_id: input.agentId, ...details } : details,
      `{"data":[${found.rows.join(",")}],"model":"${MODEL}"}`,
    );
  },
};
