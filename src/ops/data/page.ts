/** Reads one page of a list of entries as text, for `data.list` and `data.query`. */

import type { CursorPosition } from "../../core/lists.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import { markOf } from "../../core/rows/entries.ts";
import type { ListedEntry } from "../../core/rows/listing/entry-rows.ts";
import { countGroups, countListed } from "../../core/rows/listing/groups.ts";
import type { Position } from "../../core/rows/listing/order.ts";
import type { ListMoment } from "../../core/rows/listing/parts.ts";
import type { Wanted } from "../../core/rows/listing/positions.ts";
import { listed } from "../../core/rows/listing/rows.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { type Recall, recallOf } from "../../log/recall.ts";
import type { Page } from "../../operation-facts.ts";
import { invalid } from "../../problem.ts";
import { endOf } from "../../screen/retention.ts";
import type { Reader } from "../../store/transaction.ts";

/** A page ends early, with a cursor, once it holds this many UTF-16 units of text. */
export const MAX_PAGE_CHARACTERS = 8 * 1024 * 1024;

/** The most entries below one row, and the most text of them, UTF-16 units. */
const MAX_BELOW = 10_000;
const MAX_BELOW_CHARACTERS = 16 * 1024 * 1024;

/** A request for one page of a list. */
export interface ListInput extends Wanted {
  page: Page;
  includeValues: boolean;
  count?: true | undefined;
  /** The delimiter, if each row should include the entries whose keys begin with its key and this character. */
  below?: string | undefined;
}

// A type and not an interface, so that it is a JSON value, which can be passed between threads.
/** A page: its entries as JSON texts, and the other members. */
export type FoundPage = {
  items: string[];
  /** The number of shown entries, including those below rows. */
  shown: number;
  /** What the event states of the versions whose values are shown; empty without values. */
  recall: Recall;
  /** Where the next page begins; null on the last page. */
  next: CursorPosition | null;
  more: JsonObject;
};

const NO_ENTRIES = { items: [], written: [], next: null };

/** Reads one page. `agent` is null when it does not exist. */
export async function readPage(
  reader: Reader,
  agent: AgentState | null,
  input: ListInput,
  moment: ListMoment,
): Promise<FoundPage> {
  const { count, delimiter, prefix } = input;
  const more: JsonObject = {};
  if (delimiter !== undefined) {
    const groups = agent === null ? [] : await countGroups(reader, agent, { prefix, delimiter }, moment);
    more.prefixes = groups.map((group) => ({ ...group }));
  }
  if (count) more.total = agent === null ? 0 : await countListed(reader, agent, { prefix, delimiter }, moment);
  const { written, ...page } = agent === null ? NO_ENTRIES : await readItems(reader, agent, input, moment);
  return { ...page, shown: written.length, recall: input.includeValues ? recallOf(written) : {}, more };
}

async function readItems(reader: Reader, agent: AgentState, input: ListInput, moment: ListMoment) {
  const { below } = input;
  const { limit, after } = input.page;
  const wanted = { ...input, ...input.page, after: positionOf(after, input.sort) };
  const items: string[] = [];
  /** The positions of the writes of all entries that are shown, also of those below rows. */
  const written: number[] = [];
  let last: Position | null = null;
  let seen = 0;
  let characters = 0;
  for await (const some of listed(reader, agent, wanted, moment)) {
    for (const { entry, position } of some) {
      if (last !== null && (seen === limit || characters >= MAX_PAGE_CHARACTERS))
        return { items, written, next: cursorOf(last) };
      last = position;
      seen++;
      if (entry === null) continue;
      written.push(entry.writtenSeq);
      const range = below === undefined ? null : { ...input, prefix: entry.key + below };
      const under = range && (await readBelow(reader, agent, range, moment, written));
      const item = showEntry(entry, agent, under);
      items.push(item);
      characters += item.length;
    }
  }
  return { items, written, next: null };
}

/**
 * Returns the entries below a row as JSON texts, by key, and adds the positions of their writes.
 * @throws {Problem} `invalid_request` when they are too many for one answer
 */
async function readBelow(
  reader: Reader,
  agent: AgentState,
  { prefix, includeValues }: ListInput,
  moment: ListMoment,
  written: number[],
): Promise<string[]> {
  const items: string[] = [];
  let characters = 0;
  const wanted = { prefix, includeValues, after: null, offset: 0, limit: MAX_BELOW };
  for await (const some of listed(reader, agent, wanted, moment)) {
    for (const { entry } of some) {
      if (items.length === MAX_BELOW || characters >= MAX_BELOW_CHARACTERS) throw tooMuchBelow();
      if (entry === null) continue;
      const item = showEntry(entry, agent);
      items.push(item);
      written.push(entry.writtenSeq);
      characters += item.length;
    }
  }
  return items;
}

const tooMuchBelow = () =>
  invalid(
    `More is below an entry than an answer holds: ${MAX_BELOW} entries, or 16 Mi characters. Leave "below" out, and list those with its key as the prefix.`,
    "below",
  );

/** The position in a cursor: a key, or a time and a number. */
const cursorOf = (position: Position): CursorPosition =>
  position.length === 1 ? position[0] : `${position[0]} ${position[1]}`;

function positionOf(cursor: CursorPosition | undefined, sort: ListInput["sort"]): Position | null {
  if (cursor === undefined) return null;
  if (sort === undefined) return [String(cursor)];
  const [updatedAt, writtenSeq] = String(cursor).split(" ").map(Number);
  return [updatedAt as number, writtenSeq as number];
}

function showEntry(entry: ListedEntry, agent: AgentState, below: readonly string[] | null = null): string {
  const { key, size, metadata, createdAt, updatedAt, version, value } = entry;
  return (
    `{"key":${JSON.stringify(key)},"size":${size},"metadata":${metadata},` +
    `"created_at":"${showTime(createdAt)}","updated_at":"${showTime(updatedAt)}","audit_id":"${version}",` +
    `"expires_at":${JSON.stringify(showTimeOrNull(endOf(agent.policies, entry)))}` +
    `${markOf(entry)}${value === null ? "" : `,"value":${value}`}${below === null ? "" : `,"below":[${below.join(",")}]`}}`
  );
}
