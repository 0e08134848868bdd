/** The API keys of a workspace: owners manage them, every member may list them. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, optionalInteger } from "../../../api/fields.ts";
import { route } from "../../../api/route.ts";
import { listWithoutPages, object } from "../../../api/shapes.ts";
import { KEY_AGENTS_MAX } from "../../keys/new-key.ts";
import { principalOf } from "../memberships.ts";
import { KeyShape, Name, NetworkNames, NewKeyShape, RotatedKey, ScopeName } from "./schema.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The longest lifetime of a key with an expiry, days. */
const KEY_MAX_DAYS = 3_650;
/** How long a rotated key still works: the maximum and the default. */
const OVERLAP_MAX_HOURS = 720;
const OVERLAP_HOURS = 24;

export const keyRoutes = [
  route({
    by: "member",
    name: "list_keys",
    at: "GET /account/workspaces/:workspace_id/keys",
    summary: "List API keys",
    description: "Oldest first, including revoked and expired ones. The keys themselves cannot be read.",
    response: { description: "The keys.", schema: listWithoutPages(KeyShape) },
    run: async ({ workspace }, { parts }) => ({ body: await parts.workspaces.ask(workspace.id, "key.list", {}) }),
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
    run: ({ workspace, session, body }, { parts }) =>
      parts.workspaces.change(principalOf(workspace, session), "key.create", {
        label: body.label ?? null,
        scope: body.scope ?? "full",
        agents: body.agents === undefined ? null : [...new Set(body.agents)],
        networks: body.networks === undefined ? null : [...new Set(body.networks)],
        expiresInMs: body.expires_in_days === undefined ? null : body.expires_in_days * DAY_MS,
      }),
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
    run({ params, workspace, session, body }, { parts }) {
      const networks = body.networks && [...new Set(body.networks)];
      return parts.workspaces.change(principalOf(workspace, session), "key.change", { keyId: params.key_id, networks });
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
    run: ({ params, workspace, session }, { parts }) =>
      parts.workspaces.change(principalOf(workspace, session), "key.revoke", { keyId: params.key_id }),
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
    run({ params, workspace, session, body }, { parts }) {
      const overlapMs = (body.overlap_hours ?? OVERLAP_HOURS) * HOUR_MS;
      return parts.workspaces.change(principalOf(workspace, session), "key.rotate", {
        keyId: params.key_id,
        overlapMs,
      });
    },
  }),
];
