/** Which versions a request would set aside. */
import { createHash } from "node:crypto";
import { readAgent } from "../../core/rows/agents.ts";
import { entryVersion } from "../../core/rows/entries.ts";
import type { LineageItem } from "../../core/rows/lineage/depths.ts";
import { walkLineage } from "../../core/rows/lineage/walk.ts";
import { findPosition } from "../../core/rows/log/events.ts";
import { findStored, type StoredVersion } from "../../core/rows/quarantine/stored.ts";
import { findWrite, isWrite, readableHistory } from "../../core/rows/versions.ts";
import type { LookContext } from "../../core/writer/operation.ts";
import { TimeSlice } from "../../core/writer/time-slice.ts";
import { MOST_POSITIONS } from "../../details.ts";
import { eventId, positionOf, showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { OperationInputs } from "../../operations.ts";
import { invalid, type ProblemCode } from "../../problem.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";

type Wish = OperationInputs["quarantine.preview"];

/** Why there is nothing to set aside. */
export interface Nothing {
  code: ProblemCode;
  detail: string;
  extra?: JsonObject;
}

/** How a version was reached from the one that a request names. */
type Reached = Pick<LineageItem, "seq" | "depth" | "from" | "through">;

/** The version that a request names, by the position of its write, and what followed from it; or why there is none. */
export type Chosen = { named: number; effects: Reached[]; nothing?: undefined } | { nothing: Nothing };

/** The most writes that a walk may reach: many of them may be set aside already, or no longer kept. */
const MOST_REACHED = 10_000;

const NO_ENTRY = "This agent has no entry under this key, or the entry has expired. A version names an earlier one.";
const NO_VERSION = "No event of this agent wrote this key with this id. GET /v1/data/versions lists what there is.";
const NO_EVENT = "There is no event with this id in the agent's chain.";
const NOT_A_WRITE = "The event is not a write that was stored. Send the audit_id of one.";
const ALREADY = "All of this is set aside already. GET /v1/audit has the event quarantine.set that did it.";
const GONE = "The version is no longer kept, so that there is nothing to set aside.";

const tooMany = (most: number) =>
  invalid(
    `More than ${most} versions followed from this one. Send a smaller include_effects, or set some of them aside first.`,
    "include_effects",
  );

/** Finds what a request names, and what followed from it. @throws {Problem} `invalid_request` when that is too much */
export async function choose(reader: Reader, context: LookContext, wish: Wish): Promise<Chosen> {
  const found = await findNamed(reader, context, wish);
  if ("nothing" in found) return found;
  if (wish.effects === null) return { ...found, effects: [] };
  const slice = new TimeSlice(() => performance.now(), nextTurn);
  slice.begin();
  const { agents } = context.principal;
  const walk = { direction: "effects", depth: wish.effects, limit: MOST_REACHED + 1, agents } as const;
  const effects = await walkLineage(reader, [found.named], { ...walk, pause: () => slice.pause() });
  if (effects.length > MOST_REACHED) throw tooMany(MOST_REACHED);
  return { ...found, effects };
}

async function findNamed(
  reader: Reader,
  { nowMs }: Pick<LookContext, "nowMs">,
  wish: Wish,
): Promise<{ named: number } | { nothing: Nothing }> {
  const { agentId } = wish;
  const agent = await readAgent(reader, agentId);
  if ("eventId" in wish) {
    const found = agent && (await findPosition(reader, wish.eventId, [agentId]));
    if (!found) return { nothing: { code: "audit_event_not_found", detail: NO_EVENT } };
    if (!(await isWrite(reader, found.seq))) return { nothing: { code: "not_a_write", detail: NOT_A_WRITE } };
    return { named: found.seq };
  }
  const { key, version } = wish;
  if (version === null) {
    const present = agent && (await entryVersion(reader, { nowMs, seesSetAside: true }, agent, key));
    if (present === null) return { nothing: { code: "entry_not_found", detail: NO_ENTRY } };
    return { named: positionOf(present) as number };
  }
  const named = agent && (await findWrite(reader, agent, key, version));
  return named === null ? { nothing: { code: "version_not_found", detail: NO_VERSION } } : { named };
}

/**
 * Returns those of the chosen versions that can be set aside: that are stored, and are not set aside; or why there are none.
 * @throws {Problem} `invalid_request` when they are more than an event can name
 */
export async function placeable(
  reader: Reader,
  { nowMs, principal }: Pick<LookContext, "nowMs" | "principal">,
  wish: Wish,
  chosen: Chosen,
): Promise<{ versions: StoredVersion[]; nothing?: undefined } | { nothing: Nothing }> {
  if (chosen.nothing !== undefined) return chosen;
  const written = [chosen.named, ...chosen.effects.map(({ seq }) => seq)];
  const stored = await findStored(reader, written, principal.agents);
  const versions = stored.filter(({ setAsideBy }) => setAsideBy === null);
  if (versions.length > MOST_POSITIONS) throw tooMany(MOST_POSITIONS);
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

const IDS = "SELECT seq, random FROM events WHERE seq IN (SELECT value FROM json_each(?))";

/** Shows the versions of a set, and how each was reached. @param effects those that the request did not name */
export async function showVersions(
  reader: Reader,
  versions: readonly StoredVersion[],
  effects: readonly Reached[] = [],
): Promise<JsonObject[]> {
  const reached = new Map(effects.map((one) => [one.seq, one]));
  const named = effects.flatMap(({ from, through }) => [from, through]);
  const rows = await reader.all<[number, Uint8Array]>(IDS, [JSON.stringify(named)]);
  const ids = new Map(rows.map(([seq, random]) => [seq, eventId(seq, random)]));
  return versions.map(({ seq, version, writtenAt, agentId, key, isPresent }) => {
    const { depth = 0, from, through } = reached.get(seq) ?? {};
    const way = { depth, from: ids.get(from ?? -1) ?? null, through: ids.get(through ?? -1) ?? null };
    return { audit_id: version, agent_id: agentId, key, seq, timestamp: writtenAt, present: isPresent, ...way };
  });
}
