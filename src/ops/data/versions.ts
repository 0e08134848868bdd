/** Reads the history of an entry: its versions, present and past, as far as they are kept. */
import { itemCount, listBody, pageOf } from "../../core/lists.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import { ChangedMeanwhile, findVersion } from "../../core/rows/entries.ts";
import { atOneMoment } from "../../core/rows/listing/moment.ts";
import { type EntryVersion, listVersions, readableHistory } from "../../core/rows/versions.ts";
import { answered, type LookContext, operation } from "../../core/writer/operation.ts";
import { showTime } from "../../ids.ts";
import { type Recall, readAt, recallOf } from "../../log/recall.ts";
import type { OperationInputs } from "../../operations.ts";
import { recorded } from "../../screen/decide.ts";
import type { Viewer } from "../../screen/retention.ts";
import type { Reader } from "../../store/transaction.ts";
import { noEntry } from "./missing.ts";
import { MAX_PAGE_CHARACTERS } from "./page.ts";

type Input = OperationInputs["data.versions"];

// A type and not an interface, so that it is a JSON value, which can be passed between threads.
type Found = { items: string[]; next: number | null; keptSince: string | null; recall: Recall };

/** The page of an agent that never began, or of an entry without a version that is kept. */
const NOTHING: Found = { items: [], next: null, keptSince: null, recall: {} };

/** Reads a page of versions, as it was at one moment. */
const lookUp = (reader: Reader, context: LookContext, input: Input) =>
  atOneMoment(reader, input.agentId, context, (own, agent) => readPage(own, agent, input, context));

async function readPage(reader: Reader, agent: AgentState | null, input: Input, viewer: Viewer): Promise<Found> {
  if (agent === null) return NOTHING;
  const { nowMs } = viewer;
  const { key, page, includeValues } = input;
  const readable = await readableHistory(reader, agent, nowMs);
  const before = page.after === undefined ? Number.MAX_SAFE_INTEGER : Number(page.after);
  const range = { before, limit: page.limit + 1 };
  const { items: versions, last } = pageOf(
    await listVersions(reader, agent, key, range, { readable, nowMs }),
    page.limit,
  );
  if (versions.length === 0 && page.after === undefined) return NOTHING;
  const keptSince = showTime(readable.sinceMs);
  if (includeValues) return { ...(await withContents(reader, key, { versions, last, viewer })), keptSince };
  const items = versions.map((version) => showVersion(key, version));
  return { items, next: last?.writtenSeq ?? null, keptSince, recall: {} };
}

/**
 * Shows versions with their contents, without those that are set aside and that the viewer does not see. The page ends
 * early, with a cursor, when they are long.
 */
async function withContents(
  reader: Reader,
  key: string,
  { versions, last, viewer }: { versions: readonly EntryVersion[]; last: EntryVersion | null; viewer: Viewer },
): Promise<Omit<Found, "keptSince">> {
  const items: string[] = [];
  let characters = 0;
  const isShown = ({ isSetAside }: EntryVersion) => viewer.seesSetAside || !isSetAside;
  const upTo = (count: number) =>
    recallOf(
      versions
        .slice(0, count)
        .filter(isShown)
        .map(({ writtenSeq }) => writtenSeq),
    );
  for (const [at, version] of versions.entries()) {
    if (characters >= MAX_PAGE_CHARACTERS) {
      return { items, next: versions[at - 1]?.writtenSeq ?? null, recall: upTo(at) };
    }
    if (!isShown(version)) {
      items.push(showVersion(key, version));
      continue;
    }
    const content = await findVersion(reader, version.id);
    if (content === undefined) throw new ChangedMeanwhile("a version was removed while its history was read");
    const item = showVersion(key, version, { value: content.value, metadata: content.metadata });
    items.push(item);
    characters += item.length;
  }
  return { items, next: last?.writtenSeq ?? null, recall: upTo(versions.length) };
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
    quarantined: version.isSetAside,
    ...content,
  });
}

export const versionsOfData = operation("data.versions", {
  look: lookUp,
  async run(_reader, context, input, { items, next, keptSince, recall, readSeq }) {
    const { agentId, key } = input;
    const agent = await context.agents.find(agentId);
    if (agent === null || keptSince === null) return noEntry(context, agent, agentId, key);
    const details = {
      ...recorded("key", key, agent.policies),
      count: itemCount(items),
      ...recall,
      ...readAt(readSeq, context.seq, recall),
    };
    return answered(agent, details, listBody("data.versions", input, items, next, { kept_since: keptSince }));
  },
});
