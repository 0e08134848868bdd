/** What the daemon answers, as the dashboard reads it; the OpenAPI document is the full description. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export type Role = "owner" | "member" | "auditor";
export type Scope = "full" | "agent" | "auditor";

export interface Account {
  id: string;
  email: string;
  name: string | null;
  totp: boolean;
  recovery_codes_left: number;
  created_at: string;
}

export interface Session {
  id: string;
  created_at: string;
  last_seen_at: string;
  expires_at: string;
  address: string | null;
  user_agent: string | null;
  current: boolean;
}

export interface Workspace {
  id: string;
  name: string;
  role: Role;
  created_at: string;
}

/** One workspace with what it holds. */
export interface WorkspaceInfo extends Workspace {
  storage_bytes: number;
  /** Null for no quota. */
  quota_bytes: number | null;
  quota_entries: number | null;
  members: number;
  keys: number;
}

/** Who is signed in, and where to. */
export interface SignedIn {
  account: Account;
  session: Session;
  workspaces: Workspace[];
}

export interface SignUpResult {
  account: Account;
  workspace: Workspace;
  workspace_id: string;
  api_key: string | null;
  key_id: string | null;
}

/** A workspace just made, with its first key, which is shown this once. */
export interface NewWorkspace {
  workspace: Workspace;
  workspace_id: string;
  api_key: string;
  key_id: string;
}

export interface Member {
  account_id: string;
  email: string;
  name: string | null;
  role: Role;
  joined_at: string;
  you: boolean;
}

export interface Invitation {
  id: string;
  role: Role;
  label: string | null;
  created_at: string;
  created_by: string;
  expires_at: string;
}

export interface NewInvitation extends Invitation {
  token: string;
  url: string;
}

export interface LinkInfo {
  kind: "setup" | "invitation" | "reset";
  workspace: { id: string; name: string } | null;
  role: Role | null;
  expires_at: string;
}

export interface ApiKey {
  id: string;
  label: string | null;
  scope: Scope;
  agents: string[] | null;
  state: "in_force" | "expired" | "revoked";
  created_at: string;
  created_by: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  replaced_by: string | null;
}

export interface NewApiKey extends ApiKey {
  api_key: string;
}

export interface Policies {
  block_pii?: boolean;
  block_secrets?: boolean;
  retention_days?: number;
}

export interface Agent {
  agent_id: string;
  state: "active" | "suspended";
  entries: number;
  checkpoints: number;
  events: number;
  config_version: string | null;
  policies: Policies;
  first_activity_at: string;
  last_activity_at: string;
  blocked_24h: number;
  /** The last hour last. */
  blocked_by_hour: number[];
  suspended_at: string | null;
  suspended_by: string | null;
  suspended_reason: string | null;
}

export interface ConfigVersion {
  agent_id: string;
  version: string;
  config: JsonObject;
  created_at: string;
  created_by: string;
  rolled_back_from: string | null;
}

export interface ConfigVersionItem extends Omit<ConfigVersion, "config"> {
  policies: Policies;
}

export interface EntryItem {
  key: string;
  size: number;
  metadata: JsonObject;
  created_at: string;
  updated_at: string;
  value?: string;
}

export interface FullEntry {
  agent_id: string;
  key: string;
  value: string;
  metadata: JsonObject;
  created_at: string;
  updated_at: string;
  audit_id: string;
  config_version: string | null;
  written_by: string;
  expires_at: string | null;
}

export interface Finding {
  policy: string;
  detector: string;
  field: string;
  tier?: number;
  start: number;
  end: number;
}

export type WriteResult =
  | { allowed: true; audit_id: string; message: string }
  | { allowed: false; blocked_by: string; message: string; findings: Finding[] };

export interface SearchResult {
  data: { key: string; value: string; metadata: JsonObject; similarity: number; updated_at: string }[];
  model: string;
}

export interface Checkpoint {
  id: string;
  agent_id: string;
  label: string | null;
  metadata: JsonObject;
  created_at: string;
  created_by: string;
  config_version: string | null;
  entry_count: number;
  audit_seq: number;
}

export interface StateEntry {
  key: string;
  value: string;
  metadata: JsonObject;
  created_at: string;
  updated_at: string;
}

export interface CheckpointWithState extends Checkpoint {
  state: {
    config: { version: string; config: JsonObject; created_at: string; created_by: string } | null;
    entries: StateEntry[];
  };
}

export interface RestoreResult {
  checkpoint_id: string;
  agent_id: string;
  config_version: string | null;
  entries_restored: number;
  entries_removed: number;
  entries_unchanged: number;
  safety_checkpoint_id: string;
  audit_id: string;
}

export type AuditOutcome = "ok" | "allowed" | "blocked" | "not_found" | "conflict" | "denied";

export interface AuditEvent {
  id: string;
  seq: number;
  workspace_id: string;
  agent_id: string | null;
  agent_seq: number;
  operation: string;
  result: AuditOutcome;
  blocked_by: string | null;
  actor: string;
  config_version: string | null;
  timestamp: string;
  details: JsonObject | null;
  details_salt: string | null;
  details_commitment: string;
  previous_hash: string;
  hash: string;
  format: string;
}

export interface EventReference {
  seq: number;
  agent_seq: number;
  id: string;
  hash: string;
  timestamp: string;
}

export interface Verification {
  valid: boolean;
  events_checked: number;
  chain_intact: boolean;
  chain_start: EventReference | null;
  chain_end: EventReference | null;
  first_invalid: { seq: number | null; id: string | null; reason: string } | null;
  verified_at: string;
}

export interface SealingKey {
  origin: string;
  verifier_key: string;
  public_key: string;
  fingerprint: string;
  announced_seq: number;
}

/** A place that seals are taken to, and what it has of this workspace. */
export interface Anchor {
  kind: "command" | "webhook" | "witness";
  name: string | null;
  anchored_at: string | null;
  seal_size: number | null;
  sealed_at: string | null;
  pending_since: string | null;
  failures: number;
}

export interface ActivityInterval {
  start_time: string;
  events: number;
  blocked: number;
  denied: number;
}

export interface Activity {
  interval: "minute" | "hour" | "day";
  start_time: string;
  end_time: string;
  data: ActivityInterval[];
}

/** One page of a list. */
export interface Page<T> {
  data: T[];
  has_more: boolean;
  next_cursor: string | null;
}
