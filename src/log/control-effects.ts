/**
 * What events state about the control database: the rows that the tables of {@link ControlTable} must have after them.
 * `operations.ts` has the effect of each operation. Columns that the details do not state are left out.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import type { ControlEffect } from "../operation-facts.ts";
import { controlEffect } from "../operations.ts";
import type { AuditEventBody } from "./event.ts";
import { sha256Hex } from "./hash.ts";
import { canonicalJson } from "./jcs.ts";

/** The tables of the control database that events cover. */
export type ControlTable = "workspaces" | "api_keys" | "members" | "links" | "passkeys";

/** The required content of a column; bytes as hex. */
export type Stated = string | number | null;

/** Columns by name. An absent column is not stated. */
export type StatedColumns = Readonly<Record<string, Stated>>;

/** A change of one row. A member's `id` is that of the account; the row is in the event's workspace. */
export interface RowChange {
  table: ControlTable;
  id: string;
  /**
   * `set` changes columns of a row that exists; `put` also accepts a row whose creation no event recorded. `name`
   * changes nothing: it says that the row was added, which the log of its own workspace states. `clear` removes all
   * rows whose `account_id` is this id.
   */
  kind: "add" | "set" | "put" | "remove" | "name" | "clear";
  columns: StatedColumns;
}

/** Returns what an event changes in the control database. Empty for events that change nothing there. */
export function controlChanges(event: AuditEventBody, details: JsonObject | null): RowChange[] {
  const effect = event.agent_id === null && event.result === "ok" ? controlEffect(event.operation) : "none";
  return effect === "none" || details === null ? [] : CHANGES[effect](details, event).filter(({ id }) => id !== "");
}

const CHANGES: { [K in ControlEffect]: (details: JsonObject, event: AuditEventBody) => RowChange[] } = {
  found_workspace: ({ name }, { workspace_id: id, actor }) => [
    change("workspaces", id, "add", { name, created_by: actor, second_factor_since: null }),
    // A person owns the workspace that they create.
    ...(actor.startsWith("usr_") ? [change("members", actor, "add", { role: "owner" })] : []),
  ],
  change_workspace: ({ second_factor_since: since }, { workspace_id: id }) => [
    change("workspaces", id, "set", { second_factor_since: timeOf(since) }),
  ],
  name_workspace: ({ created_workspace_id: id }) => [change("workspaces", id, "name", {})],
  create_key: (details, event) => [newKey(details, event)],
  rotate_key: (details, event) => [
    change("api_keys", details.replaces, "set", {
      replaced_by: details.key_id,
      expires_at: timeOf(details.replaced_expires_at),
    }),
    newKey(details, event),
  ],
  change_key: ({ key_id: id, networks }) => [change("api_keys", id, "set", { networks: listText(networks) })],
  revoke_key: ({ key_id: id, revoked_at: at }, { actor }) => [
    change("api_keys", id, "set", { revoked_at: timeOf(at), revoked_by: actor }),
  ],
  invite: ({ invitation_id: id, role, label, ...details }, { workspace_id, actor }) => [
    change("links", id, "add", {
      kind: "invitation",
      workspace_id,
      role,
      label,
      account_id: null,
      drops_totp: 0,
      digest: details.link_digest,
      created_at: timeOf(details.created_at),
      created_by: actor,
      expires_at: timeOf(details.expires_at),
      used_at: null,
      used_by: null,
      revoked_at: null,
    }),
  ],
  uninvite: ({ invitation_id: id, revoked_at: at }) => [change("links", id, "put", { revoked_at: timeOf(at) })],
  join: ({ invitation_id: link, account_id: account, role, joined_at: at }, { workspace_id }) => [
    change("links", link, "put", { workspace_id, used_by: account, used_at: timeOf(at), revoked_at: null }),
    change("members", account, "add", { role, joined_at: timeOf(at) }),
  ],
  change_role: ({ account_id: account, role }) => [change("members", account, "set", { role })],
  remove_member: ({ account_id: account }) => [change("members", account, "remove", {})],
  add_passkey: ({ passkey_id: id, ...details }) => [
    change("passkeys", id, "add", {
      account_id: details.account_id,
      rp_id: details.host,
      created_at: timeOf(details.created_at),
      credential_digest: details.credential_digest,
    }),
  ],
  remove_passkey: ({ passkey_id: id }) => [change("passkeys", id, "remove", {})],
  end_factors: ({ account_id: account, second_factor_ended: ended }) =>
    ended === true ? [change("passkeys", account, "clear", {})] : [],
};

/** The columns of a passkey for which its event states only this digest. */
export const PASSKEY_DIGESTED = ["credential_id", "public_key"] as const;

/** Returns the digest that events state of columns, hex: SHA-256 of them in canonical form. */
export const columnsDigest = (columns: { readonly [name: string]: JsonValue }): string =>
  sha256Hex(canonicalJson(columns));

const newKey = (details: JsonObject, { workspace_id, actor }: AuditEventBody): RowChange =>
  change("api_keys", details.key_id, "add", {
    workspace_id,
    digest: details.key_digest,
    label: details.label,
    scope: details.scope,
    agents: listText(details.agents),
    networks: listText(details.networks),
    created_at: timeOf(details.created_at),
    created_by: actor,
    expires_at: timeOf(details.expires_at),
    revoked_at: null,
    revoked_by: null,
    replaced_by: null,
  });

type Member = JsonValue | undefined;

/** Returns a list as the control database stores it. */
const listText = (list: Member): Member => (Array.isArray(list) ? JSON.stringify(list) : list);

/** Returns a time, RFC 3339, as the control database stores it: milliseconds since the Unix epoch. */
const timeOf = (time: Member): Member => (typeof time === "string" ? Date.parse(time) : time);

/** Returns the change of a row, without columns that the details do not state; no change without an id. */
function change(table: ControlTable, id: Member, kind: RowChange["kind"], columns: Record<string, Member>): RowChange {
  const stated = Object.entries(columns).filter(([, value]) => value !== undefined) as [string, Stated][];
  return { table, id: typeof id === "string" ? id : "", kind, columns: Object.fromEntries(stated) };
}
