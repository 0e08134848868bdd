/** The operation that lists an agent's entries, page by page. It runs on the workspace's thread. */
import { showTime } from "../../ids.ts";
import { listBody } from "../../lists.ts";
import type { OperationInputs } from "../../operations.ts";
import { recorded } from "../../policy/decide.ts";
import type { AgentState } from "../../state/agents.ts";
import { type EntryRow, listEntries } from "../../state/entries.ts";
import type { Reader } from "../../store/transaction.ts";
import { answered, type Context, naming, type Operation } from "../../workspace/operation.ts";

/** A page ends early, with a cursor, once it holds this many UTF-16 units of text. */
const MAX_PAGE_CHARACTERS = 8 * 1024 * 1024;
/** Rows fetched at once, so that large values do not exceed the bound of a page by much. */
const ROWS_AT_ONCE = 16;

type ListInput = OperationInputs["data.list"];

export const listData: Operation<"data.list"> = async (reader, context, input) => {
  const agent = await context.agents.find(input.agentId);
  const { items, next } = agent === null ? NO_PAGE : await readPage(reader, context, agent, input);
  const prefix = recorded("prefix", input.prefix, agent?.policies ?? null);
  const details = naming(agent, input.agentId, { ...prefix, count: items.length });
  return answered(agent, details, listBody("data.list", input, items, next));
};

interface ListPage {
  items: string[];
  /** The key after which the next page begins; null on the last page. */
  next: string | null;
}

const NO_PAGE: ListPage = { items: [], next: null };

async function readPage(reader: Reader, context: Context, agent: AgentState, input: ListInput): Promise<ListPage> {
  const { page, prefix, includeValues } = input;
  const { limit } = page;
  const items: string[] = [];
  let after = page.after === undefined ? null : String(page.after);
  let offset = page.offset;
  let characters = 0;
  for (;;) {
    await context.pause();
    // One more than the page holds, to know whether more rows follow.
    const want = Math.min(ROWS_AT_ONCE, limit + 1 - items.length);
    const range = { prefix, after, offset, limit: want };
    const found = await listEntries(reader, agent, range, context.nowMs);
    for (const row of found) {
      if (items.length === limit || (items.length > 0 && characters >= MAX_PAGE_CHARACTERS)) {
        return { items, next: after };
      }
      items.push(showRow(row, includeValues));
      after = row.key;
      characters += row.metadata.length + (includeValues ? row.value.length : 0);
    }
    if (found.length < want) return { items, next: null };
    offset = 0;
  }
}

function showRow(row: EntryRow, includeValue: boolean): string {
  const size = Buffer.byteLength(JSON.parse(row.value) as string);
  return (
    `{"key":${JSON.stringify(row.key)},"size":${size},"metadata":${row.metadata},` +
    `"created_at":"${showTime(row.createdAt)}",` +
    `"updated_at":"${showTime(row.updatedAt)}"` +
    `${includeValue ? `,"value":${row.value}` : ""}}`
  );
}
