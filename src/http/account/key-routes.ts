/** The API keys of a workspace: owners manage them, every member may list them. */

import { requireMembership, requireOwner } from "../../control/accounts/members.ts";
import { type AccountParts, administrationOf } from "../../control/accounts/parts.ts";
import { KeyEnded } from "../../control/administration.ts";
import { findKey, type KeyRecord, listKeys } from "../../control/keys.ts";
import { Refused } from "../../control/refused.ts";
import { listWithoutPages } from "../shapes.ts";
import { action } from "./action.ts";
import { KeyBody, KeyShape, NewKeyShape, OVERLAP_HOURS, RotateBody, RotatedKey } from "./schema.ts";
import { showKey } from "./show.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function requireKey({ control }: AccountParts, workspaceId: string, keyId: string): KeyRecord {
  const key = findKey(control.connection, keyId);
  if (key?.workspaceId === workspaceId) return key;
  throw new Refused("key_not_found", "The workspace has no such key. GET …/keys lists them.");
}

const list = action({
  name: "list_keys",
  method: "GET",
  path: "/account/workspaces/:workspace_id/keys",
  docs: {
    tag: "Keys",
    summary: "List API keys",
    description: "Oldest first, including revoked and expired ones. The keys themselves cannot be read.",
    response: { description: "The keys.", schema: listWithoutPages(KeyShape) },
    problems: ["workspace_not_found"],
  },
  run({ params, signedIn }, { parts }) {
    const { id } = requireMembership(parts, signedIn.accountId, params.workspace_id);
    const now = parts.clock();
    return { body: { data: listKeys(parts.control.connection, id).map((key) => showKey(key, now)) } };
  },
});

const create = action({
  name: "create_key",
  method: "POST",
  path: "/account/workspaces/:workspace_id/keys",
  body: KeyBody,
  docs: {
    tag: "Keys",
    summary: "Make an API key",
    description: "For owners. The key is shown only once.",
    recordedAs: ["key.create"],
    response: { description: "The key.", schema: NewKeyShape },
    status: 201,
    problems: ["workspace_not_found"],
    requestExample: { label: "support bot in production", scope: "agent", agents: ["support-bot"] },
  },
  async run({ params, body, signedIn }, { parts }) {
    const workspace = requireOwner(parts, signedIn.accountId, params.workspace_id);
    const made = await administrationOf(parts, signedIn.accountId).createKey({
      workspaceId: workspace.id,
      label: body.label ?? null,
      scope: body.scope ?? "full",
      agents: body.agents === undefined ? null : [...new Set(body.agents)],
      expiresInMs: body.expires_in_days === undefined ? null : body.expires_in_days * DAY_MS,
    });
    return {
      status: 201,
      body: { ...showKey(made.record, parts.clock()), api_key: made.apiKey },
      auditId: made.auditId,
    };
  },
});

const revoke = action({
  name: "revoke_key",
  method: "DELETE",
  path: "/account/workspaces/:workspace_id/keys/:key_id",
  docs: {
    tag: "Keys",
    summary: "Revoke an API key",
    description: "For owners. Takes effect at once and cannot be undone. Revoking again changes nothing.",
    recordedAs: ["key.revoke"],
    response: { description: "The key.", schema: KeyShape },
    problems: ["workspace_not_found", "key_not_found"],
  },
  async run({ params, signedIn }, { parts }) {
    const workspace = requireOwner(parts, signedIn.accountId, params.workspace_id);
    requireKey(parts, workspace.id, params.key_id);
    const { auditId, ...key } = await administrationOf(parts, signedIn.accountId).revokeKey(params.key_id);
    return { body: showKey(key, parts.clock()), auditId };
  },
});

const rotate = action({
  name: "rotate_key",
  method: "POST",
  path: "/account/workspaces/:workspace_id/keys/:key_id/rotate",
  body: RotateBody,
  bodyOptional: true,
  docs: {
    tag: "Keys",
    summary: "Rotate an API key",
    description:
      "For owners. Makes a key with the same label, scope, agents and lifetime, shown only once; the old one still works for the overlap.",
    recordedAs: ["key.rotate"],
    response: { description: "The new key.", schema: RotatedKey },
    status: 201,
    problems: ["workspace_not_found", "key_not_found", "key_ended"],
    requestExample: { overlap_hours: 48 },
  },
  async run({ params, body, signedIn }, { parts }) {
    const workspace = requireOwner(parts, signedIn.accountId, params.workspace_id);
    const old = requireKey(parts, workspace.id, params.key_id);
    const overlapMs = (body.overlap_hours ?? OVERLAP_HOURS) * HOUR_MS;
    const made = await administrationOf(parts, signedIn.accountId)
      .rotateKey(old.id, overlapMs)
      .catch((error: unknown) => {
        throw error instanceof KeyEnded ? new Refused("key_ended", error.message) : error;
      });
    return {
      status: 201,
      body: { ...showKey(made.record, parts.clock()), api_key: made.apiKey, replaces: old.id },
      auditId: made.auditId,
    };
  },
});

export const keyActions = [list, create, revoke, rotate];
