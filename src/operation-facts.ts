/** The facts in a row of the list of operations (`operations.ts`), and the types that inputs share. */

import type { Actors, AuditResult, DetailsForm } from "./details.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/** Inclusive start and exclusive end, milliseconds since the Unix epoch. */
export interface TimeWindow {
  startMs?: number;
  endMs?: number;
}

/** One page of a list. `after` is a decoded cursor position; it is never sent together with `offset`. */
export interface Page {
  limit: number;
  offset: number;
  after?: string | number;
}

/** A proof of what was stored at a time, ms: under a key, under a prefix, or without either all entries of the agent. */
export interface ProofRequest {
  agentId: string;
  atMs: number;
  key?: string;
  prefix?: string;
  withValues: boolean;
}

/** The order of entries: what they are sorted by and which end comes first; by key, ascending, by default. */
export interface Sorting {
  sort?: "updated_at" | undefined;
  order?: "desc" | undefined;
}

/**
 * A moment of the log, as a request names it: the state right after an event. A time, ms since the Unix epoch, means the
 * last event that is not later; a checkpoint, the event that it sees last.
 */
export type MomentName = { timeMs: number } | { auditId: string } | { checkpointId: string } | { seq: number };

/** A request that may be about an earlier state; about the present one by default. */
export interface AsOf {
  asOf?: MomentName;
}

/** Which end of a list in order of time comes first; the newest by default. */
export interface OldestFirst {
  order?: "asc" | undefined;
}

/**
 * The order of checkpoints: what they are sorted by, the time of their creation by default, and which end comes first.
 */
export interface CheckpointSorting extends OldestFirst {
  sort?: "label" | "entry_count" | undefined;
}

/** How a member of an entry's metadata is compared. */
export type FilterOperator = "$eq" | "$ne" | "$gt" | "$gte" | "$lt" | "$lte" | "$in" | "$exists";

/** One condition on the metadata of an entry. `path`: the names that lead to the member, the outermost first. */
export interface Condition {
  path: readonly string[];
  operator: FilterOperator;
  operand: JsonValue;
}

/** Conditions that all must hold. */
export type Filter = readonly Condition[];

/**
 * A precondition on the version of a resource (RFC 9110 section 13.1): the resource exists or does not exist, or its
 * version is one of these. A resource that expired, was deleted or never existed has no version.
 */
export type VersionCondition = { exists: boolean } | { versions: readonly string[] };

/** Returns the condition that a member `if_version` states: a version, or null for "must not exist". */
export const ifVersion = (version: string | null): VersionCondition =>
  version === null ? { exists: false } : { versions: [version] };

/** Reports whether a condition holds when `current` is the version, null for none. An absent condition always holds. */
export function holds(condition: VersionCondition | undefined, current: string | null): boolean {
  if (condition === undefined) return true;
  if ("exists" in condition) return condition.exists === (current !== null);
  return current !== null && condition.versions.includes(current);
}

/** When an entry expires: at a time, ms since the Unix epoch, or this many ms after it is written. */
export type Expiry = { atMs: number } | { afterMs: number };

/** The lengths of the intervals that events are counted in. */
export const ACTIVITY_INTERVALS = ["minute", "hour", "day"] as const;

export type ActivityInterval = (typeof ACTIVITY_INTERVALS)[number];

/** What is looked for from a write: the versions that led to it, or the writes that followed from it. */
export const LINEAGE_DIRECTIONS = ["causes", "effects"] as const;

export type LineageDirection = (typeof LINEAGE_DIRECTIONS)[number];

/** The scope of an audit trail: one agent's events, the workspace's own events, or (verify, export) all events. */
export type AuditScope = { agentId: string } | { scope: "workspace" };

/** The scope of a query: one chain, or all events of the log. */
export type TrailScope = AuditScope | { scope: "all" };

/** The formats of `POST /v1/audit/export`. */
export const EXPORT_FORMATS = ["json", "ndjson", "csv", "cloudevents", "ocsf"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The formats whose events stand alone: views for other systems and for people, which prove nothing. */
export type ViewFormat = Exclude<ExportFormat, "json" | "ndjson">;

export const isView = (format: ExportFormat): format is ViewFormat => format !== "json" && format !== "ndjson";

/** An export that was interrupted, and how many of its events the client has. */
export interface ExportResumption {
  /** The export holds the events before this position. */
  beforeSeq: number;
  exportedAt: string;
  received: number;
}

/** The scopes of an API key. */
export const SCOPES = ["full", "agent", "auditor"] as const;
export type Scope = (typeof SCOPES)[number];

/** What a member of a workspace may do; docs/accounts.md has each role. The first is the highest. */
export const ROLES = ["owner", "member", "auditor"] as const;
export type Role = (typeof ROLES)[number];

/**
 * How an account becomes a member: with an invitation, by the SHA-256 of its link's token, hex; with a role from the
 * groups at an issuer; or, of the log of the installation, because the operator says so.
 */
export type JoinRequest = { accountId: string } & (
  | { digest: string }
  | { issuer: string; role: Role }
  | { role: "auditor" }
);

/** A second factor as somebody has proved it: the time step of a code, or the SHA-256 of a recovery code, hex. */
export type CodeProof = { step: number } | { code: string };

/** A new account. Digests of recovery codes are hex. `address`: the members of its event's details. */
export interface NewAccount {
  id: string;
  email: string;
  name: string;
  /** PHC string, Argon2id; empty for none. */
  password: string;
  /** What allows it: the SHA-256 of a link's token, hex; an invitation; or an identity at an issuer. */
  way: { link: string } | { invitationId: string } | { issuer: string; subject: string } | null;
  address: JsonObject;
}

/** A passkey as a browser has made it. */
export interface NewPasskey {
  name: string;
  /** The host name under which it works. */
  host: string;
  /** base64url. */
  credentialId: string;
  /** COSE key, base64url. */
  publicKey: string;
  counter: number;
}

/** A session to begin, for somebody who was authenticated. */
export interface SignIn {
  accountId: string;
  /** The stored password with which somebody was authenticated: it must still be the same. */
  password: string;
  proof: CodeProof | { passkeyId: string; before: number; counter: number } | null;
  issuer: { identityId: string; issuer: string; multiFactor: boolean } | null;
  knownDevice: boolean;
  session: {
    /** SHA-256 of its cookie, hex. */
    digest: string;
    lifetimeMs: number;
    address: string;
    userAgent: string;
    /** At the issuer; empty when it named none, null without an issuer. */
    issuerSession: string | null;
  };
  address: JsonObject;
}

/** Sessions of an account: one, all but one (null: all), or those that began at an issuer (null: all of them). */
export type WhichSessions = { id: string } | { allBut: string | null } | { issuer: string; session: string | null };

/** A link that works once. */
export type NewLink = { kind: "setup" } | { kind: "reset"; accountId: string; endsSecondFactor: boolean };

/** A new API key, as it is asked for. */
export interface KeyRequest {
  label: string | null;
  scope: Scope;
  /** The agents that the key is limited to; null means every agent. */
  agents: readonly string[] | null;
  /** The addresses and networks that requests may come from; null means everywhere. */
  networks: readonly string[] | null;
  /** Milliseconds from now, or null for a key that does not expire. */
  expiresInMs: number | null;
}

/**
 * How an operation changes the stored rows. The store applies the effect, the verifier derives from it what must be
 * stored, and the search indexes derive what changed. `log/effects.ts` describes the effect's form in an event.
 */
export type EffectKind =
  | "put"
  | "end"
  | "end_prefix"
  | "expire"
  | "erase"
  | "add_config"
  | "add_checkpoint"
  | "remove_checkpoint"
  | "restore"
  | "set_aside"
  | "release"
  | "suspend"
  | "resume"
  | "prune"
  /** The heads of all workspaces, in the log of the installation. */
  | "heads"
  /** Rows of the tables of `log/row-effects.ts`, which says what the events of each operation state about them. */
  | "rows";

/** Class and activity in OCSF; `log/export-views.ts` has their numbers. */
export type OcsfActivity =
  | `api.${"read" | "delete"}`
  | `datastore.${"read" | "update" | "query" | "write" | "create" | "delete" | "list"}`
  | `entity.${"create" | "read" | "update" | "delete" | "suspend" | "resume" | "other"}`
  | `group.${"add_user" | "remove_user"}`
  | `account.${"create" | "change_password" | "reset_password" | "delete" | "enable_factor" | "disable_factor" | "other"}`
  | `authentication.${"logon" | "logoff"}`;

/** The group of the dashboard's filters that an operation belongs to. */
export type DisplayGroup =
  | "config"
  | "config_reads"
  | "checkpoints"
  | "checkpoint_reads"
  | "data"
  | "data_reads"
  | "suspension"
  /** Reads of agents and trails, which a dashboard makes constantly. Only the filter "everything" shows them. */
  | "watching"
  | "proofs"
  | "keys"
  | "members"
  | "workspace"
  /** What people and the operator do to accounts, in the log of the installation. */
  | "accounts"
  | "sign_ins";

/**
 * What must be there before an operation, so that it can end with `ok`; with `not_found`, it is not there.
 *
 * - `config`: the version in force, which the details name; in the workspace's own chain, of its policies.
 * - `version`: the version that the details name, or from which a new one has its content.
 * - `checkpoint`: the checkpoints that the details name, of the same agent.
 * - `entry`: the present entry under the key, or under the prefix, that the details name, of the same agent.
 */
export type Needs = "nothing" | "config" | "version" | "checkpoint" | "entry";

/** Facts of every recorded operation. */
interface Recorded {
  needs: Needs;
  actors: Actors;
  /** The results that its events can have, and the forms of their details with each, of which they have one. */
  details: Readonly<Partial<Record<AuditResult, DetailsForm | readonly DetailsForm[]>>>;
  effect: EffectKind | "none";
  /**
   * The members of the details that hold a key, or a prefix of keys; `account` when they are about an account. Erasing that
   * key, or that account, destroys the details of the event.
   */
  erasedBy: readonly ("key" | "prefix" | "account")[];
  ocsf: OcsfActivity;
  group: DisplayGroup;
  /** What the actor did, for the dashboard: "wrote". */
  did: string;
}

/** Facts of every operation that a client can request. */
interface Requested {
  /** The type of the operation's input after validation. There is no value; see {@link takes}. */
  input: unknown;
  /** The scopes whose keys may request the operation. */
  scopes: readonly Scope[];
}

/** An operation that a client can request and that is recorded. */
interface RecordedRequest extends Recorded, Requested {
  kind: "plain";
  /**
   * What another thread finds out before the workspace's thread runs the operation:
   * - `never`: nothing.
   * - `always`: what a reader thread reads.
   * - `alone`: the same, on a connection of its own, since it reads one snapshot for a long time.
   * - `wide`: what a reader thread reads, for a list that examines more entries than it shows, and for an earlier state.
   * - `large`: what the screening thread decides about large texts.
   */
  look: "never" | "always" | "alone" | "wide" | "large";
  /** Whether the operation is refused while its agent is suspended. */
  suspendable: boolean;
  /**
   * Whether the operation is something that an agent does, so that its event moves the agent's `last_activity_at`. What
   * others do about an agent is not: they configure and suspend it, read its trail, or try policies on its data.
   */
  activity: boolean;
  /**
   * What the operation makes grow besides the trail. On a full disk, operations that make `entries` or `history`
   * (configs, checkpoints) grow are refused. Operations that make `entries` grow also count against the quota of
   * entries.
   */
  grows: "nothing" | "history" | "entries";
  /**
   * What happens to the operation in a workspace over its quota of bytes, since its event makes the trail grow:
   * - `refused`;
   * - `reserve`: accepted until the reserve above the quota is used up. For operations that prove something, for
   *   configurations, whose retention frees space, for the end of a suspension, and for sinks.
   * - `accepted`: it frees space or stops an agent. When the reserve is used up, it is accepted only if it has an
   *   effect;
   * - `unlimited`: accepted in any case, in the file of the installation, which has no quota.
   */
  overQuota: "refused" | "reserve" | "accepted" | "unlimited";
  /** Set for an operation that sends something to somebody, which cannot be undone, even if it changes no rows. */
  sends?: true;
  /** What the actor tried to do, if the operation was refused: "write". */
  tried: string;
}

/** An operation that a client can request and that is not recorded, since monitors repeat it constantly. */
interface UnrecordedRequest extends Requested {
  /**
   * - `lookup`: the workspace's thread reads a few rows.
   * - `inspection`: what a reader thread finds is the answer.
   * - `report`: the daemon runs it on the main thread.
   */
  kind: "lookup" | "inspection" | "report";
  effect: "none";
}

/**
 * A request for several operations at once, which run in order in one transaction. The request itself is not an event:
 * each of its parts is recorded as its own operation. Scopes, suspension and quotas are those of the parts.
 */
interface CompositeRequest {
  kind: "composite";
  /** The operations that the request can consist of, all of kind `plain`. */
  parts: readonly string[];
  effect: "none";
}

/** An event of the daemon or the command line, which no client requests. */
interface RecordedOnly extends Recorded {
  kind: "upkeep";
  /** What the actor tried to do, for an event that can have the result `denied`. */
  tried?: string;
}

/** All facts of one operation. */
export type Facts = RecordedRequest | UnrecordedRequest | CompositeRequest | RecordedOnly;

/** States the type of an operation's input in its row. Returns no value. */
export const takes = <T>(): T => undefined as T;
