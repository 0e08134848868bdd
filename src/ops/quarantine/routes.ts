/** The HTTP routes of quarantines. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, Key, Reason } from "../../api/fields.ts";
import { route } from "../../api/route.ts";
import { EventId, object } from "../../api/shapes.ts";
import { MOST_DEPTH } from "../../core/rows/lineage/walk.ts";
import { invalid } from "../../problem.ts";
import { DIGEST, Quarantined, QuarantineResult } from "./schema.ts";

interface Names {
  agent_id: string;
  include_effects?: number | null;
  key?: string;
  version?: string;
  audit_id?: string;
}

/** Returns which versions a request names. @throws {Problem} unless it names them in one way */
function wishOf({ agent_id: agentId, key, version, audit_id: eventId, include_effects: effects = null }: Names) {
  if (eventId !== undefined) {
    if (key === undefined && version === undefined) return { agentId, effects, eventId };
    throw invalid('"audit_id" names a version alone. Leave "key" and "version" out, or "audit_id".', "audit_id");
  }
  if (key === undefined) throw invalid('Send "key", "key" and "version", or "audit_id".', "key");
  return { agentId, effects, key, version: version ?? null };
}

const requireReason = (reason: string | undefined): string => {
  if (reason !== undefined) return reason;
  throw invalid('A release needs a reason. Send it in "reason", in the query or in the body.', "reason");
};

const OfVersion = { ...EventId, description: "A version: the `audit_id` of its write." };

export const quarantineRoutes = [
  route({
    operation: "quarantine.set",
    at: "POST /v1/quarantine",
    body: object({
      agent_id: AgentId,
      key: t.Optional({ ...Key, description: "The key whose present version is meant, or whose `version`." }),
      version: t.Optional(OfVersion),
      audit_id: t.Optional({ ...EventId, description: "The event that wrote the version, instead of a key." }),
      include_effects: t.Optional(
        t.Integer({
          minimum: 1,
          maximum: MOST_DEPTH,
          description: `Also what followed from the version, in so many steps (see the lineage), of all agents: an integer from 1 to ${MOST_DEPTH}.`,
          examples: [2],
        }),
      ),
      reason: Reason,
      confirm_digest: t.Optional(
        t.String({
          pattern: "^[0-9a-f]{64}$",
          description: "The `digest` of a preview: sets aside exactly what it showed. Without it, nothing is changed.",
          examples: [DIGEST],
        }),
      ),
    }),
    input: ({ body }) => ({ ...wishOf(body), reason: body.reason, digest: body.confirm_digest ?? "" }),
    variant: {
      operation: "quarantine.preview",
      input: ({ body }) => (body.confirm_digest === undefined ? wishOf(body) : null),
    },
    summary: "Set a version aside",
    description:
      "From now on the version is absent for every program, that is every API key and every workload: reads, lists, searches, preconditions, limits and restores. People see it, marked. Without `confirm_digest` this is a preview. Works on suspended agents.",
    response: {
      description: "The versions that are set aside; without `confirm_digest`, those that would be.",
      schema: QuarantineResult,
    },
    problems: [
      ...(["entry_not_found", "version_not_found", "audit_event_not_found", "version_gone", "not_a_write"] as const),
      ...(["already_quarantined", "preview_changed", "blocked"] as const),
    ],
  }),

  route({
    operation: "quarantine.release",
    at: "DELETE /v1/quarantine",
    query: object({
      agent_id: t.Optional(AgentId),
      version: t.Optional(OfVersion),
      quarantine: t.Optional({ ...EventId, description: "The event `quarantine.set` whose versions are released." }),
      reason: t.Optional(Reason),
    }),
    body: object({ reason: t.Optional(Reason) }),
    bodyOptional: true,
    input: ({ query: { agent_id: agentId, version, quarantine, reason }, body }) => {
      const why = requireReason(reason ?? body.reason);
      if (quarantine !== undefined) {
        if (version === undefined && agentId === undefined) return { agentId: null, quarantine, reason: why };
        throw invalid('"quarantine" names a set alone. Leave "agent_id" and "version" out.', "quarantine");
      }
      if (agentId === undefined) throw invalid('Send "agent_id" and "version", or "quarantine".', "agent_id");
      if (version === undefined) throw invalid('Send "version", the audit_id of a write, too.', "version");
      return { agentId, version, reason: why };
    },
    summary: "Release what is set aside",
    description:
      "Releases one version, or all versions that an event set aside and that still are. A version that its key still holds is visible again; one that ended meanwhile is history. The reason is a parameter of the query, or the only member of a body.",
    response: { description: "The versions that are released.", schema: Quarantined },
    problems: ["quarantine_not_found", "blocked"],
  }),
];
