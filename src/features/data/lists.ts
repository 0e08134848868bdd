/** Listing an agent's data. */
import { encodeCursor, listFilters } from "../../lists.ts";
import type { OperationInputs } from "../../operations.ts";
import type { AgentState } from "../../state/agents.ts";
import { type EntryRow, listEntries } from "../../state/entries.ts";
import type { Reader } from "../../store/transaction.ts";
import { answered, knownAgent, type Operation } from "../../workspace/operation.ts";

/** A page ends early, with a cursor, once it holds this many UTF-16 units of text. */
const MAX_PAGE_CHARACTERS = 8 * 1024 * 1024;
/** Rows fetched at once: large values never pile up far beyond a page's bound. */
const ROWS_AT_ONCE = 64;

type ListInput = OperationInputs["data.list"];

export const listData: Operation<"data.list"> = async (reader, context, input) => {
  const agent = await knownAgent(reader, context, input.agentId);
  const page =
    agent === null ? { rows: [], hasMore: false } : await readPage(reader, agent, input, context.nowMs);
  const last = page.rows.at(-1);
  const cursor =
    page.hasMore && last !== undefined ? encodeCursor(listFilters("data.list", input), last.key) : null;
  const data = page.rows.map((row) => showRow(row, input.includeValues)).join(",");
  const details = { prefix: input.prefix, count: page.rows.length };
  return answered(
    agent,
    agent === null ? { agent_id: input.agentId, ...details } : details,
    `{"data":[${data}],"has_more":${page.hasMore},"next_cursor":${JSON.stringify(cursor)}}`,
  );
};

async function readPage(
  reader: Reader,
  agent: AgentState,
  input: ListInput,
  nowMs: number,
): Promise<{ rows: EntryRow[]; hasMore: boolean }> {
  const { limit, page } = { limit: input.page.limit, page: input.page };
  const rows: EntryRow[] = [];
  let after = page.after === undefined ? null : String(page.after);
  let offset = page.offset;
  let characters = 0;
  for (;;) {
    // One more than the page holds, to know whether there is more.
    const want = Math.min(ROWS_AT_ONCE, limit + 1 - rows.length);
    const range = { prefix: input.prefix, after, offset, limit: want };
    const found = await listEntries(reader, agent, range, nowMs);
    for (const row of found) {
      if (rows.length === limit || (rows.length > 0 && characters >= MAX_PAGE_CHARACTERS)) {
        return { rows, hasMore: true };
      }
      rows.push(row);
      characters += row.metadata.length + (input.includeValues ? row.value.length : 0);
    }
    if (found.length < want) return { rows, hasMore: false };
    after = (found.at(-1) as EntryRow).key;
    offset = 0;
  }
}

function showRow(row: EntryRow, includeValue: boolean): string {
  const size = Buffer.byteLength(JSON.parse(row.value) as string);
  return (
    `{"key":${JSON.stringify(row.key)},"size":${size},"metadata":${row.metadata},` +
    `"created_at":"${new Date(row.createdAt).toISOString()}",` +
    `"updated_at":"${new Date(row.updatedAt).toISOString()}"` +
    `${includeValue ? `,"value":${row.value}` : ""}}`
  );
}
