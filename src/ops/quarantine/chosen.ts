/** Which versions a request would set aside. */
import { createHash } from "node:crypto";
import { readAgent } from "../../core/rows/agents.ts";
import { entryVersion } from "../../core/rows/entries.ts";
import { findPosition } from "../../core/rows/log/events.ts";
import { findStored, type StoredVersion } from "../../core/rows/quarantine/stored.ts";
import { findWrite, isWrite, readableHistory } from "../../core/rows/versions.ts";
import type { LookContext } from "../../core/writer/operation.ts";
import { positionOf, showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { OperationInputs } from "../../operations.ts";
import type { ProblemCode } from "../../problem.ts";
import type { Reader } from "../../store/transaction.ts";

type Wish = OperationInputs["quarantine.preview"];

/** Why there is nothing to set aside. */
export interface Nothing {
  code: ProblemCode;
  detail: string;
  extra?: JsonObject;
}

/** The positions of the writes of the versions that a request names; or why there are none. */
export type Chosen = { written: number[]; nothing?: undefined } | { nothing: Nothing };

const NO_ENTRY = "This agent has no entry under this key, or the entry has expired. A version names an earlier one.";
const NO_VERSION = "No event of this agent wrote this key with this id. GET /v1/data/versions lists what there is.";
const NO_EVENT = "There is no event with this id in the agent's chain.";
const NOT_A_WRITE = "The event is not a write that was stored. Send the audit_id of one.";
const ALREADY = "All of this is set aside already. GET /v1/audit has the event quarantine.set that did it.";
const GONE = "The version is no longer kept, so that there is nothing to set aside.";

/** Finds what a request names. */
export async function choose(reader: Reader, { nowMs }: Pick<LookContext, "nowMs">, wish: Wish): Promise<Chosen> {
  const { agentId } = wish;
  const agent = await readAgent(reader, agentId);
  if ("eventId" in wish) {
    const found = agent && (await findPosition(reader, wish.eventId, [agentId]));
    if (!found) return { nothing: { code: "audit_event_not_found", detail: NO_EVENT } };
    if (!(await isWrite(reader, found.seq))) return { nothing: { code: "not_a_write", detail: NOT_A_WRITE } };
    return { written: [found.seq] };
  }
  const { key, version } = wish;
  if (version === null) {
    const present = agent && (await entryVersion(reader, { nowMs, seesSetAside: true }, agent, key));
    if (present === null) return { nothing: { code: "entry_not_found", detail: NO_ENTRY } };
    return { written: [positionOf(present) as number] };
  }
  const written = agent && (await findWrite(reader, agent, key, version));
  return written === null ? { nothing: { code: "version_not_found", detail: NO_VERSION } } : { written: [written] };
}

/**
 * Returns those of the chosen versions that can be set aside: that are stored, and are not set aside; or why there are none.
 */
export async function placeable(
  reader: Reader,
  { nowMs, principal }: Pick<LookContext, "nowMs" | "principal">,
  wish: Wish,
  chosen: Chosen,
): Promise<{ versions: StoredVersion[]; nothing?: undefined } | { nothing: Nothing }> {
  if (chosen.nothing !== undefined) return chosen;
  const stored = await findStored(reader, chosen.written, principal.agents);
  const versions = stored.filter(({ setAsideBy }) => setAsideBy === null);
  if (versions.length > 0) return { versions };
  if (stored.length > 0) return { nothing: { code: "already_quarantined", detail: ALREADY } };
  const agent = await readAgent(reader, wish.agentId);
  const since = agent && (await readableHistory(reader, agent, nowMs)).sinceMs;
  return { nothing: { code: "version_gone", detail: GONE, extra: { kept_since: since && showTime(since) } } };
}

/** Returns the digest by which a request confirms a set: that of the positions of its writes, SHA-256 in hex. */
export const digestOf = (versions: readonly StoredVersion[]): string =>
  createHash("sha256")
    .update(versions.map(({ seq }) => `${seq}\n`).join(""))
    .digest("hex");

/** Shows a version of a set. */
export const showVersion = ({ seq, version, writtenAt, agentId, key, isPresent }: StoredVersion): JsonObject => ({
  audit_id: version,
  agent_id: agentId,
  key,
  seq,
  timestamp: writtenAt,
  present: isPresent,
});
