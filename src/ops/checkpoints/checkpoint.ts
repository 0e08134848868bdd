/** Finds and shows a checkpoint, and streams its state. */

import { encodeCursor, filtersOfEntries } from "../../core/lists.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import { type Checkpoint, CheckpointState, findCheckpoint } from "../../core/rows/checkpoints.ts";
import { readConfigVersion, showVersion } from "../../core/rows/configs.ts";
import { type EntryRow, markOf } from "../../core/rows/entries.ts";
import { countHidden } from "../../core/rows/expiry.ts";
import type { StreamPlan } from "../../core/writer/contract.ts";
import { type Context, notFound, type Outcome, type ProblemAnswer } from "../../core/writer/operation.ts";
import { showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { Page } from "../../operation-facts.ts";
import { recordedOfNobody } from "../../screen/decide.ts";
import { type Freshness, freshAt, type Viewer } from "../../screen/retention.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";

const NO_CHECKPOINT = "There is no checkpoint with this id. GET /v1/checkpoints lists an agent's checkpoints.";

/** Returns a checkpoint as the API shows it, without its state. */
export function showCheckpoint(checkpoint: Checkpoint, more: object = {}): string {
  const { id, agentId, label, createdAt, createdBy, configVersion, entryCount, asOfSeq, eventSeq } = checkpoint;
  const rest = JSON.stringify({
    created_at: createdAt,
    created_by: createdBy,
    config_version: showVersion(configVersion),
    entry_count: entryCount,
    audit_seq: asOfSeq,
    // A restore keeps the state before its own event; every other checkpoint is made by the event of its position.
    before_restore: eventSeq !== asOfSeq,
    ...more,
  });
  return (
    `{"id":"${id}","agent_id":${JSON.stringify(agentId)},"label":${JSON.stringify(label)},` +
    `"metadata":${checkpoint.metadata},${rest.slice(1)}`
  );
}

export interface AllowedCheckpoint {
  checkpoint: Checkpoint;
  agent: AgentState;
}

/** Returns the checkpoint and its agent; null when there is none that the request may find. */
export async function findAllowed(reader: Reader, context: Context, id: string): Promise<AllowedCheckpoint | null> {
  const checkpoint = await findCheckpoint(reader, id, context.principal.agents);
  return checkpoint === undefined ? null : { checkpoint, agent: await context.agents.findByFirstSeq(checkpoint.agent) };
}

/**
 * Returns the outcome for an id that does not exist. It concerns no agent, so its event is in the workspace's own
 * chain.
 */
export async function noCheckpoint({ agents }: Context, id: string): Promise<Outcome<ProblemAnswer>> {
  const details = recordedOfNobody("checkpoint_id", id, await agents.policiesOfWorkspace());
  return notFound(null, null, "checkpoint_not_found", NO_CHECKPOINT, details);
}

/** Returns the number of present entries that exist for a viewer. */
export async function countPresent(reader: Reader, agent: AgentState, viewer: Viewer): Promise<number> {
  return agent.liveEntries - (await countHidden(reader, agent, freshAt(agent.policies, viewer)));
}

/** Returns the number of entries that a checkpoint made now would have: those that have not expired. */
export const countHeld = (reader: Reader, agent: AgentState, { nowMs }: Pick<Viewer, "nowMs">): Promise<number> =>
  countPresent(reader, agent, { nowMs, seesSetAside: true });

type CheckpointPlan = Extract<StreamPlan, { kind: "checkpoint" }>;

/** The entries that are read at once: few, since they may be large. */
const ENTRIES_AT_ONCE = 16;
/** The size of a piece, UTF-16 units, unless one entry is larger. It bounds the memory when a client does not read. */
const PIECE_CHARACTERS = 64 * 1024;

/** The checkpoint was deleted while its state was being read. The response is aborted. */
class CheckpointVanished extends Error {
  override readonly name = "CheckpointVanished";
}

/** Yields the response as pieces of JSON text. Checks for each page that the checkpoint still exists. */
export async function* streamCheckpoint(reader: Reader, plan: CheckpointPlan): AsyncGenerator<string> {
  const checkpoint = await stillThere(reader, plan.checkpointId);
  yield `${plan.head},"state":{"config":${await showConfig(reader, checkpoint)},"entries":[`;
  const { page } = plan;
  let left = page?.limit ?? Number.POSITIVE_INFINITY;
  let after = startOf(page);
  const state = new CheckpointState(reader, checkpoint, plan.fresh, after);
  let next: string | null = null;
  for (let separator = ""; ; separator = ",") {
    const rows: EntryRow[] = await state.entries(ENTRIES_AT_ONCE);
    await stillThere(reader, plan.checkpointId);
    const shown = rows.slice(0, left);
    yield* inPieces(shown, separator);
    left -= shown.length;
    after = shown.at(-1)?.key ?? after;
    if (rows.length > shown.length) next = after;
    if (next !== null || rows.length < ENTRIES_AT_ONCE) break;
  }
  if (page === undefined) yield "]}}";
  else yield `],"next_cursor":${next === null ? null : `"${encodeCursor(filtersOfEntries(checkpoint.id), next)}"`}}}`;
}

/** The positions of writes that are read at once. */
const WRITES_AT_ONCE = 2_000;

/** Returns the positions of the writes of all entries that {@link streamCheckpoint} yields. */
export async function writesOfState(reader: Reader, checkpoint: Checkpoint, fresh: Freshness, page: Page | undefined) {
  const written: number[] = [];
  const state = new CheckpointState(reader, checkpoint, fresh, startOf(page));
  for (let left = page?.limit ?? Number.POSITIVE_INFINITY; left > 0; ) {
    const limit = Math.min(left, WRITES_AT_ONCE);
    const some = await state.writes(limit);
    for (const writtenSeq of some) written.push(writtenSeq);
    if (some.length < limit) break;
    left -= limit;
    await nextTurn();
  }
  return written;
}

/** Returns the key behind which a page of entries begins; null for the first page. */
const startOf = (page: Page | undefined): string | null => (page?.after === undefined ? null : String(page.after));

/** Yields entries as JSON, separated by commas, with `before` before the first. */
function* inPieces(rows: readonly EntryRow[], before: string): Generator<string> {
  let piece = "";
  let separator = before;
  for (const row of rows) {
    piece += separator + showEntry(row);
    separator = ",";
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}

async function stillThere(reader: Reader, id: string): Promise<Checkpoint> {
  const checkpoint = await findCheckpoint(reader, id, null);
  if (checkpoint === undefined) throw new CheckpointVanished("the checkpoint was deleted");
  return checkpoint;
}

async function showConfig(reader: Reader, checkpoint: Checkpoint): Promise<string> {
  if (checkpoint.configVersion === null) return "null";
  const config = await readConfigVersion(reader, checkpoint.agent, checkpoint.configVersion);
  const about: JsonObject = { created_at: config.createdAt, created_by: config.createdBy };
  return `{"version":"${showVersion(config.version)}","config":${config.config},${JSON.stringify(about).slice(1)}`;
}

export function showEntry(row: EntryRow): string {
  return (
    `{"key":${JSON.stringify(row.key)},"value":${row.value},"metadata":${row.metadata},` +
    `"created_at":"${showTime(row.createdAt)}","updated_at":"${showTime(row.updatedAt)}"${markOf(row)}}`
  );
}
