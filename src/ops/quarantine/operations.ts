/**
 * Quarantine: sets versions of entries aside, so that no program sees them any more, and releases them. People see them,
 * marked. Nothing is deleted.
 */
import { isWithin } from "../../agent-id.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import { placedOf } from "../../core/rows/quarantine/placing.ts";
import { findPlacement, findStored, type StoredVersion } from "../../core/rows/quarantine/stored.ts";
import { asItIs, type Decided, findingsIn, reportedOf, Screening } from "../../core/writer/decided.ts";
import {
  answered,
  type Context,
  type LookContext,
  naming,
  type OperationsOf,
  type Outcome,
  operation,
  refused,
  refusedByPolicy,
} from "../../core/writer/operation.ts";
import { positionOf } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { OperationInputs } from "../../operations.ts";
import type { Allowed } from "../../screen/decide.ts";
import type { Reader } from "../../store/transaction.ts";
import { type Chosen, choose, digestOf, type Nothing, placeable, showVersions } from "./chosen.ts";

type Release = OperationInputs["quarantine.release"];
type Placement = OperationInputs["quarantine.set"] | Release;

const reasons = new Screening<"quarantine.set" | "quarantine.release", Placement>(
  asItIs(({ reason }) => ({ key: "", value: reason, metadata: {}, valueName: "reason" })),
);

/** Returns the outcome of a request for which there is nothing to set aside. */
async function unplaceable({ agents }: Context, agentId: string, { code, ...nothing }: Nothing): Promise<Outcome> {
  const agent = await agents.find(agentId);
  const isConflict = code === "already_quarantined" || code === "not_a_write";
  const details = isConflict ? {} : naming(agent, agentId, { code });
  return refused(agent, isConflict ? "conflict" : "not_found", details, { code, ...nothing });
}

/** Returns the member of details that says how far effects were followed; none when they were not. */
const showEffects = (effects: number | null): JsonObject => (effects === null ? {} : { include_effects: effects });

const preview = operation("quarantine.preview", {
  look: async (reader, context, input) => {
    const chosen = await choose(reader, context, input);
    const found = await placeable(reader, context, input, chosen);
    if (found.nothing !== undefined || chosen.nothing !== undefined) return { nothing: found.nothing };
    const { versions } = found;
    const shown = await showVersions(reader, versions, chosen.effects);
    return { count: versions.length, body: { count: versions.length, items: shown, digest: digestOf(versions) } };
  },
  async run(_reader, context, { agentId, effects }, found) {
    if (found.nothing !== undefined) return unplaceable(context, agentId, found.nothing);
    const { count = 0, body } = found;
    const agent = await context.agents.find(agentId);
    return answered(agent, { count, ...showEffects(effects) }, JSON.stringify(body));
  },
});

const CHANGED =
  "What would be set aside is not what the digest confirms. Send the request without confirm_digest for a new preview.";

const set = operation("quarantine.set", {
  /** What cannot be set aside is left out here, so that the workspace's thread looks at few versions. */
  look: async (reader, context, input): Promise<{ chosen: Chosen; decided: Decided }> => {
    const chosen = await choose(reader, context, input);
    const found = await placeable(reader, context, input, chosen);
    const decided = await reasons.look(reader, context, input);
    if (found.nothing !== undefined || chosen.nothing !== undefined) {
      return { chosen: { nothing: found.nothing as Nothing }, decided };
    }
    const left = new Set(found.versions.map(({ seq }) => seq));
    return { chosen: { ...chosen, effects: chosen.effects.filter(({ seq }) => left.has(seq)) }, decided };
  },
  async run(reader, context, input, { chosen, decided }) {
    const { agentId, reason, digest, effects } = input;
    const agent = await context.agents.find(agentId);
    const found = await placeable(reader, context, input, chosen);
    if (found.nothing !== undefined || chosen.nothing !== undefined)
      return unplaceable(context, agentId, found.nothing as Nothing);
    if (agent === null) throw new Error("an agent without events has versions");
    const { versions } = found;
    if (digestOf(versions) !== digest) {
      return refused(agent, "conflict", {}, { code: "preview_changed", detail: CHANGED });
    }
    const decision = reasons.decide(input, agent.policies, context.nowMs, decided);
    if (!decision.allowed) return refusedByPolicy(agent, decision);
    const items = await showVersions(reader, versions, chosen.effects);
    return placed(context, agent, { reason, versions, items, decision, more: showEffects(effects) }, "set_aside");
  },
});

/** What is set aside or released, and why. `items`: as the answer shows it; `more`: further members of the details. */
interface Placing {
  reason: string;
  versions: readonly StoredVersion[];
  items: JsonObject[];
  decision: Allowed;
  more?: JsonObject;
}

/** Returns the outcome of a request that sets versions aside, or releases them. */
function placed(
  { auditId }: Context,
  agent: AgentState,
  { reason, versions, items, decision, more = {} }: Placing,
  kind: "set_aside" | "release",
): Outcome {
  const written = versions.map(({ seq }) => seq);
  const details: JsonObject = { reason, versions: written, ...more, ...reportedOf(decision) };
  const body = { count: versions.length, items, audit_id: auditId, ...findingsIn(decision) };
  return answered(agent, details, JSON.stringify(body), { effect: { kind, versions: written, ...placedOf(versions) } });
}

/** What a release is about: the agent in whose chain it is recorded, and the versions that are set aside now. */
interface Found {
  agentId: string | null;
  versions: StoredVersion[];
}

/** The position of no event. */
const NO_POSITION = -1;

const NOTHING: Found = { agentId: null, versions: [] };

/** Finds what a request would release. Nothing is found of a set with versions of agents that the request may not reach. */
async function findSetAside(
  reader: Reader,
  { principal: { agents } }: Pick<LookContext, "principal">,
  input: Release,
): Promise<Found> {
  if ("quarantine" in input) {
    const placement = await findPlacement(reader, input.quarantine);
    if (placement === null || !isWithin(agents, placement.agentId)) return NOTHING;
    const stored = await findStored(reader, placement.versions);
    if (!stored.every(({ agentId }) => isWithin(agents, agentId))) return NOTHING;
    return { agentId: placement.agentId, versions: stored.filter(({ setAsideBy }) => setAsideBy === placement.seq) };
  }
  const stored = await findStored(reader, [positionOf(input.version) ?? NO_POSITION]);
  const versions = stored.filter(
    ({ agentId, version, setAsideBy }) => agentId === input.agentId && version === input.version && setAsideBy !== null,
  );
  return { agentId: input.agentId, versions };
}

const NOT_SET_ASIDE =
  "Nothing of this is set aside now: nobody set it aside, or it was released, or is no longer kept.";

const release = operation("quarantine.release", {
  look: async (reader, context, input): Promise<Decided> => {
    const { agentId } = await findSetAside(reader, context, input);
    return reasons.look(reader, context, { ...input, agentId });
  },
  async run(reader, context, input, decided) {
    const { agentId, versions } = await findSetAside(reader, context, input);
    const agent = agentId === null ? null : await context.agents.find(agentId);
    if (agent === null || versions.length === 0) {
      const details = agentId === null ? {} : naming(agent, agentId, {});
      return refused(agent, "not_found", details, { code: "quarantine_not_found", detail: NOT_SET_ASIDE });
    }
    const { reason } = input;
    const decision = reasons.decide(input, agent.policies, context.nowMs, decided);
    if (!decision.allowed) return refusedByPolicy(agent, decision);
    return placed(
      context,
      agent,
      { reason, versions, items: await showVersions(reader, versions), decision },
      "release",
    );
  },
});

export const quarantineOperations: OperationsOf<"quarantine"> = {
  "quarantine.preview": preview,
  "quarantine.set": set,
  "quarantine.release": release,
};
