/** Reads one entry: as it is, on the workspace's thread, or as it was at an earlier moment. */

import { noMoment, type OfMoment, readAsOf, showMoment } from "../../core/past.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import { findEntryAt } from "../../core/rows/as-of.ts";
import { findEntry, findEntryOrigin, findValue, type VersionedRow } from "../../core/rows/entries.ts";
import { answered, type Context, type LookContext, type Operation, type Run } from "../../core/writer/operation.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { recallOf } from "../../log/recall.ts";
import type { OperationInputs } from "../../operations.ts";
import { recorded } from "../../screen/decide.ts";
import { endOf } from "../../screen/retention.ts";
import { after, type Reader } from "../../store/transaction.ts";
import { noEntry } from "./missing.ts";

type Input = OperationInputs["data.read" | "data.read_full"];

type Origin = Awaited<ReturnType<typeof findEntryOrigin>>;

// A type and not an interface, so that it is a JSON value, which can be passed between threads.
type Found = { entry: (Pick<VersionedRow, keyof VersionedRow> & { origin: Origin }) | null };

/** Reads the state that a request names, on another thread. */
const lookUp = (reader: Reader, context: LookContext, input: Input) =>
  readAsOf<Found>(reader, context, input, { entry: null }, async (own, agent, at) => {
    if (agent === null) return { entry: null };
    const { key } = input;
    const entry =
      at === undefined
        ? await findEntry(own, context.nowMs, agent, key)
        : await findEntryAt(own, context.nowMs, agent, key, at.seq);
    return { entry: entry === undefined ? null : { ...entry, origin: await findEntryOrigin(own, entry.id) } };
  });

const readNow: Run<"data.read"> = (reader, context, { agentId, key }) =>
  after(context.agents.find(agentId), (agent) => {
    if (agent === null) return noEntry(context, agent, agentId, key);
    return after(findValue(reader, context.nowMs, agent, key), (entry) => {
      if (entry === undefined) return noEntry(context, agent, agentId, key);
      return showValue(agent, key, entry);
    });
  });

function showValue(
  agent: AgentState,
  key: string,
  entry: Pick<VersionedRow, "value" | "writtenSeq" | "version">,
  moment: JsonObject = {},
) {
  const rest = JSON.stringify(moment).slice(1, -1);
  const body =
    `{"agent_id":${JSON.stringify(agent.agentId)},"key":${JSON.stringify(key)},"value":${entry.value}` +
    `${rest === "" ? "" : `,${rest}`}}`;
  return answered(agent, returning(agent, key, entry, moment), body, { etag: entry.version });
}

/** Returns the details of a read of one entry. @param moment the member for an earlier state */
export const returning = (
  agent: AgentState,
  key: string,
  { writtenSeq }: { writtenSeq: number },
  moment: JsonObject = {},
): JsonObject => ({ ...recorded("key", key, agent.policies), ...recallOf([writtenSeq]), ...moment });

function showFull(agent: AgentState, key: string, entry: NonNullable<Found["entry"]>, moment: JsonObject) {
  const rest = JSON.stringify({
    created_at: showTime(entry.createdAt),
    updated_at: showTime(entry.updatedAt),
    audit_id: entry.version,
    config_version: entry.origin.configVersion,
    written_by: entry.origin.writtenBy,
    expires_at: showTimeOrNull(endOf(agent.policies, entry)),
    ...moment,
  });
  const body =
    `{"agent_id":${JSON.stringify(agent.agentId)},"key":${JSON.stringify(key)},"value":${entry.value},` +
    `"metadata":${entry.metadata},${rest.slice(1)}`;
  return answered(agent, returning(agent, key, entry, moment), body, { etag: entry.version });
}

/** Returns what a look has found, or the outcome when it has found nothing. */
async function foundEntry(context: Context, { agentId, key }: Input, { entry, no, at }: OfMoment<Found>) {
  const agent = await context.agents.find(agentId);
  const moment = showMoment(at === undefined ? {} : { at });
  if (no !== undefined) return noMoment(agent, agentId, no, recorded("key", key, context.agents.policiesOf(agent)));
  if (agent === null || entry === null) return noEntry(context, agent, agentId, key, moment);
  return { found: entry, of: agent, moment };
}

export const readData: Required<Operation<"data.read", OfMoment<Found>>> = {
  look: lookUp,
  run: (reader, context, input, found) =>
    found === undefined
      ? readNow(reader, context, input)
      : after(foundEntry(context, input, found), (one) =>
          "found" in one ? showValue(one.of, input.key, one.found, one.moment) : one,
        ),
};

export const readFullData: Required<Operation<"data.read_full", OfMoment<Found>>> = {
  look: lookUp,
  async run(reader, context, input, looked) {
    const found = looked ?? { entry: await readFullNow(reader, context, input) };
    const one = await foundEntry(context, input, found);
    return "found" in one ? showFull(one.of, input.key, one.found, one.moment) : one;
  },
};

async function readFullNow(reader: Reader, context: Context, { agentId, key }: Input): Promise<Found["entry"]> {
  const agent = await context.agents.find(agentId);
  const entry = agent === null ? undefined : await findEntry(reader, context.nowMs, agent, key);
  return entry === undefined ? null : { ...entry, origin: await findEntryOrigin(reader, entry.id) };
}
