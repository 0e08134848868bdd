/** Compares a checkpoint with another one, or with the present, on a reader thread. */

import { type CursorPosition, itemCount, listBody } from "../../core/lists.ts";
import { readAgent } from "../../core/rows/agents.ts";
import { findCheckpoint } from "../../core/rows/checkpoints.ts";
import { showVersion } from "../../core/rows/configs.ts";
import { type Comparison, compareStates, readCompared, type StateChange } from "../../core/rows/listing/comparison.ts";
import { headOf } from "../../core/rows/log/events.ts";
import { answered, operation } from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
import { type Recall, readAt, recallOf } from "../../log/recall.ts";
import { invalid } from "../../problem.ts";
import { freshAt } from "../../screen/retention.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";
import { findAllowed, noCheckpoint, showCheckpoint, showEntry } from "./checkpoint.ts";

/** A page ends early, with a cursor, once it holds this many UTF-16 units of text. */
const MAX_PAGE_CHARACTERS = 8 * 1024 * 1024;

/** The result: the counts, a page of the changes as JSON texts, and where the next page begins. */
type ComparisonPage = Omit<Comparison, "changes"> & {
  items: string[];
  next: CursorPosition | null;
  recall: Recall;
  /** The position of the newest event of the present state. */
  readSeq: number;
};

const NONE = { items: [], next: null, recall: recallOf([]), readSeq: 0 };
const NOTHING: ComparisonPage = { added: 0, changed: 0, removed: 0, unchanged: 0, ...NONE };

export const compareCheckpoints = operation("checkpoint.compare", {
  look: (_reader, { apart, principal, ...viewer }, { checkpointId, to, page }): Promise<ComparisonPage> =>
    apart(async (reader) => {
      const from = await findCheckpoint(reader, checkpointId, principal.agents);
      const other = to === null ? null : await findCheckpoint(reader, to, principal.agents);
      if (from === undefined || other === undefined) return NOTHING; // said when it is recorded
      const agent = await readAgent(reader, from.agentId);
      if (agent === null) return NOTHING;
      const positions = [from.asOfSeq, other?.asOfSeq ?? null] as const;
      const found = await compareStates(reader, from.agent, positions, freshAt(agent.policies, viewer), nextTurn);
      const { changes, ...counts } = found;
      const after = page.after === undefined ? null : Buffer.from(String(page.after));
      const rest = after === null ? changes : changes.filter(({ key }) => Buffer.compare(Buffer.from(key), after) > 0);
      const shown = await readPage(reader, rest.slice(page.offset), page.limit);
      return { ...counts, ...shown, readSeq: await headOf(reader) };
    }),
  async run(reader, context, input, { items, next, recall, readSeq, ...counts }) {
    const found = await findAllowed(reader, context, input.checkpointId);
    if (found === null) return noCheckpoint(context, input.checkpointId);
    const { checkpoint, agent } = found;
    const to = input.to === null ? null : await findAllowed(reader, context, input.to);
    if (to === null && input.to !== null) return noCheckpoint(context, input.to);
    if (to !== null && to.agent.firstSeq !== agent.firstSeq) {
      throw invalid("Checkpoints of two agents cannot be compared. Send one of the same agent.", "to");
    }
    const details = {
      checkpoint_id: checkpoint.id,
      ...(to !== null && { to: to.checkpoint.id }),
      count: itemCount(items),
      ...recall,
      ...readAt(readSeq, context.seq, recall),
    };
    const about = {
      checkpoint: JSON.parse(showCheckpoint(checkpoint)) as JsonObject,
      from_config_version: showVersion(checkpoint.configVersion),
      to_config_version: showVersion(to === null ? agent.configVersion : to.checkpoint.configVersion),
    };
    return answered(agent, details, listBody("checkpoint.compare", input, items, next, { ...counts, ...about }));
  },
});

async function readPage(reader: Reader, changes: readonly StateChange[], limit: number) {
  const items: string[] = [];
  const written: number[] = [];
  let characters = 0;
  for (const [at, change] of changes.entries()) {
    if (at > 0 && (at === limit || characters >= MAX_PAGE_CHARACTERS))
      return { items, next: changes[at - 1]?.key ?? null, recall: recallOf(written) };
    const item = await showChange(reader, change, written);
    items.push(item);
    characters += item.length;
    await nextTurn();
  }
  return { items, next: null, recall: recallOf(written) };
}

/** Returns a change as JSON, and adds the positions of the writes of its versions. */
async function showChange(reader: Reader, { key, change, from, to }: StateChange, written: number[]): Promise<string> {
  const side = async (id: number | null) => {
    if (id === null) return "null";
    const version = await readCompared(reader, id);
    written.push(version.writtenSeq);
    return showEntry(version);
  };
  return `{"key":${JSON.stringify(key)},"change":"${change}","from":${await side(from)},"to":${await side(to)}}`;
}
