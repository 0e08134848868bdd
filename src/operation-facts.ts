/** What a row of the list of operations (`operations.ts`) states, and the words that inputs share. */

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

/** `If-Match` as parsed: `*`, or the strong tags (weak ones never match and are left out). */
export type IfMatch = "*" | readonly string[];

/** Whose audit trail: one agent's, the workspace's own events, or (verify, export) everything. */
export type AuditScope = { agentId: string } | { scope: "workspace" };

/** The formats of `POST /v1/audit/export`. */
export type ExportFormat = "json" | "ndjson" | "csv" | "cloudevents" | "ocsf";

/** An export that was interrupted, and how many of its events the client has. */
export interface ExportResumption {
  /** The export holds the events before this position. */
  beforeSeq: number;
  exportedAt: string;
  received: number;
}

/** The scopes of an API key. */
export type Scope = "full" | "agent" | "auditor";

/**
 * What an operation changes of the stored rows when it is carried out (`log/effects.ts` has what its event says
 * of that). The store applies it, the verifier derives from it what must be stored, the search index what changed.
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
  | "suspend"
  | "resume"
  | "prune";

/** Class and activity in OCSF; `log/export-views.ts` has their numbers. */
export type OcsfActivity =
  | `api.${"read" | "delete"}`
  | `datastore.${"read" | "update" | "query" | "write" | "create" | "delete" | "list"}`
  | `entity.${"create" | "read" | "update" | "delete" | "suspend" | "resume"}`
  | `group.${"add_user" | "remove_user"}`;

/** The group of the dashboard's filters that an operation belongs to. */
export type DisplayGroup =
  | "config"
  | "config_reads"
  | "checkpoints"
  | "checkpoint_reads"
  | "data"
  | "data_reads"
  | "suspension"
  /** Reads of agents and trails, which a dashboard makes all the time; only "everything" shows them. */
  | "watching"
  | "proofs"
  | "keys"
  | "members"
  | "workspace";

/** Facts of everything that is recorded. */
interface Recorded {
  effect: EffectKind | "none";
  /**
   * The members of its details that hold a key, or a prefix of keys. An erasure of that key destroys the
   * details of the event.
   */
  erasedBy: readonly ("key" | "prefix")[];
  ocsf: OcsfActivity;
  group: DisplayGroup;
  /** What its actor did, for the dashboard: "wrote". */
  did: string;
}

/** Facts of everything that a client can ask for. */
interface Requested {
  /** Only its type counts: what the operation takes, after validation. See {@link takes}. */
  input: unknown;
  /** The scopes whose keys may ask for it. */
  scopes: readonly Scope[];
}

/** An operation that a client can ask for, and that is recorded. */
interface RecordedRequest extends Recorded, Requested {
  /**
   * - `plain`: runs on the workspace's thread.
   * - `inquiry`: a reader thread looks first; the workspace's thread records what was found.
   * - `stream`: the workspace's thread records it; a reader thread sends the body.
   */
  kind: "plain" | "inquiry" | "stream";
  /** Whether it is refused while its agent is suspended. */
  suspendable: boolean;
  /**
   * What it makes grow besides the trail. A full disk refuses what makes `entries` or `history` (configs,
   * checkpoints) grow; a full workspace (quotas) only what makes `entries` grow, so that its operator can still
   * configure it.
   */
  grows: "nothing" | "history" | "entries";
  /** What its actor tried to do, when it was refused: "write". */
  tried: string;
}

/** An operation that a client can ask for, and that leaves no trace: monitors repeat it all the time. */
interface UnrecordedRequest extends Requested {
  /**
   * - `inspection`: a reader thread answers it.
   * - `report`: the daemon answers it, without a workspace's thread.
   */
  kind: "inspection" | "report";
  effect: "none";
}

/** An event that is recorded without a request to `/v1`. */
interface RecordedOnly extends Recorded {
  /**
   * - `account`: on behalf of accounts, keys and members; its effect is in the control database.
   * - `upkeep`: by the daemon or the command line.
   */
  kind: "account" | "upkeep";
}

/** Everything that is known of one operation. */
export type Facts = RecordedRequest | UnrecordedRequest | RecordedOnly;

/** The type of an operation's input as a member of its row; there is no value. */
export const takes = <T>(): T => undefined as T;
