/** Reads one entry: as it is, on the workspace's thread, or as it was at an earlier moment. */

import { noMoment, type OfMoment, readAsOf, showMoment } from "../../core/past.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import { findEntryAt } from "../../core/rows/as-of.ts";
import { findEntry, findEntryOrigin, findValue, markOf, type VersionedRow } from "../../core/rows/entries.ts";
import {
  answered,
  type Context,
  type LookContext,
  type Operation,
  type Outcome,
  type Run,
} from "../../core/writer/operation.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { readAt, recallOf } from "../../log/recall.ts";
import type { OperationInputs } from "../../operations.ts";
import { recorded } from "../../screen/decide.ts";
import { endOf, type Viewer } from "../../screen/retention.ts";
import { after, type MaybePromise, type Reader } from "../../store/transaction.ts";
import { becauseSetAside, isSetAside, noEntry, noPresent } from "./missing.ts";

type Input = OperationInputs["data.read" | "data.read_full"];

type Origin = Awaited<ReturnType<typeof findEntryOrigin>>;

// A type and not an interface, so that it is a JSON value, which can be passed between threads.
type Found = {
  entry: (Pick<VersionedRow, keyof VersionedRow> & { origin: Origin }) | null;
  /** Whether there was one, and it is set aside. */
  isHidden?: boolean;
};

/** Reads the state that a request names, on another thread. */
const lookUp = (reader: Reader, context: LookContext, input: Input) =>
  readAsOf<Found>(reader, context, input, { entry: null }, async (own, agent, at) => {
    if (agent === null) return { entry: null };
    const { key } = input;
    const find = (viewer: Viewer) =>
      at === undefined ? findEntry(own, viewer, agent, key) : findEntryAt(own, viewer, agent, key, at.seq);
    const entry = await find(context);
    if (entry !== undefined) return { entry: { ...entry, origin: await findEntryOrigin(own, entry.id) } };
    const all = { nowMs: context.nowMs, seesSetAside: true };
    return { entry: null, isHidden: !context.seesSetAside && (await find(all)) !== undefined };
  });

const readNow: Run<"data.read"> = (reader, context, input) =>
  after(context.agents.find(input.agentId), (agent) => {
    const { agentId, key } = input;
    if (agent === null) return noEntry(context, agent, agentId, key);
    return after(
      findValue(reader, context, agent, key),
      (entry): MaybePromise<Outcome> =>
        entry === undefined ? noPresent(reader, context, agent, input) : showValue(agent, key, entry),
    );
  });

function showValue(
  agent: AgentState,
  key: string,
  entry: Pick<VersionedRow, "value" | "writtenSeq" | "version" | "isSetAside">,
  { moment, read }: Read = PRESENT,
) {
  const rest = JSON.stringify(moment).slice(1, -1);
  const body =
    `{"agent_id":${JSON.stringify(agent.agentId)},"key":${JSON.stringify(key)},"value":${entry.value}` +
    `${rest === "" ? "" : `,${rest}`}${markOf(entry)}}`;
  return answered(agent, returning(agent, key, entry, read), body, { etag: entry.version });
}

/** Which state was read: the member of the answer that names an earlier moment, and those of the details. */
interface Read {
  moment: JsonObject;
  read: JsonObject;
}

const PRESENT: Read = { moment: {}, read: {} };

/** Returns the details of a read of one entry. @param read the members for another state than the one before the event */
export const returning = (
  agent: AgentState,
  key: string,
  { writtenSeq }: { writtenSeq: number },
  read: JsonObject = {},
): JsonObject => ({ ...recorded("key", key, agent.policies), ...recallOf([writtenSeq]), ...read });

function showFull(agent: AgentState, key: string, entry: NonNullable<Found["entry"]>, { moment, read }: Read) {
  const rest = JSON.stringify({
    created_at: showTime(entry.createdAt),
    updated_at: showTime(entry.updatedAt),
    audit_id: entry.version,
    config_version: entry.origin.configVersion,
    written_by: entry.origin.writtenBy,
    expires_at: showTimeOrNull(endOf(agent.policies, entry)),
    ...moment,
    ...(entry.isSetAside && { quarantined: true }),
  });
  const body =
    `{"agent_id":${JSON.stringify(agent.agentId)},"key":${JSON.stringify(key)},"value":${entry.value},` +
    `"metadata":${entry.metadata},${rest.slice(1)}`;
  return answered(agent, returning(agent, key, entry, read), body, { etag: entry.version });
}

/** Returns what a look has found, or the outcome when it has found nothing. */
async function foundEntry(context: Context, { agentId, key }: Input, found: OfMoment<Found> & { readSeq?: number }) {
  const { entry, isHidden, no, at, readSeq } = found;
  const agent = await context.agents.find(agentId);
  const moment = showMoment(at === undefined ? {} : { at });
  if (no !== undefined) return noMoment(agent, agentId, no, recorded("key", key, context.agents.policiesOf(agent)));
  if (agent === null || entry === null) {
    const missing = noEntry(context, agent, agentId, key, moment);
    return isHidden ? becauseSetAside(missing) : missing;
  }
  const read = { ...moment, ...(readSeq !== undefined && readAt(readSeq, context.seq, recallOf([entry.writtenSeq]))) };
  return { found: entry, of: agent, state: { moment, read } };
}

export const readData: Required<Operation<"data.read", OfMoment<Found>>> = {
  look: lookUp,
  run: (reader, context, input, found) =>
    found === undefined
      ? readNow(reader, context, input)
      : after(foundEntry(context, input, found), (one) =>
          "found" in one ? showValue(one.of, input.key, one.found, one.state) : one,
        ),
};

export const readFullData: Required<Operation<"data.read_full", OfMoment<Found>>> = {
  look: lookUp,
  async run(reader, context, input, looked) {
    const found = looked ?? (await readFullNow(reader, context, input));
    const one = await foundEntry(context, input, found);
    return "found" in one ? showFull(one.of, input.key, one.found, one.state) : one;
  },
};

async function readFullNow(reader: Reader, context: Context, { agentId, key }: Input): Promise<Found> {
  const agent = await context.agents.find(agentId);
  const entry = agent === null ? undefined : await findEntry(reader, context, agent, key);
  if (entry !== undefined) return { entry: { ...entry, origin: await findEntryOrigin(reader, entry.id) } };
  return { entry: null, isHidden: agent !== null && (await isSetAside(reader, context, agent, key)) };
}
