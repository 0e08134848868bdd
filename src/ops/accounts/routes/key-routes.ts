/** The API keys of a workspace: owners manage them, every member may list them. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, optionalInteger } from "../../../api/fields.ts";
import { route } from "../../../api/route.ts";
import { listWithoutPages, object } from "../../../api/shapes.ts";
import { Problem } from "../../../problem.ts";
import { KEY_AGENTS_MAX, KeyEnded } from "../../directory/administration.ts";
import { findKey, type KeyRecord, listKeys } from "../../directory/keys.ts";
import { type AccountParts, administrationOf } from "../parts.ts";
import { KeyShape, Name, NetworkNames, NewKeyShape, RotatedKey, ScopeName } from "./schema.ts";
import { showKey } from "./show.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The longest lifetime of a key with an expiry, days. */
const KEY_MAX_DAYS = 3_650;
/** How long a rotated key still works: the maximum and the default. */
const OVERLAP_MAX_HOURS = 720;
const OVERLAP_HOURS = 24;

function requireKey({ control }: AccountParts, workspaceId: string, keyId: string): KeyRecord {
  const key = findKey(control.connection, keyId);
  if (key?.workspaceId === workspaceId) return key;
  throw new Problem("key_not_found", "The workspace has no such key. GET …/keys lists them.");
}

function refuseEnded(error: unknown): never {
  throw error instanceof KeyEnded ? new Problem("key_ended", error.message) : error;
}

export const keyRoutes = [
  route({
    by: "member",
    name: "list_keys",
    at: "GET /account/workspaces/:workspace_id/keys",
    summary: "List API keys",
    description: "Oldest first, including revoked and expired ones. The keys themselves cannot be read.",
    response: { description: "The keys.", schema: listWithoutPages(KeyShape) },
    run({ workspace }, { parts }) {
      const now = parts.clock();
      return { body: { data: listKeys(parts.control.connection, workspace.id).map((key) => showKey(key, now)) } };
    },
  }),

  route({
    by: "owner",
    name: "create_key",
    at: "POST /account/workspaces/:workspace_id/keys",
    body: object({
      label: t.Optional({ ...Name, examples: ["support bot in production"] }),
      scope: t.Optional({ ...ScopeName, default: "full" }),
      agents: t.Optional(
        t.Array(AgentId, {
          minItems: 1,
          maxItems: KEY_AGENTS_MAX,
          description: `The agents that the key is limited to: 1 to ${KEY_AGENTS_MAX} agent ids.`,
          examples: [["support-bot"]],
        }),
      ),
      networks: t.Optional(NetworkNames),
      expires_in_days: optionalInteger(1, KEY_MAX_DAYS, "Days until the key ends"),
    }),
    summary: "Make an API key",
    description: "For owners. The key is shown only once.",
    recordedAs: ["key.create"],
    response: { description: "The key.", schema: NewKeyShape },
    status: 201,
    async run({ workspace, body, accountId }, { parts }) {
      const { record, apiKey, auditId } = await administrationOf(parts, accountId).createKey({
        workspaceId: workspace.id,
        label: body.label ?? null,
        scope: body.scope ?? "full",
        agents: body.agents === undefined ? null : [...new Set(body.agents)],
        networks: body.networks === undefined ? null : [...new Set(body.networks)],
        expiresInMs: body.expires_in_days === undefined ? null : body.expires_in_days * DAY_MS,
      });
      return { body: { ...showKey(record, parts.clock()), api_key: apiKey }, auditId };
    },
  }),

  route({
    by: "owner",
    name: "change_key",
    at: "PUT /account/workspaces/:workspace_id/keys/:key_id",
    body: object({
      networks: t.Union([NetworkNames, t.Null()], {
        description: "The networks, or null for everywhere.",
        examples: NetworkNames.examples as unknown[],
      }),
    }),
    summary: "Limit an API key to networks",
    description:
      "For owners. Takes effect at once: a request from elsewhere is refused with 403. Null ends the limit. Behind a TLS proxy the client's address counts.",
    recordedAs: ["key.change"],
    response: { description: "The key.", schema: KeyShape },
    problems: ["key_not_found", "key_ended"],
    async run({ params, workspace, body, accountId }, { parts }) {
      requireKey(parts, workspace.id, params.key_id);
      const networks = body.networks && [...new Set(body.networks)];
      const { auditId, ...key } = await administrationOf(parts, accountId)
        .limitKey(params.key_id, networks)
        .catch(refuseEnded);
      return { body: showKey(key, parts.clock()), auditId };
    },
  }),

  route({
    by: "owner",
    name: "revoke_key",
    at: "DELETE /account/workspaces/:workspace_id/keys/:key_id",
    summary: "Revoke an API key",
    description: "For owners. Takes effect at once and cannot be undone. Revoking again changes nothing.",
    recordedAs: ["key.revoke"],
    response: { description: "The key.", schema: KeyShape },
    problems: ["key_not_found"],
    async run({ params, workspace, accountId }, { parts }) {
      requireKey(parts, workspace.id, params.key_id);
      const { auditId, ...key } = await administrationOf(parts, accountId).revokeKey(params.key_id);
      return { body: showKey(key, parts.clock()), auditId };
    },
  }),

  route({
    by: "owner",
    name: "rotate_key",
    at: "POST /account/workspaces/:workspace_id/keys/:key_id/rotate",
    body: object({
      overlap_hours: optionalInteger(0, OVERLAP_MAX_HOURS, "How many hours the old key still works", OVERLAP_HOURS),
    }),
    bodyOptional: true,
    summary: "Rotate an API key",
    description:
      "For owners. Makes a key with the same label, scope, agents, networks and lifetime, shown only once; the old one still works for the overlap.",
    recordedAs: ["key.rotate"],
    response: { description: "The new key.", schema: RotatedKey },
    status: 201,
    problems: ["key_not_found", "key_ended"],
    async run({ params, workspace, body, accountId }, { parts }) {
      const old = requireKey(parts, workspace.id, params.key_id);
      const overlapMs = (body.overlap_hours ?? OVERLAP_HOURS) * HOUR_MS;
      const { record, apiKey, auditId } = await administrationOf(parts, accountId)
        .rotateKey(old.id, overlapMs)
        .catch(refuseEnded);
      return { body: { ...showKey(record, parts.clock()), api_key: apiKey, replaces: old.id }, auditId };
    },
  }),
];
