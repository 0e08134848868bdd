/**
 * Rows that events state: which row of which table of the workspace's file becomes what. The store applies what this
 * file derives from an event's details, and the verifier derives the same from the recorded event.
 *
 * What must not be in the log (a secret, an address) is bound by a salted digest: a change that states a digest comes
 * with the contents of the table's bound columns, and their salt is stored beside them.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import type { RowsOperation } from "../operations.ts";
import type { AuditEventBody } from "./event.ts";
import { isSalt, saltedDigest } from "./hash.ts";
import { canonicalJson } from "./jcs.ts";

/** The content of a column. */
type Cell = string | number | null;

/** Columns by name. */
export type Cells = Readonly<Record<string, Cell>>;

/** The type of a column, followed by `?` when it may be NULL. */
type CellType = "text" | "integer" | "text?" | "integer?";

/** A table of which every column but the rowid is stated by events. */
export interface RowTable {
  /** The primary key: a text. */
  key: string;
  /** The columns that events state, without the key. JSON is stored in canonical form, and flags as 0 and 1. */
  columns: Readonly<Record<string, CellType>>;
  /**
   * The columns of which events state only the digest SHA-256(salt ‖ JCS of them) in the member `digest`. Their salt is
   * in the column `salt`, hex.
   */
  bound?: { digest: string; columns: Readonly<Record<string, CellType>> };
}

/** Every table whose rows events state. */
export const ROW_TABLES = {
  keys: {
    key: "id",
    columns: {
      digest: "text",
      label: "text?",
      scope: "text",
      agents: "text?",
      networks: "text?",
      expires_at: "integer?",
      created_seq: "integer",
      ended_seq: "integer?",
      replaced_by: "text?",
    },
  },
  members: {
    key: "account_id",
    columns: { role: "text", issuer: "text?", joined_seq: "integer", role_seq: "integer" },
  },
  invitations: {
    key: "id",
    columns: {
      digest: "text",
      role: "text",
      label: "text?",
      expires_at: "integer",
      created_seq: "integer",
      ended_seq: "integer?",
      used_by: "text?",
    },
  },
  workloads: {
    key: "id",
    columns: {},
    bound: { digest: "workload_digest", columns: { issuer: "text", subject: "text" } },
  },
  workspace: { key: "id", columns: { second_factor_since: "integer?", issuer_only: "integer?" } },
  workspaces: {
    key: "id",
    columns: { name: "text", genesis: "text", founder: "text?", added_seq: "integer", deleted_seq: "integer?" },
  },
  accounts: {
    key: "id",
    columns: { created_seq: "integer", link_id: "text?" },
    bound: {
      digest: "account_digest",
      columns: {
        codes: "text",
        email: "text",
        name: "text",
        password: "text",
        password_changed_at: "integer",
        totp_secret: "text?",
        totp_since: "integer?",
        totp_step: "integer",
      },
    },
  },
  passkeys: {
    key: "id",
    columns: { account_id: "text", host: "text", created_seq: "integer", used_seq: "integer?" },
    bound: {
      digest: "credential_digest",
      columns: { counter: "integer", credential_id: "text", name: "text", public_key: "text" },
    },
  },
  identities: {
    key: "id",
    columns: { account_id: "text", linked_seq: "integer", multi_factor: "integer" },
    bound: { digest: "identity_digest", columns: { issuer: "text", subject: "text" } },
  },
  links: {
    key: "id",
    columns: {
      digest: "text",
      kind: "text",
      account_id: "text?",
      second_factor_ends: "integer",
      expires_at: "integer",
      created_seq: "integer",
      ended_seq: "integer?",
      used_by: "text?",
    },
  },
  sessions: {
    key: "id",
    columns: { account_id: "text", created_seq: "integer", expires_at: "integer", second_factor: "text?" },
    bound: {
      digest: "session_digest",
      columns: { address: "text", digest: "text", issuer_session: "text?", user_agent: "text" },
    },
  },
  sinks: {
    key: "id",
    columns: {
      type: "text",
      format: "text",
      filter: "text",
      include_details: "integer",
      start: "text",
      enabled: "integer",
      created_seq: "integer",
    },
    bound: {
      digest: "settings_digest",
      columns: { ca: "text?", client_certificate: "text?", secrets: "text", url: "text" },
    },
  },
} as const satisfies Record<string, RowTable>;

export type RowTableName = keyof typeof ROW_TABLES;

/** The facts of every table, by name. */
export const rowTables = Object.entries(ROW_TABLES) as [RowTableName, RowTable][];

/** A change of one row. */
export interface RowChange {
  table: RowTableName;
  key: string;
  /** `add`: there is no such row; `set` and `remove`: there is one. */
  kind: "add" | "set" | "remove";
  /** The columns that it sets; an added row has all that events state. */
  columns: Cells;
  /** The digest of the bound columns, if it sets them. */
  digest?: string;
  /** Whether the row may be changed so, as it is before; absent when every row may. The verifier asks. */
  fits?: (before: Cells) => boolean;
}

/** The members of an event that state something about rows. */
type StatingEvent = Pick<AuditEventBody, "operation" | "seq" | "timestamp" | "workspace_id">;

type Stated = (details: JsonObject, event: StatingEvent) => (RowChange | null)[];

/** Returns the changes of an event with the effect `rows`, in their order; null when its details do not have the form. */
export function rowChanges(event: StatingEvent, details: JsonObject): RowChange[] | null {
  const changes = (STATED as Readonly<Record<string, Stated>>)[event.operation]?.(details, event) ?? [null];
  return changes.every((change) => change !== null) ? changes : null;
}

/** Returns the digest of a table's bound columns; null when their salt is not valid. */
export function boundDigest(table: RowTable, contents: Cells): string | null {
  const { salt } = contents;
  if (typeof salt !== "string" || !isSalt(salt)) return null;
  const columns = Object.keys(table.bound?.columns ?? {});
  return saltedDigest(salt, canonicalJson(Object.fromEntries(columns.map((name) => [name, contents[name] ?? null]))));
}

/** What the events of each operation with the effect `rows` state. */
const STATED: { readonly [N in RowsOperation]: Stated } = {
  "workspace.create": ({ owner }, event) => [
    change("workspace", event.workspace_id, "add", { second_factor_since: null, issuer_only: null }),
    ...(owner === null ? [] : [newMember(owner, { role: "owner" }, event)]),
  ],
  "workspace.change": ({ second_factor_since: since }, { workspace_id }) => [
    change("workspace", workspace_id, "set", { second_factor_since: timeOf(since) }),
  ],
  "installation.add_workspace": ({ for_workspace_id: id, name, genesis, account_id: founder }, { seq }) => [
    change("workspaces", id, "add", { name, genesis, founder, added_seq: seq, deleted_seq: null }),
  ],
  "installation.delete_workspace": ({ for_workspace_id: id }, { seq }) => [
    onlyIf(change("workspaces", id, "set", { deleted_seq: seq }), ({ deleted_seq }) => deleted_seq === null),
  ],
  "account.create": (details, event) => {
    const { account_id: id, link_id: link, invitation_id: invitation, identity_id: identity } = details;
    const row = { created_seq: event.seq, link_id: link ?? invitation ?? null };
    const linked = { account_id: id, linked_seq: event.seq, multi_factor: 0 };
    return [
      change("accounts", id, "add", row, details),
      ...(link === null ? [] : [usedLink(link, "setup", details, event)]),
      ...(identity === undefined ? [] : [change("identities", identity, "add", linked, details)]),
    ];
  },
  "account.sign_in": (details, { seq }) => {
    const { account_id, session_id: id, expires_at, second_factor, passkey_id, identity_id, multi_factor } = details;
    const begun = { account_id, created_seq: seq, expires_at: timeOf(expires_at), second_factor };
    return [
      ...ended("sessions", details.sessions_ended, account_id),
      change("sessions", id, "add", begun, details),
      ...(details.account_digest === undefined ? [] : [change("accounts", account_id, "set", {}, details)]),
      ...(passkey_id === undefined ? [] : [ofAccount("passkeys", passkey_id, "set", { used_seq: seq }, details)]),
      ...(identity_id === undefined
        ? []
        : [ofAccount("identities", identity_id, "set", { multi_factor: flagOf(multi_factor) }, details)]),
    ];
  },
  "account.end_sessions": ({ account_id, sessions }) => ended("sessions", sessions, account_id),
  "account.change_password": changedAccount,
  "account.rename": changedAccount,
  "account.reset_password": (details, event) => [
    usedLink(details.link_id, "reset", details, event),
    ...changedAccount(details),
    ...ended("passkeys", details.passkeys_ended, details.account_id),
  ],
  "account.begin_totp": changedAccount,
  "account.confirm_totp": changedAccount,
  "account.disable_totp": changedAccount,
  "account.renew_codes": changedAccount,
  "account.add_passkey": (details, { seq }) => {
    const { account_id, passkey_id: id, host } = details;
    const row = { account_id, host, created_seq: seq, used_seq: null };
    return [change("passkeys", id, "add", row, details), ...changedAccount(details)];
  },
  "account.remove_passkey": (details) => [
    ...ended("passkeys", [details.passkey_id ?? null], details.account_id),
    ...changedAccount(details),
  ],
  "account.link_identity": (details, { seq }) => {
    const { account_id, identity_id: id } = details;
    return [change("identities", id, "add", { account_id, linked_seq: seq, multi_factor: 0 }, details)];
  },
  "account.unlink_identity": (details) => [
    ...ended("identities", [details.identity_id ?? null], details.account_id),
    ...ended("sessions", details.sessions_ended, details.account_id),
  ],
  // The events that made the account's other rows have no details any more.
  "account.erase": ({ account_id: id, operator, links }) => [
    ...(operator === true ? [change("members", id, "remove", {})] : []),
    ...(Array.isArray(links) ? links.map((link) => change("links", link, "remove", {})) : [null]),
  ],
  "account.require_issuer": ({ only }, { workspace_id }) => [
    change("workspace", workspace_id, "set", { issuer_only: flagOf(only) }),
  ],
  "account.link": ({ link_id: id, link_digest: digest, kind, account_id, second_factor_ends, expires_at }, { seq }) => [
    change("links", id, "add", {
      ...{ digest, kind, account_id, second_factor_ends: flagOf(second_factor_ends) },
      ...{ expires_at: timeOf(expires_at), created_seq: seq, ended_seq: null, used_by: null },
    }),
  ],
  "account.unlink": ({ link_id: id }, { seq }) => [
    onlyIf(change("links", id, "set", { ended_seq: seq }), ({ ended_seq }) => ended_seq === null),
  ],
  "member.invite": ({ invitation_id: id, link_digest: digest, role, label, expires_at }, { seq }) => [
    change("invitations", id, "add", {
      ...{ digest, role, label, expires_at: timeOf(expires_at), created_seq: seq, ended_seq: null, used_by: null },
    }),
  ],
  "member.uninvite": ({ invitation_id: id }, event) => [ofInvitation(id, event, {})],
  "member.join": ({ account_id: id, role, invitation_id: invitation, issuer }, event) => [
    ...(invitation === undefined ? [] : [ofInvitation(invitation, event, { role, used_by: id })]),
    newMember(id, { role, issuer }, event),
  ],
  "member.change": ({ account_id: id, role, role_before }, { seq }) => [
    ofMember(id, "set", role_before, { role, role_seq: seq }),
  ],
  "member.remove": ({ account_id: id, role }) => [ofMember(id, "remove", role, {})],
  "workload.begin": (details) => [change("workloads", details.workload_id, "add", {}, details)],
  "key.create": (details, event) => [newKey(details, event)],
  "key.rotate": (details, event) => [
    ofKey(details.replaces, event, { expires_at: timeOf(details.replaced_expires_at), replaced_by: details.key_id }),
    newKey(details, event),
  ],
  "key.change": ({ key_id: id, networks }, event) => [ofKey(id, event, { networks: jsonOf(networks) })],
  "key.revoke": ({ key_id: id }, event) => [ofKey(id, event, { ended_seq: event.seq })],
  "sink.create": (details, { seq }) => {
    const { sink_id: id, type, start } = details;
    return [
      change("sinks", id, "add", { ...sinkCells(details), type, start: jsonOf(start), created_seq: seq }, details),
    ];
  },
  "sink.change": changedSink,
  "sink.rotate": changedSink,
  "sink.remove": ({ sink_id: id }) => [change("sinks", id, "remove", {})],
};

function newKey(details: JsonObject, { seq }: StatingEvent): RowChange | null {
  const { key_id: id, key_digest: digest, label, scope, agents, networks, expires_at } = details;
  return change("keys", id, "add", {
    ...{ digest, label, scope, agents: jsonOf(agents), networks: jsonOf(networks), expires_at: timeOf(expires_at) },
    ...{ created_seq: seq, ended_seq: null, replaced_by: null },
  });
}

/** Returns the change of a key that has not ended. Only a revocation is also of one that has expired. */
function ofKey(id: Member, { timestamp }: StatingEvent, cells: Members): RowChange | null {
  const fits = ({ ended_seq, expires_at, replaced_by }: Cells) =>
    ended_seq === null &&
    ("ended_seq" in cells || expires_at === null || Number(expires_at) > Date.parse(timestamp)) &&
    (!("replaced_by" in cells) || replaced_by === null);
  return onlyIf(change("keys", id, "set", cells), fits);
}

/** Returns the change of an account of which the details state a digest; and the end of sessions, if they state them. */
function changedAccount(details: JsonObject): (RowChange | null)[] {
  const { account_id: id, account_digest, sessions_ended } = details;
  return [
    ...(account_digest === undefined ? [] : [change("accounts", id, "set", {}, details)]),
    ...(sessions_ended === undefined ? [] : ended("sessions", sessions_ended, id)),
  ];
}

/** Returns the removal of rows of an account. */
function ended(table: RowTableName, ids: Member, account: Member): (RowChange | null)[] {
  if (ids === undefined) return [];
  return Array.isArray(ids) ? ids.map((id) => ofAccount(table, id, "remove", {}, { account_id: account })) : [null];
}

/** Returns the change of a row of the account that the details name. */
function ofAccount(
  table: RowTableName,
  id: Member,
  kind: "set" | "remove",
  cells: Members,
  details: Members,
): RowChange | null {
  const changed = change(table, id, kind, cells, kind === "set" ? (details as JsonObject) : {});
  return onlyIf(changed, ({ account_id }) => account_id === details.account_id);
}

/** Returns the use of an open link of a kind. */
function usedLink(id: Member, kind: string, { account_id: by }: JsonObject, event: StatingEvent): RowChange | null {
  const fits = (before: Cells) =>
    before.ended_seq === null &&
    before.kind === kind &&
    (kind === "setup" || before.account_id === by) &&
    Number(before.expires_at) > Date.parse(event.timestamp);
  return onlyIf(change("links", id, "set", { ended_seq: event.seq, used_by: by }), fits);
}

function newMember(id: Member, { role, issuer = null }: Members, { seq }: StatingEvent): RowChange | null {
  return change("members", id, "add", { role, issuer, joined_seq: seq, role_seq: seq });
}

/** Returns the change of a member who has a role. */
function ofMember(id: Member, kind: "set" | "remove", before: Member, cells: Members): RowChange | null {
  return onlyIf(change("members", id, kind, cells), ({ role }) => role === before);
}

/** Returns the end of an open invitation: of one to this role, if somebody joins with it, who must come before it expires. */
function ofInvitation(id: Member, { seq, timestamp }: StatingEvent, { role, used_by }: Members): RowChange | null {
  const isTimely = ({ expires_at }: Cells) => used_by === undefined || Number(expires_at) > Date.parse(timestamp);
  const fits = (before: Cells) =>
    before.ended_seq === null && (role === undefined || before.role === role) && isTimely(before);
  return onlyIf(change("invitations", id, "set", { ended_seq: seq, used_by }), fits);
}

function changedSink(details: JsonObject): (RowChange | null)[] {
  return [change("sinks", details.sink_id, "set", sinkCells(details), details)];
}

const sinkCells = ({ format, filter, include_details, enabled }: JsonObject) => ({
  format,
  filter: jsonOf(filter),
  include_details: flagOf(include_details),
  enabled: flagOf(enabled),
});

/** Returns the change, which is allowed only of a row that fits. */
const onlyIf = (changed: RowChange | null, fits: (before: Cells) => boolean): RowChange | null =>
  changed && { ...changed, fits };

type Member = JsonValue | undefined;

/** Members of details, by name. */
type Members = Readonly<Record<string, Member>>;

/** Returns a boolean as a column has it. */
const flagOf = (flag: Member): Member => (typeof flag === "boolean" ? Number(flag) : flag);

/** Returns a JSON value as a column has it; NULL for null. */
const jsonOf = (value: Member): Member => (value === undefined || value === null ? value : canonicalJson(value));

/** Returns a time, RFC 3339, as a column has it: milliseconds since the Unix epoch. */
const timeOf = (time: Member): Member => (typeof time === "string" ? Date.parse(time) : time);

/**
 * Returns the change of a row, without the columns that the details do not state. Null when the key or a column is not
 * of its type, or when an added row lacks one.
 */
function change(
  table: RowTableName,
  key: Member,
  kind: RowChange["kind"],
  cells: Members,
  details: JsonObject = {},
): RowChange | null {
  const { columns, bound }: RowTable = ROW_TABLES[table];
  const stated = Object.entries(cells).filter(([, value]) => value !== undefined);
  const digest = bound && details[bound.digest];
  const isWhole = Object.keys(columns).every((name) => cells[name] !== undefined) && (!bound || digest !== undefined);
  if (typeof key !== "string" || (kind === "add" && !isWhole)) return null;
  if (!stated.every(([name, value]) => isOfType(value, columns[name] as CellType))) return null;
  if (digest !== undefined && typeof digest !== "string") return null;
  return { table, key, kind, columns: Object.fromEntries(stated) as Cells, ...(digest !== undefined && { digest }) };
}

function isOfType(value: Member, type: CellType): boolean {
  if (value === null) return type.endsWith("?");
  return type.startsWith("text") ? typeof value === "string" : Number.isSafeInteger(value);
}
