/** Operations that delete and erase an agent's data, on the workspace's thread; and the table of all of its data. */

import type { AgentState } from "../../core/rows/agents.ts";
import { hasEntry } from "../../core/rows/entries.ts";
import { countErasable, type ErasureTarget, eventNaming } from "../../core/rows/erasure.ts";
import { countListed } from "../../core/rows/listing/groups.ts";
import { expiryOf, findWrite } from "../../core/rows/versions.ts";
import {
  answered,
  type Context,
  naming,
  notFound,
  type OperationsOf,
  type Outcome,
  type Run,
  refused,
} from "../../core/writer/operation.ts";
import { showTimeOrNull } from "../../ids.ts";
import { recorded } from "../../screen/decide.ts";
import type { Reader } from "../../store/transaction.ts";
import { conflictOver } from "./conflict.ts";
import { listData, queryData } from "./list.ts";
import { NO_VERSION, noEntry, noPresent } from "./missing.ts";
import { readData, readFullData } from "./read.ts";
import { searchData } from "./search.ts";
import { versionsOfData } from "./versions.ts";
import { writeOperation } from "./write.ts";

export const deleteData: Run<"data.delete"> = async (reader, context, input) => {
  const { agentId, key, condition } = input;
  const agent = await context.agents.find(agentId);
  const refusal = condition === undefined ? null : await conflictOver(reader, context, agent, { ...input, condition });
  if (refusal !== null) return refusal;
  if (agent === null) return noEntry(context, agent, agentId, key);
  if (!(await hasEntry(reader, agent, key, context))) return noPresent(reader, context, agent, input);
  return answered(agent, { key }, `{"deleted":1,"audit_id":"${context.auditId}"}`, { effect: { kind: "end", key } });
};

export const deletePrefix: Run<"data.delete_prefix"> = async (reader, context, input) => {
  const { agentId, prefix, confirmedCount } = input;
  const agent = await context.agents.find(agentId);
  const count = agent === null ? 0 : await countListed(reader, agent, { prefix }, context);
  if (confirmedCount !== undefined && count > 0 && count !== confirmedCount) {
    const detail = `${count === 1 ? "1 entry has" : `${count} entries have`} this prefix. Send confirm_count ${count} to delete what there is.`;
    const extra = { param: "confirm_count", count };
    return refused(agent, "conflict", { prefix, entries: count }, { code: "count_mismatch", detail, extra });
  }
  const body = `{"deleted":${count},"audit_id":"${context.auditId}"}`;
  if (count === 0) {
    const details = naming(agent, agentId, recorded("prefix", prefix, context.agents.policiesOf(agent)));
    return answered(agent, details, body, { result: "not_found" });
  }
  return answered(agent, { prefix, count }, body, { effect: { kind: "end_prefix", prefix, count } });
};

/** The event of an erasure does not name the key. */
const UNNAMED = { named: false };

const NOTHING = "Nothing has this key, neither a stored entry nor the details of an audit event.";

/**
 * Erases data permanently, as the law may require: also from checkpoints, and from the details of events. The event
 * states how much was erased, and which events have no details any more. It does not name the key.
 */
export const eraseData: Run<"data.erase"> = async (reader, context, input) => {
  const { agentId } = input;
  const agent = await context.agents.find(agentId);
  if ("version" in input) return eraseVersion(reader, context, agent, input);
  if ("key" in input && input.condition !== undefined) {
    const refusal = await conflictOver(reader, context, agent, { ...input, condition: input.condition }, UNNAMED);
    if (refusal !== null) return refusal;
  }
  const target: ErasureTarget = "key" in input ? { key: input.key } : { prefix: input.prefix };
  const found = await countErasable(reader, agent, agentId, target, context.pause);
  const { entries, versions, events, erased } = found;
  if ("key" in input && versions === 0 && events === 0) {
    return notFound(agent, agentId, "entry_not_found", NOTHING, {});
  }
  const body = { deleted: entries, erased_events: events, audit_id: context.auditId };
  const details = naming(agent, agentId, { entries, versions, events, erased });
  const effect = { kind: "erase", ...found, agentId, target, version: null } as const;
  return answered(agent, details, JSON.stringify(body), { effect });
};

const PRESENT = "This is the present version. Overwrite or delete the entry first, or erase it with all its versions.";

/** Erases one version that has ended. The other versions of its key stay, and the event says how to follow them. */
async function eraseVersion(
  reader: Reader,
  context: Context,
  agent: AgentState | null,
  { agentId, key, version: id }: { agentId: string; key: string; version: string },
): Promise<Outcome> {
  const writtenSeq = agent === null ? null : await findWrite(reader, agent, key, id);
  if (agent === null || writtenSeq === null)
    return notFound(agent, agentId, "version_not_found", NO_VERSION.version_not_found, {});
  const target = { key, writtenSeq };
  const { entries, ...found } = await countErasable(reader, agent, agentId, target, context.pause);
  if (entries > 0) return refused(agent, "conflict", {}, { code: "version_present", detail: PRESENT, extra: {} });
  const keyOf = await eventNaming(reader, agentId, target, context.pause);
  const version = { seq: writtenSeq, keyOf, expiresAtMs: await expiryOf(reader, writtenSeq) };
  const said = { seq: writtenSeq, key_of: keyOf, expires_at: showTimeOrNull(version.expiresAtMs) };
  const details = { entries, ...found, version: said };
  const body = { deleted: 0, erased_events: found.events, audit_id: context.auditId };
  const effect = { kind: "erase", entries, ...found, version, agentId, target } as const;
  return answered(agent, details, JSON.stringify(body), { effect });
}

export const dataOperations: OperationsOf<"data"> = {
  "data.write": writeOperation,
  "data.read": readData,
  "data.read_full": readFullData,
  "data.versions": versionsOfData,
  "data.list": listData,
  "data.query": queryData,
  "data.delete": { run: deleteData },
  "data.delete_prefix": { run: deletePrefix },
  "data.erase": { run: eraseData },
  "data.search": searchData,
};
