/** Reads the history of an entry: its versions, present and past, as far as they are kept. */
import { itemCount, listBody, pageOf } from "../../core/lists.ts";
import { type AgentState, readAgent } from "../../core/rows/agents.ts";
import { findVersion } from "../../core/rows/entries.ts";
import { type EntryVersion, listVersions, readableHistory } from "../../core/rows/versions.ts";
import { answered, operation } from "../../core/writer/operation.ts";
import { showTime } from "../../ids.ts";
import type { OperationInputs } from "../../operations.ts";
import { recorded } from "../../screen/decide.ts";
import type { Reader } from "../../store/transaction.ts";
import { noEntry } from "./missing.ts";
import { MAX_PAGE_CHARACTERS } from "./page.ts";

type Input = OperationInputs["data.versions"];

// A type and not an interface, so that it is a JSON value, which can be passed between threads.
type Found = { items: string[]; next: number | null; keptSince: string };

/** Returns a page of versions; null when the agent has, and had, no such entry that is kept. */
async function look(
  reader: Reader,
  nowMs: number,
  { agentId, key, page, includeValues }: Input,
): Promise<Found | null> {
  const agent = await readAgent(reader, agentId);
  if (agent === null) return null;
  const readable = await readableHistory(reader, agent, nowMs);
  const before = page.after === undefined ? Number.MAX_SAFE_INTEGER : Number(page.after);
  const range = { before, limit: page.limit + 1 };
  const { items: versions, last } = pageOf(
    await listVersions(reader, agent, key, range, { readable, nowMs }),
    page.limit,
  );
  if (versions.length === 0 && page.after === undefined) return null;
  const keptSince = showTime(readable.sinceMs);
  if (!includeValues) {
    const items = versions.map((version) => showVersion(key, version));
    return { items, next: last?.writtenSeq ?? null, keptSince };
  }
  return { ...(await withContents(reader, key, versions, last)), keptSince };
}

/** Shows versions with their contents. The page ends early, with a cursor, when they are long. */
async function withContents(
  reader: Reader,
  key: string,
  versions: readonly EntryVersion[],
  last: EntryVersion | null,
): Promise<Pick<Found, "items" | "next">> {
  const items: string[] = [];
  let characters = 0;
  for (const [at, version] of versions.entries()) {
    if (characters >= MAX_PAGE_CHARACTERS) return { items, next: versions[at - 1]?.writtenSeq ?? null };
    const content = await findVersion(reader, version.id);
    if (content === undefined) throw new Error("a version vanished inside its own snapshot");
    const item = showVersion(key, version, { value: content.value, metadata: content.metadata });
    items.push(item);
    characters += item.length;
  }
  return { items, next: last?.writtenSeq ?? null };
}

function showVersion(key: string, version: EntryVersion, content: object = {}): string {
  const { ended, revertedFrom } = version;
  return JSON.stringify({
    version: version.version,
    key,
    written_at: showTime(version.writtenAt),
    written_by: version.writtenBy,
    ended_at: ended === null ? null : showTime(ended.at),
    ended_by: ended === null ? null : { audit_id: ended.auditId, operation: ended.operation },
    ...(revertedFrom !== null && { reverted_from: revertedFrom }),
    quarantined: false,
    ...content,
  });
}

export const versionsOfData = operation("data.versions", {
  look: (reader, { nowMs }, input) => look(reader, nowMs, input),
  async run(_reader, context, input, found) {
    const { agentId, key } = input;
    const agent: AgentState | null = await context.agents.find(agentId);
    if (agent === null || found === null) return noEntry(context, agent, agentId, key);
    const details = { ...recorded("key", key, agent.policies), count: itemCount(found.items) };
    const more = { kept_since: found.keptSince };
    return answered(agent, details, listBody("data.versions", input, found.items, found.next, more));
  },
});
