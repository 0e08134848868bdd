/**
 * Every operation that a client can request, and every event that is recorded without a request. Scopes, the registry,
 * filters, quotas, exports for other systems, the API's document, the dashboard and the verifier read this list. The
 * facts that a family of rows shares are a constant that these rows spread. A row without a fact does not compile.
 * What each fact means: `operation-facts.ts`. How to add an operation: CONTRIBUTING.md.
 */
import {
  AGENT,
  aboutAgent,
  by,
  COUNT,
  either,
  FACTOR,
  FALSE,
  FLAG,
  HASH,
  id,
  inAgent,
  inInstallation,
  inOwn,
  inWorkspace,
  listOf,
  type Members,
  mapOf,
  NULL,
  named,
  nullable,
  OBJECT,
  oneOf,
  only,
  optional,
  optionalRedactable,
  POSITIONS,
  redactable,
  SOME,
  TEXT,
  TIME,
  TRUE,
  version,
  WRITES,
} from "./details.ts";
import type { JsonObject } from "./json.ts";
import {
  ACTIVITY_INTERVALS,
  type ActivityInterval,
  type AsOf,
  type AuditScope,
  type CheckpointSorting,
  type CodeProof,
  type DisplayGroup,
  type EffectKind,
  EXPORT_FORMATS,
  type Expiry,
  type ExportFormat,
  type ExportResumption,
  type Facts,
  type Filter,
  isView,
  type JoinRequest,
  type KeyRequest,
  LINEAGE_DIRECTIONS,
  type LineageDirection,
  type NewAccount,
  type NewLink,
  type NewPasskey,
  type OldestFirst,
  type Page,
  type ProofRequest,
  ROLES,
  type Role,
  SCOPES,
  type Scope,
  type SignIn,
  type Sorting,
  type TimeWindow,
  type TrailScope,
  takes,
  type VersionCondition,
  type WhichSessions,
} from "./operation-facts.ts";
import { SINK_FORMATS, SINK_TYPES, type SinkCredentials, type SinkRequest, type SinkSettings } from "./sink.ts";
import type { TrailFilter } from "./trail-filter.ts";

/** The actors of what clients request. */
const CLIENTS = "kul";

/** What the policies found, and how many matches were exceptions, by detector. */
const FINDINGS = named(
  "findings",
  listOf(
    only({
      policy: TEXT,
      detector: TEXT,
      tier: optional(COUNT),
      field: TEXT,
      start: COUNT,
      end: COUNT,
      mode: oneOf("audit", "redact", "block"),
    }),
  ),
);
const FOUND = { findings: optional(FINDINGS), excepted: optional(mapOf(SOME)) } as const;
const REFUSED = { findings: FINDINGS, excepted: optional(mapOf(SOME)) } as const;

/** The code of the problem that the client got. */
const code = (word: string) => ({ code: oneOf(word) });
const VERSION_CONFLICT = code("version_conflict");
const SUSPENDED = code("agent_suspended");
const OVER_QUOTA = { ...code("quota_exceeded"), quota: oneOf("entries", "bytes"), limit: COUNT, used: COUNT } as const;
/** Set when the request did more before this and nothing of it was done, so that the event is about another state. */
const UNDONE = { undone: optional(TRUE) } as const;

/** The versions that a read returned; see `log/recall.ts`. */
const RETURNED = {
  returned: optional(POSITIONS),
  returned_count: optional(SOME),
  returned_root: optional(HASH),
} as const;
/** The same of a read that may have been of an earlier state. */
const RECALLED = { ...RETURNED, read_seq: optional(COUNT) } as const;

const KEY = { key: redactable(TEXT) } as const;
/** What a proof is about; without either, all entries of the agent. */
const PROVED = { key: optionalRedactable(TEXT), prefix: optionalRedactable(TEXT) } as const;
const CHECKPOINT = { checkpoint_id: id("cp") } as const;
/** An id in a request that names nothing. It may be any text. */
const NO_CHECKPOINT = inOwn({ checkpoint_id: redactable(TEXT) });
const CONFIG_MADE = { version: version("v"), config_digest: HASH } as const;
const RESTORED = {
  ...CHECKPOINT,
  safety_checkpoint_id: id("cp"),
  safety_entry_count: COUNT,
  entries_restored: COUNT,
  entries_removed: COUNT,
  entries_unchanged: COUNT,
  ...FOUND,
} as const;

/** The moment that a read was of, when it was not the present. */
const AS_OF = { as_of: optional(named("moment", only({ seq: COUNT, timestamp: TIME }))) } as const;
/** There is no such moment, or not all of its state is kept. */
export const NO_MOMENT_CODES = ["audit_event_not_found", "checkpoint_not_found", "moment_gone"] as const;
const NO_MOMENT = { code: oneOf(...NO_MOMENT_CODES) } as const;
/** Of a read that found nothing: at the moment that it was of; or with a code, since there is none. */
const NOT_AT = { ...AS_OF, code: optional(NO_MOMENT.code) } as const;

/** The filters of a request for events. `filtered_by`: those whose words are not recorded. */
const FILTERS = {
  agent_ids: optional(listOf(TEXT)),
  operations: optional(listOf(TEXT)),
  result: optional(either(TEXT, listOf(TEXT))),
  actors: optional(listOf(TEXT)),
  sessions: optional(listOf(TEXT)),
  subjects: optional(listOf(TEXT)),
  detectors: optional(listOf(TEXT)),
  modes: optional(listOf(TEXT)),
  policies: optional(listOf(TEXT)),
  filtered_by: optional(listOf(oneOf("actors", "sessions", "subjects", "detectors", "policies", "key", "text"))),
} as const;
const WINDOW = { start_time: optional(TIME), end_time: optional(TIME) } as const;

/** The forms of an operation on the trail of an agent, or of the workspace. */
const onTrail = (members: Members, scopes: readonly string[] = ["workspace"]) => [
  aboutAgent(members),
  inOwn({ scope: oneOf(...scopes), ...members }),
];
/** The forms of an operation on an event: in the chain of that event. */
const beside = (members: Members) => [inAgent(members), inOwn(members)];

const EXPORTED = oneOf(...EXPORT_FORMATS);
const EDGE = nullable(named("edge", only({ seq: COUNT, agent_seq: COUNT, hash: HASH })));

/** The forms of a check by policies, of an agent's text and of nobody's. */
const onText = (members: Members) => [aboutAgent(members), inOwn(members)];
const UNDER = { under: oneOf("agent", "request") } as const;

/** The form of an event about a sink. */
const onSink = (members: Members) => inWorkspace({ sink_id: id("snk"), ...members });
const SINK_SHOWN = { format: oneOf(...SINK_FORMATS), filter: OBJECT, include_details: FLAG, enabled: FLAG } as const;

const KEY_MADE = {
  key_id: id("key"),
  key_digest: HASH,
  label: nullable(TEXT),
  scope: oneOf(...SCOPES),
  agents: nullable(listOf(AGENT)),
  networks: nullable(listOf(TEXT)),
  expires_at: nullable(TIME),
} as const;

const ROLE = oneOf(...ROLES);
const MEMBER = { account_id: id("usr"), role: ROLE, issuer: optional(TEXT) } as const;
const OPERATOR = { account_id: id("usr"), role: oneOf("auditor") } as const;

const OWNER = { account_id: id("usr") } as const;
const OWNER_CHANGED = { ...OWNER, account_digest: HASH } as const;
const SESSIONS = listOf(id("ses"));
const ADDRESS = {
  address: nullable(TEXT),
  address_kind: oneOf("loopback", "private", "public", "many", "unknown"),
} as const;
const TREE_HEAD = { size: COUNT, root: HASH } as const;
/** The members with which a restore begins an epoch of its own (`log/restores.ts`). */
export const NEW_EPOCH = {
  origin: TEXT,
  previous_origin: TEXT,
  signing_key: HASH,
  last_seal: nullable(only(TREE_HEAD)),
  lost_seals: listOf(only({ origin: TEXT, ...TREE_HEAD })),
  lost_through: nullable(COUNT),
} as const;

/** Reads of an agent's configuration. */
const CONFIG_READ = {
  kind: "plain",
  look: "never",
  scopes: ["full", "agent", "auditor"],
  suspendable: false,
  activity: true,
  grows: "nothing",
  effect: "none",
  erasedBy: [],
  ocsf: "entity.read",
  group: "config_reads",
  overQuota: "refused",
} as const;

/** Operations that add a configuration version. */
const CONFIG_CHANGE = {
  kind: "plain",
  look: "never",
  scopes: ["full"],
  suspendable: false,
  activity: false,
  grows: "history",
  effect: "add_config",
  erasedBy: [],
  ocsf: "entity.update",
  group: "config",
  overQuota: "reserve",
} as const;

/** Operations that create, restore or delete a checkpoint. */
const CHECKPOINT_CHANGE = {
  kind: "plain",
  scopes: ["full", "agent"],
  suspendable: true,
  activity: true,
  erasedBy: [],
  group: "checkpoints",
} as const;

/** Reads of an agent's data, in the present or in a checkpoint. */
const DATA_READ = {
  kind: "plain",
  scopes: ["full", "agent"],
  suspendable: true,
  activity: true,
  grows: "nothing",
  effect: "none",
  group: "data_reads",
  overQuota: "refused",
} as const;

/** Operations that change an agent's entries. */
const DATA_CHANGE = { kind: "plain", suspendable: true, activity: true, group: "data" } as const;

/** Reads of the audit trail and of agents as a whole. */
const TRAIL_READ = {
  kind: "plain",
  scopes: ["full", "auditor"],
  suspendable: false,
  activity: false,
  grows: "nothing",
  effect: "none",
  erasedBy: [],
  ocsf: "api.read",
  group: "watching",
  overQuota: "reserve",
} as const;

/** Reads that concern only the workspace's seals, and are not recorded. */
const SEALS_READ = { input: takes<Record<never, never>>(), scopes: ["full", "auditor"], effect: "none" } as const;

/** Operations that suspend or resume an agent. */
const SUSPENSION = {
  kind: "plain",
  look: "large",
  input: takes<{ agentId: string; reason: string | null }>(),
  scopes: ["full"],
  suspendable: false,
  activity: false,
  grows: "nothing",
  erasedBy: [],
  group: "suspension",
  needs: "nothing",
  actors: CLIENTS,
  details: {
    ok: inAgent({ reason: nullable(TEXT), state_before: oneOf("active", "suspended"), ...FOUND }),
    blocked: inAgent(REFUSED),
    not_found: aboutAgent({}),
  },
} as const;

/** What an event of a quarantine states: why, and which versions, each by the position of its write. */
const PLACED = { reason: TEXT, versions: WRITES, ...FOUND } as const;
/** Why there is nothing to set aside. */
const UNPLACEABLE = ["entry_not_found", "version_not_found", "audit_event_not_found", "version_gone"] as const;

/**
 * Which versions are set aside: the present one of a key, one of a key, or the one that an event wrote; and what followed from
 * it in so many steps, null for nothing.
 */
type QuarantineWish = { agentId: string; effects: number | null } & (
  | { key: string; version: string | null }
  | { eventId: string }
);

/** Operations that set versions aside, or release them. */
const PLACEMENT = {
  kind: "plain",
  look: "always",
  scopes: ["full"],
  suspendable: false,
  activity: false,
  grows: "nothing",
  erasedBy: [],
  ocsf: "datastore.update",
  group: "data",
  needs: "nothing",
  actors: CLIENTS,
} as const;

/** Events that the daemon or a command records. */
const UPKEEP = { kind: "upkeep", erasedBy: [] } as const;

/** Changes of rows that state who may do what, and where events go. */
const ROW_CHANGE = {
  kind: "plain",
  look: "never",
  suspendable: false,
  activity: false,
  grows: "nothing",
  overQuota: "reserve",
  effect: "rows",
  erasedBy: [],
} as const;

/** Changes of sinks. */
const SINK_CHANGE = { ...ROW_CHANGE, scopes: ["full"], group: "workspace" } as const;

/** Changes of API keys, which owners and the command line make. A key cannot change keys. */
const KEY_CHANGE = { ...ROW_CHANGE, scopes: [], group: "keys", needs: "nothing", actors: "uc" } as const;

/** Changes of members and invitations, which people and the command line make. */
const MEMBER_CHANGE = { ...ROW_CHANGE, scopes: [], group: "members", needs: "nothing", actors: "uc" } as const;

/** Reads of API keys, members and invitations, which are not recorded. */
const ACCESS_READ = { kind: "lookup", scopes: [], effect: "none" } as const;

/** Reads of sinks, which are not recorded. */
const SINK_READ = { kind: "inspection", scopes: ["full", "auditor"], effect: "none" } as const;

/**
 * Changes of accounts, which people and the command line make. They are in the file of the installation, which has no quota:
 * otherwise nobody could sign in any more.
 */
const ACCOUNT_CHANGE = {
  ...ROW_CHANGE,
  erasedBy: ["account"],
  scopes: [],
  group: "accounts",
  needs: "nothing",
  overQuota: "unlimited",
} as const;

export const OPERATIONS = {
  "config.read": {
    ...CONFIG_READ,
    look: "wide",
    input: takes<{ agentId: string } & AsOf>(),
    did: "read the configuration",
    tried: "read the configuration",
    needs: "config",
    actors: CLIENTS,
    details: {
      ok: inAgent({ version: version("v"), ...AS_OF }),
      not_found: aboutAgent(NOT_AT),
      denied: aboutAgent(OVER_QUOTA),
    },
  },
  "config.update": {
    ...CONFIG_CHANGE,
    input: takes<{ agentId: string; config: JsonObject; condition?: VersionCondition }>(),
    did: "saved the configuration",
    tried: "save the configuration",
    needs: "nothing",
    actors: CLIENTS,
    details: { ok: inAgent(CONFIG_MADE), conflict: aboutAgent(VERSION_CONFLICT) },
  },
  "config.list_versions": {
    ...CONFIG_READ,
    input: takes<{ agentId: string; page: Page } & OldestFirst>(),
    did: "listed the versions",
    tried: "list the versions",
    needs: "nothing",
    actors: CLIENTS,
    details: { ok: aboutAgent({ count: COUNT }), denied: aboutAgent(OVER_QUOTA) },
  },
  "config.read_version": {
    ...CONFIG_READ,
    input: takes<{ agentId: string; version: string }>(),
    did: "read a version",
    tried: "read a version",
    needs: "version",
    actors: CLIENTS,
    details: {
      ok: inAgent({ version: version("v") }),
      not_found: aboutAgent({ version: optional(version("v")) }),
      denied: aboutAgent(OVER_QUOTA),
    },
  },
  "config.read_effective": {
    ...CONFIG_READ,
    look: "wide",
    input: takes<{ agentId: string } & AsOf>(),
    did: "read the policies in force",
    tried: "read the policies in force",
    needs: "nothing",
    actors: CLIENTS,
    details: { ok: aboutAgent(AS_OF), not_found: aboutAgent(NO_MOMENT), denied: aboutAgent(OVER_QUOTA) },
  },
  "config.rollback": {
    ...CONFIG_CHANGE,
    input: takes<{ agentId: string; version: string; condition?: VersionCondition }>(),
    did: "rolled back the configuration",
    tried: "roll back the configuration",
    needs: "version",
    actors: CLIENTS,
    details: {
      ok: inAgent({ ...CONFIG_MADE, rolled_back_from: version("v") }),
      not_found: aboutAgent({ version: optional(version("v")) }),
      conflict: inAgent(VERSION_CONFLICT),
    },
  },
  "checkpoint.create": {
    ...CHECKPOINT_CHANGE,
    look: "large",
    input: takes<{ agentId: string; label: string | null; metadata: JsonObject }>(),
    grows: "history",
    overQuota: "refused",
    effect: "add_checkpoint",
    ocsf: "datastore.create",
    did: "made a checkpoint",
    tried: "make a checkpoint",
    needs: "nothing",
    actors: "kuls",
    details: {
      ok: inAgent({
        ...CHECKPOINT,
        as_of_seq: COUNT,
        entry_count: COUNT,
        label: nullable(TEXT),
        metadata: OBJECT,
        ...FOUND,
      }),
      blocked: inAgent(REFUSED),
      denied: [inAgent(SUSPENDED), aboutAgent(OVER_QUOTA)],
    },
  },
  "checkpoint.list": {
    ...DATA_READ,
    look: "never",
    input: takes<{ agentId: string; page: Page } & CheckpointSorting>(),
    scopes: ["full", "agent", "auditor"],
    erasedBy: [],
    ocsf: "datastore.list",
    group: "checkpoint_reads",
    did: "listed the checkpoints",
    tried: "list the checkpoints",
    needs: "nothing",
    actors: CLIENTS,
    details: { ok: aboutAgent({ count: COUNT }), denied: [inAgent(SUSPENDED), aboutAgent(OVER_QUOTA)] },
  },
  "checkpoint.read": {
    ...DATA_READ,
    look: "always",
    input: takes<{ checkpointId: string; page?: Page }>(),
    erasedBy: [],
    ocsf: "datastore.read",
    did: "looked into a checkpoint",
    tried: "look into a checkpoint",
    needs: "checkpoint",
    actors: CLIENTS,
    details: {
      ok: inAgent({ ...CHECKPOINT, ...RECALLED }),
      not_found: NO_CHECKPOINT,
      denied: [inAgent({ ...CHECKPOINT, ...SUSPENDED }), inAgent({ ...CHECKPOINT, ...OVER_QUOTA }), inOwn(OVER_QUOTA)],
    },
  },
  "checkpoint.compare": {
    ...DATA_READ,
    look: "always",
    input: takes<{ checkpointId: string; to: string | null; page: Page }>(),
    erasedBy: [],
    ocsf: "datastore.read",
    group: "checkpoint_reads",
    did: "compared a checkpoint",
    tried: "compare a checkpoint",
    needs: "checkpoint",
    actors: CLIENTS,
    details: {
      ok: inAgent({ ...CHECKPOINT, to: optional(id("cp")), count: COUNT, ...RECALLED }),
      not_found: NO_CHECKPOINT,
      denied: [inAgent({ ...CHECKPOINT, ...SUSPENDED }), inAgent({ ...CHECKPOINT, ...OVER_QUOTA }), inOwn(OVER_QUOTA)],
    },
  },
  "checkpoint.restore": {
    ...CHECKPOINT_CHANGE,
    look: "large",
    input: takes<{ checkpointId: string; restoreConfig: boolean; restoreData: boolean }>(),
    grows: "entries",
    overQuota: "refused",
    effect: "restore",
    ocsf: "datastore.update",
    did: "restored a checkpoint",
    tried: "restore a checkpoint",
    needs: "checkpoint",
    actors: CLIENTS,
    details: {
      ok: [
        inAgent(RESTORED),
        inAgent({ ...RESTORED, config_version: version("v"), config_digest: HASH, rolled_back_from: version("v") }),
      ],
      not_found: NO_CHECKPOINT,
      blocked: inAgent({ ...CHECKPOINT, ...REFUSED, limit: optional(TEXT) }),
      denied: [inAgent({ ...CHECKPOINT, ...SUSPENDED }), inAgent({ ...CHECKPOINT, ...OVER_QUOTA }), inOwn(OVER_QUOTA)],
    },
  },
  "checkpoint.delete": {
    ...CHECKPOINT_CHANGE,
    look: "never",
    input: takes<{ checkpointId: string }>(),
    grows: "nothing",
    overQuota: "accepted",
    effect: "remove_checkpoint",
    ocsf: "datastore.delete",
    did: "deleted a checkpoint",
    tried: "delete a checkpoint",
    needs: "checkpoint",
    actors: "kuls",
    details: { ok: inAgent(CHECKPOINT), not_found: NO_CHECKPOINT, denied: inAgent({ ...CHECKPOINT, ...SUSPENDED }) },
  },
  "data.write": {
    ...DATA_CHANGE,
    look: "large",
    input: takes<
      { agentId: string; key: string; condition?: VersionCondition } & (
        | { value: string; metadata: JsonObject; expiry?: Expiry }
        /** Writes the content of this version of the key again. */
        | { revertTo: string }
      )
    >(),
    scopes: ["full", "agent"],
    grows: "entries",
    overQuota: "refused",
    effect: "put",
    erasedBy: ["key"],
    ocsf: "datastore.write",
    did: "wrote",
    tried: "write",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      allowed: inAgent({
        key: TEXT,
        value_digest: HASH,
        expires_at: optional(TIME),
        redacted: optional(TRUE),
        reverted_from: optional(id("aud")),
        ...FOUND,
      }),
      not_found: aboutAgent({ ...KEY, code: oneOf("version_not_found", "version_gone") }),
      blocked: inAgent({ key: optional(TEXT), ...REFUSED, limit: optional(TEXT), retry_after_seconds: optional(SOME) }),
      conflict: [
        aboutAgent({ ...KEY, ...VERSION_CONFLICT, ...UNDONE }),
        inAgent({ ...KEY, ...code("version_quarantined") }),
      ],
      denied: [inAgent(SUSPENDED), aboutAgent(OVER_QUOTA)],
    },
  },
  "data.read": {
    ...DATA_READ,
    look: "wide",
    input: takes<{ agentId: string; key: string } & AsOf>(),
    erasedBy: ["key"],
    ocsf: "datastore.read",
    did: "read",
    tried: "read",
    needs: "entry",
    actors: CLIENTS,
    details: {
      ok: inAgent({ ...KEY, ...RECALLED, ...AS_OF }),
      not_found: aboutAgent({ ...KEY, ...UNDONE, ...NOT_AT }),
      denied: [inAgent(SUSPENDED), aboutAgent(OVER_QUOTA)],
    },
  },
  "data.read_full": {
    ...DATA_READ,
    look: "wide",
    input: takes<{ agentId: string; key: string } & AsOf>(),
    erasedBy: ["key"],
    ocsf: "datastore.read",
    did: "read",
    tried: "read",
    needs: "entry",
    actors: CLIENTS,
    details: {
      ok: inAgent({ ...KEY, ...RECALLED, ...AS_OF }),
      not_found: aboutAgent({ ...KEY, ...NOT_AT }),
      denied: [inAgent(SUSPENDED), aboutAgent(OVER_QUOTA)],
    },
  },
  "data.versions": {
    ...DATA_READ,
    look: "always",
    input: takes<{ agentId: string; key: string; page: Page; includeValues: boolean }>(),
    erasedBy: ["key"],
    ocsf: "datastore.list",
    did: "read the history of",
    tried: "read the history of",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: inAgent({ ...KEY, count: COUNT, ...RECALLED }),
      not_found: aboutAgent(KEY),
      denied: [inAgent(SUSPENDED), aboutAgent(OVER_QUOTA)],
    },
  },
  "data.list": {
    ...DATA_READ,
    look: "wide",
    input: takes<
      { agentId: string; prefix: string; page: Page; includeValues: boolean } & Sorting &
        AsOf & {
          /** Whether to count the rows on all pages of the list. */
          count?: true;
          delimiter?: string;
        }
    >(),
    erasedBy: ["prefix"],
    ocsf: "datastore.list",
    did: "listed keys",
    tried: "list keys",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: aboutAgent({ prefix: redactable(TEXT), count: COUNT, ...RECALLED, ...AS_OF }),
      not_found: aboutAgent({ prefix: redactable(TEXT), ...NO_MOMENT }),
      denied: [inAgent(SUSPENDED), aboutAgent(OVER_QUOTA)],
    },
  },
  "data.query": {
    ...DATA_READ,
    look: "always",
    input: takes<
      { agentId: string; prefix: string; filter: Filter; page: Page; includeValues: boolean } & Sorting &
        AsOf & {
          /** Each row comes with the entries whose keys begin with its key and this character. */
          below?: string;
        }
    >(),
    erasedBy: ["prefix"],
    ocsf: "datastore.query",
    did: "queried entries",
    tried: "query entries",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: aboutAgent({
        prefix: redactable(TEXT),
        filter: optionalRedactable(listOf(listOf(TEXT))),
        count: COUNT,
        ...RECALLED,
        ...AS_OF,
      }),
      not_found: aboutAgent({ prefix: redactable(TEXT), ...NO_MOMENT }),
      denied: [inAgent(SUSPENDED), aboutAgent(OVER_QUOTA)],
    },
  },
  "data.search": {
    ...DATA_READ,
    look: "always",
    input: takes<{
      agentId: string;
      query: string;
      limit: number;
      prefix: string;
      minSimilarity: number;
      filter?: Filter;
      /** Whether results with nearly the same text become one. */
      collapse?: true;
    }>(),
    erasedBy: ["prefix"],
    ocsf: "datastore.query",
    did: "searched",
    tried: "search",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: aboutAgent({
        prefix: redactable(TEXT),
        filter: optionalRedactable(listOf(listOf(TEXT))),
        limit: SOME,
        collapse: optional(TRUE),
        count: COUNT,
        ...RECALLED,
      }),
      denied: [inAgent(SUSPENDED), aboutAgent(OVER_QUOTA)],
    },
  },
  "data.delete": {
    ...DATA_CHANGE,
    look: "never",
    input: takes<{ agentId: string; key: string; condition?: VersionCondition }>(),
    scopes: ["full", "agent"],
    grows: "nothing",
    overQuota: "accepted",
    effect: "end",
    erasedBy: ["key"],
    ocsf: "datastore.delete",
    did: "deleted",
    tried: "delete",
    needs: "entry",
    actors: CLIENTS,
    details: {
      ok: inAgent({ key: TEXT }),
      not_found: aboutAgent({ ...KEY, ...UNDONE }),
      conflict: aboutAgent({ ...KEY, ...VERSION_CONFLICT, ...UNDONE }),
      denied: inAgent(SUSPENDED),
    },
  },
  "data.delete_prefix": {
    ...DATA_CHANGE,
    look: "never",
    input: takes<{ agentId: string; prefix: string; confirmedCount?: number }>(),
    scopes: ["full", "agent"],
    grows: "nothing",
    overQuota: "accepted",
    effect: "end_prefix",
    erasedBy: ["prefix"],
    ocsf: "datastore.delete",
    did: "deleted below",
    tried: "delete below",
    needs: "entry",
    actors: CLIENTS,
    details: {
      ok: inAgent({ prefix: TEXT, count: SOME }),
      not_found: aboutAgent({ prefix: redactable(TEXT) }),
      conflict: inAgent({ prefix: TEXT, entries: SOME, ...code("count_mismatch") }),
      denied: inAgent(SUSPENDED),
    },
  },
  "data.erase": {
    ...DATA_CHANGE,
    look: "never",
    input: takes<
      | { agentId: string; key: string; condition?: VersionCondition }
      /** One version of the key that has ended. */
      | { agentId: string; key: string; version: string }
      | { agentId: string; prefix: string }
    >(),
    scopes: ["full"],
    activity: false,
    grows: "nothing",
    overQuota: "accepted",
    effect: "erase",
    erasedBy: [],
    ocsf: "datastore.delete",
    did: "erased",
    tried: "erase",
    needs: "nothing",
    actors: "kulc",
    details: {
      ok: aboutAgent({
        entries: COUNT,
        versions: COUNT,
        events: COUNT,
        erased: listOf(listOf(COUNT)),
        version: optional(named("erased", only({ seq: COUNT, key_of: nullable(COUNT), expires_at: nullable(TIME) }))),
      }),
      not_found: aboutAgent({}),
      conflict: aboutAgent({ code: oneOf("version_conflict", "version_present") }),
      denied: inAgent(SUSPENDED),
    },
  },
  "quarantine.preview": {
    ...DATA_READ,
    scopes: ["full"],
    suspendable: false,
    activity: false,
    look: "always",
    input: takes<QuarantineWish>(),
    erasedBy: [],
    ocsf: "datastore.query",
    did: "looked at what would be set aside",
    tried: "look at what would be set aside",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: inAgent({ count: SOME, include_effects: optional(SOME) }),
      not_found: aboutAgent({ code: oneOf(...UNPLACEABLE) }),
      conflict: inAgent({ code: oneOf("already_quarantined", "not_a_write") }),
      denied: aboutAgent(OVER_QUOTA),
    },
  },
  "quarantine.set": {
    ...PLACEMENT,
    input: takes<QuarantineWish & { reason: string; digest: string }>(),
    overQuota: "accepted",
    effect: "set_aside",
    did: "set aside",
    tried: "set aside",
    details: {
      ok: inAgent({ ...PLACED, include_effects: optional(SOME) }),
      blocked: inAgent(REFUSED),
      not_found: aboutAgent({ code: oneOf(...UNPLACEABLE) }),
      conflict: inAgent({ code: oneOf("already_quarantined", "not_a_write", "preview_changed") }),
    },
  },
  "quarantine.release": {
    ...PLACEMENT,
    input: takes<{ agentId: string | null; reason: string } & ({ version: string } | { quarantine: string })>(),
    overQuota: "reserve",
    effect: "release",
    did: "released from quarantine",
    tried: "release from quarantine",
    details: { ok: inAgent(PLACED), blocked: inAgent(REFUSED), not_found: [aboutAgent({}), inOwn({})] },
  },
  "data.batch": { kind: "composite", parts: ["data.write", "data.read", "data.delete"], effect: "none" },
  "data.expire": {
    ...UPKEEP,
    effect: "expire",
    ocsf: "datastore.delete",
    group: "data",
    did: "removed expired versions",
    needs: "nothing",
    actors: "s",
    details: { ok: inAgent({ count: SOME, through: COUNT }) },
  },
  "policies.read": {
    ...CONFIG_READ,
    scopes: ["full", "auditor"],
    activity: false,
    input: takes<Record<never, never>>(),
    did: "read the workspace's policies",
    tried: "read the workspace's policies",
    needs: "config",
    actors: CLIENTS,
    details: { ok: inOwn({ version: nullable(version("p")) }), denied: inOwn(OVER_QUOTA) },
  },
  "policies.update": {
    ...CONFIG_CHANGE,
    input: takes<{ workspacePolicies: JsonObject; condition?: VersionCondition }>(),
    did: "saved the workspace's policies",
    tried: "save the workspace's policies",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: inWorkspace({ version: version("p"), config_digest: HASH }),
      conflict: inWorkspace(VERSION_CONFLICT),
    },
  },
  "policies.list_versions": {
    ...CONFIG_READ,
    scopes: ["full", "auditor"],
    activity: false,
    input: takes<{ page: Page } & OldestFirst>(),
    did: "listed the versions of the workspace's policies",
    tried: "list the versions of the workspace's policies",
    needs: "nothing",
    actors: CLIENTS,
    details: { ok: inOwn({ count: COUNT }), denied: inOwn(OVER_QUOTA) },
  },
  "policies.read_version": {
    ...CONFIG_READ,
    scopes: ["full", "auditor"],
    activity: false,
    input: takes<{ version: string }>(),
    did: "read a version of the workspace's policies",
    tried: "read a version of the workspace's policies",
    needs: "version",
    actors: CLIENTS,
    details: {
      ok: inOwn({ version: version("p") }),
      not_found: inOwn({ version: optional(version("p")) }),
      denied: inOwn(OVER_QUOTA),
    },
  },
  "policy.check": {
    ...DATA_READ,
    look: "large",
    input: takes<{
      agentId: string | null;
      /** Policies in the form of a config; null for the agent's own. */
      policies: JsonObject | null;
      key: string;
      value: string;
      metadata: JsonObject;
    }>(),
    suspendable: false,
    erasedBy: [],
    ocsf: "datastore.query",
    did: "checked a text",
    tried: "check a text",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: [
        ...onText({ allowed: TRUE, redacted: optional(TRUE), ...FOUND, ...UNDER }),
        ...onText({ allowed: FALSE, blocked_by: TEXT, ...REFUSED, retry_after_seconds: optional(SOME), ...UNDER }),
      ],
      denied: [aboutAgent(OVER_QUOTA), inOwn(OVER_QUOTA)],
    },
  },
  "policy.replay": {
    ...DATA_READ,
    look: "never",
    input: takes<{
      /** Null for the entries of all agents. */
      agentId: string | null;
      /** Policies in the form of a config. */
      policies: JsonObject;
      form: "json" | "ndjson";
    }>(),
    suspendable: false,
    activity: false,
    erasedBy: [],
    ocsf: "datastore.query",
    did: "replayed policies",
    tried: "replay policies",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: onText({ under: oneOf("request"), policies: listOf(TEXT) }),
      denied: [aboutAgent(OVER_QUOTA), inOwn(OVER_QUOTA)],
    },
  },
  "audit.query": {
    ...TRAIL_READ,
    look: "always",
    input: takes<{ scope: TrailScope; window: TimeWindow; page: Page } & OldestFirst & TrailFilter>(),
    did: "looked at the audit log",
    tried: "look at the audit log",
    needs: "nothing",
    actors: "kulc",
    details: { ok: onTrail({ ...WINDOW, ...FILTERS, count: COUNT }, ["workspace", "all"]) },
  },
  "audit.read": {
    ...TRAIL_READ,
    look: "never",
    input: takes<{ eventId: string; proof: boolean }>(),
    did: "looked at an event",
    tried: "look at an event",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: beside({ event_id: id("aud"), proof: optional(TRUE) }),
      not_found: inOwn({ event_id: redactable(TEXT) }),
    },
  },
  "audit.receipt": {
    ...TRAIL_READ,
    look: "never",
    input: takes<{ eventId: string; format?: "tlog-proof" }>(),
    did: "took a receipt",
    tried: "take a receipt",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: beside({ event_id: id("aud"), format: optional(oneOf("tlog-proof")) }),
      not_found: [
        inOwn({ event_id: redactable(TEXT) }),
        ...beside({ event_id: id("aud"), format: optional(oneOf("tlog-proof")) }),
      ],
    },
  },
  "audit.verify": {
    ...TRAIL_READ,
    look: "alone",
    input: takes<{ scope: AuditScope }>(),
    group: "proofs",
    did: "verified the log",
    tried: "verify the log",
    needs: "nothing",
    actors: CLIENTS,
    details: { ok: onTrail({ valid: FLAG, chain_intact: FLAG, events_checked: COUNT }), not_found: aboutAgent({}) },
  },
  "audit.export": {
    ...TRAIL_READ,
    look: "always",
    input: takes<{
      scope: AuditScope;
      format: ExportFormat;
      window: TimeWindow;
      resume?: ExportResumption;
      /** Exports only the matching events; such an export is a view. */
      filter?: TrailFilter;
    }>(),
    group: "proofs",
    did: "exported the log",
    tried: "export the log",
    needs: "nothing",
    actors: "kulc",
    details: {
      ok: [
        ...onTrail({
          format: EXPORTED,
          ...WINDOW,
          event_count: COUNT,
          first: EDGE,
          last: EDGE,
          tree_root: HASH,
          restores: COUNT,
          vocabulary: SOME,
          pruned_before: optional(SOME),
        }),
        ...onTrail({ format: EXPORTED, ...WINDOW, received: COUNT }),
        ...onTrail({ format: oneOf(...EXPORT_FORMATS.filter(isView)), ...WINDOW, ...FILTERS }),
      ],
      not_found: aboutAgent({ format: EXPORTED }),
    },
  },
  "audit.stream": {
    ...TRAIL_READ,
    look: "never",
    input: takes<{ scope: AuditScope; after?: string; filter?: TrailFilter }>(),
    did: "watched the log",
    tried: "watch the log",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: onTrail({ ...FILTERS, after: optional(id("aud")) }),
      not_found: onTrail({ ...FILTERS, after: id("aud") }),
    },
  },
  "audit.activity": {
    ...TRAIL_READ,
    look: "always",
    input: takes<{
      scope: AuditScope;
      window: TimeWindow;
      interval: ActivityInterval;
      /** Counts the policies' findings in the whole workspace instead of all events. */
      byDetector?: true;
    }>(),
    did: "looked at the activity",
    tried: "look at the activity",
    needs: "nothing",
    actors: CLIENTS,
    details: { ok: onTrail({ interval: oneOf(...ACTIVITY_INTERVALS), start_time: TIME, end_time: TIME }) },
  },
  "lineage.read": {
    ...TRAIL_READ,
    look: "always",
    input: takes<{ eventId: string; direction: LineageDirection; depth: number; page: Page }>(),
    did: "looked at the lineage of a version",
    tried: "look at the lineage of a version",
    needs: "nothing",
    actors: CLIENTS,
    details: {
      ok: inAgent({ event_id: id("aud"), direction: oneOf(...LINEAGE_DIRECTIONS), depth: SOME, count: COUNT }),
      not_found: inOwn({ event_id: redactable(TEXT) }),
      conflict: beside({ event_id: id("aud"), ...code("not_a_write") }),
    },
  },
  "audit.seal": { ...SEALS_READ, kind: "inspection" },
  "audit.key": { ...SEALS_READ, kind: "inspection" },
  "audit.consistency": { ...SEALS_READ, kind: "inspection", input: takes<{ from: number; to?: number }>() },
  "audit.anchors": { ...SEALS_READ, kind: "report" },
  "tlog.checkpoint": { ...SEALS_READ, kind: "inspection" },
  "tlog.tile": { ...SEALS_READ, kind: "inspection", input: takes<{ level: number; index: number; width: number }>() },
  "tlog.entries": { ...SEALS_READ, kind: "inspection", input: takes<{ index: number; width: number }>() },
  "state.root": {
    ...UPKEEP,
    effect: "none",
    ocsf: "api.read",
    group: "proofs",
    did: "recorded the root of all entries",
    needs: "nothing",
    actors: "s",
    details: { ok: inWorkspace({ seq: COUNT, root: HASH, count: COUNT }) },
  },
  "state.compute": {
    kind: "inspection",
    scopes: [],
    effect: "none",
    input: takes<{ periodMs: number; unchangedThrough: number }>(),
  },
  "proof.create": {
    ...TRAIL_READ,
    look: "always",
    input: takes<ProofRequest>(),
    erasedBy: ["key", "prefix"],
    ocsf: "datastore.read",
    group: "proofs",
    did: "proved what was stored",
    tried: "prove what was stored",
    needs: "nothing",
    actors: "kulc",
    details: {
      ok: aboutAgent({
        ...PROVED,
        claim: oneOf("held", "absent", "complete"),
        root_seq: COUNT,
        count: COUNT,
        with_values: optional(TRUE),
        ...RECALLED,
      }),
      not_found: aboutAgent({ ...PROVED, ...code("moment_gone") }),
    },
  },
  "sink.list": { ...SINK_READ, input: takes<Record<never, never>>() },
  "sink.read": { ...SINK_READ, input: takes<{ sinkId: string }>() },
  "sink.create": {
    ...SINK_CHANGE,
    grows: "history",
    input: takes<SinkRequest>(),
    ocsf: "entity.create",
    did: "made a sink",
    tried: "make a sink",
    needs: "nothing",
    actors: "kulc",
    details: {
      ok: onSink({
        type: oneOf(...SINK_TYPES),
        receiver: nullable(TEXT),
        ...SINK_SHOWN,
        start: either(COUNT, oneOf("now", "beginning")),
        settings_digest: HASH,
      }),
    },
  },
  "sink.change": {
    ...SINK_CHANGE,
    input: takes<{ sinkId: string; change: Partial<SinkSettings & SinkCredentials> }>(),
    ocsf: "entity.update",
    did: "changed a sink",
    tried: "change a sink",
    needs: "nothing",
    actors: "kulcs",
    details: {
      ok: onSink({
        changed: listOf(TEXT),
        receiver: optional(nullable(TEXT)),
        format: optional(SINK_SHOWN.format),
        filter: optional(SINK_SHOWN.filter),
        include_details: optional(FLAG),
        enabled: optional(FLAG),
        settings_digest: optional(HASH),
      }),
    },
  },
  "sink.rotate": {
    ...SINK_CHANGE,
    input: takes<{ sinkId: string }>(),
    ocsf: "entity.update",
    did: "gave a sink new signing keys",
    tried: "give a sink new signing keys",
    needs: "nothing",
    actors: "kulc",
    details: { ok: onSink({ old_keys_until: TIME, settings_digest: HASH }) },
  },
  "sink.remove": {
    ...SINK_CHANGE,
    overQuota: "accepted",
    input: takes<{ sinkId: string }>(),
    ocsf: "entity.delete",
    did: "removed a sink",
    tried: "remove a sink",
    needs: "nothing",
    actors: "kulc",
    details: { ok: onSink({ position: nullable(COUNT) }) },
  },
  "sink.test": {
    ...SINK_CHANGE,
    look: "always",
    effect: "none",
    sends: true,
    input: takes<{ sinkId: string }>(),
    ocsf: "entity.other",
    did: "tested a sink",
    tried: "test a sink",
    needs: "nothing",
    actors: "kulc",
    details: { ok: onSink({}) },
  },
  "audit.prune": {
    ...UPKEEP,
    effect: "prune",
    ocsf: "api.delete",
    group: "workspace",
    did: "pruned the log",
    needs: "nothing",
    actors: "c",
    details: {
      ok: inOwn({
        before_seq: COUNT,
        before_time: TIME,
        events: COUNT,
        export_digest: HASH,
        kept: only({ events: COUNT, events_digest: HASH, versions: COUNT, checkpoints: COUNT, rows_digest: HASH }),
      }),
    },
  },
  "agent.list": {
    ...TRAIL_READ,
    look: "always",
    input: takes<{ prefix: string; contains?: string; page: Page }>(),
    did: "listed the agents",
    tried: "list the agents",
    needs: "nothing",
    actors: CLIENTS,
    details: { ok: inOwn({ prefix: redactable(TEXT), contains: optionalRedactable(TEXT), count: COUNT }) },
  },
  "agent.read": {
    ...TRAIL_READ,
    look: "always",
    input: takes<{ agentId: string }>(),
    ocsf: "entity.read",
    did: "looked at the agent",
    tried: "look at the agent",
    needs: "nothing",
    actors: CLIENTS,
    details: { ok: inAgent({}), not_found: aboutAgent({}) },
  },
  "agent.suspend": {
    ...SUSPENSION,
    overQuota: "accepted",
    details: { ...SUSPENSION.details, ok: by("kulc", SUSPENSION.details.ok) },
    effect: "suspend",
    ocsf: "entity.suspend",
    did: "suspended the agent",
    tried: "suspend the agent",
  },
  "agent.resume": {
    ...SUSPENSION,
    overQuota: "reserve",
    effect: "resume",
    ocsf: "entity.resume",
    did: "resumed the agent",
    tried: "resume the agent",
  },
  "dashboard.view": {
    ...UPKEEP,
    effect: "none",
    ocsf: "api.read",
    group: "watching",
    did: "looked at",
    needs: "nothing",
    actors: "u",
    details: (() => {
      const looked = inOwn({
        agent_id: optional(TEXT),
        operation: TEXT,
        entry: optional(id("aud")),
        checkpoint_id: optional(TEXT),
        to: optional(id("cp")),
        ...RECALLED,
        ...AS_OF,
      });
      return { ok: looked, not_found: looked };
    })(),
  },
  "workspace.create": {
    ...UPKEEP,
    effect: "rows",
    ocsf: "entity.create",
    group: "workspace",
    did: "made the workspace",
    needs: "nothing",
    actors: "ucs",
    details: {
      ok: inOwn({
        format: oneOf("governd.audit/1"),
        name: TEXT,
        origin: TEXT,
        owner: nullable(id("usr")),
        signing_key: HASH,
        vocabulary: SOME,
        workspace_id: id("ws"),
      }),
    },
  },
  "log.vocabulary": {
    ...UPKEEP,
    effect: "none",
    ocsf: "entity.update",
    group: "workspace",
    did: "raised the number of the log's vocabulary",
    needs: "nothing",
    actors: "s",
    details: { ok: inOwn({ vocabulary: SOME }) },
  },
  "seal.rotate_key": {
    ...UPKEEP,
    effect: "none",
    ocsf: "entity.update",
    group: "workspace",
    did: "changed the sealing key",
    needs: "nothing",
    actors: "c",
    details: { ok: inOwn({ origin: TEXT, signing_key: HASH }) },
  },
  "log.restore": {
    ...UPKEEP,
    effect: "none",
    ocsf: "entity.update",
    group: "workspace",
    did: "restored the workspace from a backup",
    needs: "nothing",
    actors: "c",
    details: {
      ok: inOwn({
        head_seq: COUNT,
        head_hash: HASH,
        backup_created_at: TIME,
        backup_digest: HASH,
        ...NEW_EPOCH,
        rights: oneOf("later", "ended", "kept"),
        later: nullable(only({ seq: COUNT, hash: HASH })),
        workspaces_left_out: optional(listOf(id("ws"))),
      }),
    },
  },
  "workspace.change": {
    ...ROW_CHANGE,
    scopes: [],
    input: takes<{ requiresSecondFactor: boolean }>(),
    ocsf: "entity.update",
    group: "workspace",
    did: "changed who needs a second factor",
    tried: "change who needs a second factor",
    needs: "nothing",
    actors: "uc",
    details: { ok: inWorkspace({ second_factor_since: nullable(TIME) }) },
  },
  "key.list": { ...ACCESS_READ, input: takes<Record<never, never>>() },
  "key.find": { ...ACCESS_READ, input: takes<{ digest: string }>() },
  "key.create": {
    ...KEY_CHANGE,
    grows: "history",
    input: takes<KeyRequest>(),
    ocsf: "entity.create",
    did: "made an API key",
    tried: "make an API key",
    details: { ok: inWorkspace(KEY_MADE) },
  },
  "key.change": {
    ...KEY_CHANGE,
    input: takes<{ keyId: string; networks: readonly string[] | null }>(),
    ocsf: "entity.update",
    did: "changed the networks of an API key",
    tried: "change the networks of an API key",
    details: { ok: inWorkspace({ key_id: id("key"), networks: nullable(listOf(TEXT)) }) },
  },
  "key.revoke": {
    ...KEY_CHANGE,
    overQuota: "accepted",
    input: takes<{ keyId: string }>(),
    ocsf: "entity.delete",
    did: "revoked an API key",
    tried: "revoke an API key",
    details: { ok: inWorkspace({ key_id: id("key") }) },
  },
  "key.rotate": {
    ...KEY_CHANGE,
    input: takes<{ keyId: string; overlapMs: number }>(),
    ocsf: "entity.update",
    did: "rotated an API key",
    tried: "rotate an API key",
    details: { ok: inWorkspace({ ...KEY_MADE, replaces: id("key"), replaced_expires_at: TIME }) },
  },
  "workload.find": { ...ACCESS_READ, input: takes<{ issuer: string; subject: string }>() },
  "workload.begin": {
    ...ROW_CHANGE,
    scopes: [],
    group: "members",
    needs: "nothing",
    actors: "s",
    grows: "history",
    input: takes<{ issuer: string; subject: string }>(),
    ocsf: "entity.create",
    did: "gave a workload its id",
    tried: "give a workload its id",
    details: { ok: inWorkspace({ workload_id: id("wid"), workload_digest: HASH }) },
  },
  "member.find": { ...ACCESS_READ, input: takes<{ accountId: string }>() },
  "member.list": { ...ACCESS_READ, input: takes<Record<never, never>>() },
  "invitation.list": { ...ACCESS_READ, input: takes<Record<never, never>>() },
  "invitation.find": { ...ACCESS_READ, input: takes<{ digest: string }>() },
  "member.invite": {
    ...MEMBER_CHANGE,
    grows: "history",
    input: takes<{ role: Role; label: string | null; expiresInDays: number }>(),
    ocsf: "entity.create",
    did: "invited a member",
    tried: "invite a member",
    details: {
      ok: inWorkspace({
        invitation_id: id("inv"),
        link_digest: HASH,
        role: ROLE,
        label: nullable(TEXT),
        expires_at: TIME,
      }),
    },
  },
  "member.uninvite": {
    ...MEMBER_CHANGE,
    overQuota: "accepted",
    input: takes<{ invitationId: string }>(),
    ocsf: "entity.delete",
    did: "withdrew an invitation",
    tried: "withdraw an invitation",
    details: { ok: inWorkspace({ invitation_id: id("inv") }) },
  },
  "member.join": {
    ...MEMBER_CHANGE,
    input: takes<JoinRequest>(),
    ocsf: "group.add_user",
    did: "joined",
    tried: "join",
    details: {
      ok: [
        by("u", inWorkspace({ account_id: id("usr"), role: ROLE, invitation_id: id("inv") })),
        by("u", inWorkspace({ account_id: id("usr"), role: ROLE, issuer: TEXT })),
        by("c", inInstallation(OPERATOR)),
      ],
    },
  },
  "member.change": {
    ...MEMBER_CHANGE,
    input: takes<{ accountId: string; role: Role; issuer?: string }>(),
    ocsf: "entity.update",
    did: "changed a member's role",
    tried: "change a member's role",
    details: { ok: inWorkspace({ ...MEMBER, role_before: ROLE }) },
  },
  "member.remove": {
    ...MEMBER_CHANGE,
    overQuota: "accepted",
    input: takes<{ accountId: string; issuer?: string }>(),
    ocsf: "group.remove_user",
    did: "removed a member",
    tried: "remove a member",
    details: { ok: [by("uc", inWorkspace(MEMBER)), by("c", inInstallation(OPERATOR))] },
  },
  "account.create": {
    ...ACCOUNT_CHANGE,
    grows: "history",
    input: takes<NewAccount>(),
    actors: "u",
    ocsf: "account.create",
    did: "made an account",
    tried: "make an account",
    details: {
      ok: inInstallation({
        ...OWNER_CHANGED,
        link_id: nullable(id("inv")),
        invitation_id: optional(id("inv")),
        identity_id: optional(id("idn")),
        identity_digest: optional(HASH),
        issuer: optional(TEXT),
        ...ADDRESS,
      }),
    },
  },
  "account.sign_in": {
    ...ACCOUNT_CHANGE,
    group: "sign_ins",
    input: takes<SignIn>(),
    actors: "us",
    ocsf: "authentication.logon",
    did: "signed in",
    tried: "sign in",
    details: {
      ok: by(
        "u",
        inInstallation({
          ...OWNER,
          session_id: id("ses"),
          session_digest: HASH,
          expires_at: TIME,
          second_factor: nullable(FACTOR),
          account_digest: optional(HASH),
          passkey_id: optional(id("pky")),
          credential_digest: optional(HASH),
          issuer: optional(TEXT),
          identity_id: optional(id("idn")),
          multi_factor: optional(FLAG),
          known_device: FLAG,
          sessions_ended: optional(SESSIONS),
          ...ADDRESS,
        }),
      ),
      denied: by(
        "s",
        inInstallation({
          attempts: SOME,
          account_id: nullable(id("usr")),
          accounts: optional(listOf(id("usr"))),
          unknown_account: COUNT,
          reasons: mapOf(SOME),
          since: optional(TIME),
          until: optional(TIME),
          ...ADDRESS,
        }),
      ),
    },
  },
  "account.end_sessions": {
    ...ACCOUNT_CHANGE,
    group: "sign_ins",
    input: takes<{ accountId: string; which: WhichSessions }>(),
    actors: "ucs",
    ocsf: "authentication.logoff",
    did: "ended sessions",
    tried: "end sessions",
    details: {
      ok: [
        by("uc", inInstallation({ ...OWNER, sessions: SESSIONS })),
        by("s", inInstallation({ ...OWNER, sessions: SESSIONS, issuer: TEXT })),
      ],
    },
  },
  "account.change_password": {
    ...ACCOUNT_CHANGE,
    input: takes<{ accountId: string; from: string | null; password: string; keep: string | null }>(),
    actors: "uc",
    ocsf: "account.change_password",
    did: "changed the password",
    tried: "change the password",
    details: { ok: inInstallation({ ...OWNER_CHANGED, sessions_ended: SESSIONS }) },
  },
  "account.rename": {
    ...ACCOUNT_CHANGE,
    input: takes<{ accountId: string; name: string }>(),
    actors: "u",
    ocsf: "account.other",
    did: "changed the name",
    tried: "change the name",
    details: { ok: inInstallation(OWNER_CHANGED) },
  },
  "account.reset_password": {
    ...ACCOUNT_CHANGE,
    input: takes<{ digest: string; password: string; address: JsonObject }>(),
    actors: "u",
    ocsf: "account.reset_password",
    did: "set a password with a link",
    tried: "set a password with a link",
    details: {
      ok: inInstallation({
        ...OWNER_CHANGED,
        link_id: id("inv"),
        second_factor_ended: FLAG,
        passkeys_ended: listOf(id("pky")),
        sessions_ended: SESSIONS,
        ...ADDRESS,
      }),
    },
  },
  "account.begin_totp": {
    ...ACCOUNT_CHANGE,
    input: takes<{ accountId: string; secret: string }>(),
    actors: "u",
    ocsf: "account.other",
    did: "started a second factor",
    tried: "start a second factor",
    details: { ok: inInstallation(OWNER_CHANGED) },
  },
  "account.confirm_totp": {
    ...ACCOUNT_CHANGE,
    input: takes<{ accountId: string; secret: string; step: number; codes: readonly string[] }>(),
    actors: "u",
    ocsf: "account.enable_factor",
    did: "confirmed the second factor",
    tried: "confirm the second factor",
    details: { ok: inInstallation(OWNER_CHANGED) },
  },
  "account.disable_totp": {
    ...ACCOUNT_CHANGE,
    input: takes<{ accountId: string; proof: CodeProof }>(),
    actors: "u",
    ocsf: "account.disable_factor",
    did: "ended the second factor",
    tried: "end the second factor",
    details: { ok: inInstallation(OWNER_CHANGED) },
  },
  "account.add_passkey": {
    ...ACCOUNT_CHANGE,
    input: takes<{ accountId: string; passkey: NewPasskey; codes: readonly string[] }>(),
    actors: "u",
    ocsf: "account.enable_factor",
    did: "added a passkey",
    tried: "add a passkey",
    details: {
      ok: inInstallation({
        ...OWNER,
        passkey_id: id("pky"),
        host: TEXT,
        credential_digest: HASH,
        account_digest: optional(HASH),
      }),
    },
  },
  "account.remove_passkey": {
    ...ACCOUNT_CHANGE,
    input: takes<{ accountId: string; passkeyId: string }>(),
    actors: "uc",
    ocsf: "account.disable_factor",
    did: "removed a passkey",
    tried: "remove a passkey",
    details: { ok: inInstallation({ ...OWNER, passkey_id: id("pky"), account_digest: optional(HASH) }) },
  },
  "account.renew_codes": {
    ...ACCOUNT_CHANGE,
    input: takes<{ accountId: string; proof: CodeProof; codes: readonly string[] }>(),
    actors: "u",
    ocsf: "account.other",
    did: "made new recovery codes",
    tried: "make new recovery codes",
    details: { ok: inInstallation(OWNER_CHANGED) },
  },
  "installation.add_workspace": {
    ...UPKEEP,
    effect: "rows",
    ocsf: "entity.create",
    group: "workspace",
    did: "made a workspace",
    needs: "nothing",
    actors: "uc",
    details: {
      ok: [
        by("u", inInstallation({ ...OWNER, for_workspace_id: id("ws"), name: TEXT, genesis: HASH })),
        by("c", inInstallation({ account_id: NULL, for_workspace_id: id("ws"), name: TEXT, genesis: HASH })),
      ],
    },
  },
  "installation.heads": {
    ...UPKEEP,
    effect: "heads",
    ocsf: "entity.other",
    group: "workspace",
    did: "recorded how far all workspaces have come",
    needs: "nothing",
    actors: "s",
    details: { ok: inInstallation({ count: COUNT, root: HASH }) },
  },
  "installation.delete_workspace": {
    ...UPKEEP,
    effect: "rows",
    ocsf: "entity.delete",
    group: "workspace",
    did: "deleted a workspace",
    needs: "nothing",
    actors: "c",
    details: { ok: inInstallation({ for_workspace_id: id("ws"), size: SOME, head: HASH, seal: TEXT }) },
  },
  "account.link_identity": {
    ...ACCOUNT_CHANGE,
    input: takes<{ accountId: string; issuer: string; subject: string }>(),
    actors: "u",
    ocsf: "account.other",
    did: "linked the account to the issuer",
    tried: "link the account to the issuer",
    details: { ok: inInstallation({ ...OWNER, identity_id: id("idn"), identity_digest: HASH, issuer: TEXT }) },
  },
  "account.unlink_identity": {
    ...ACCOUNT_CHANGE,
    input: takes<{ accountId: string; issuer: string }>(),
    actors: "uc",
    ocsf: "account.other",
    did: "ended the link to the issuer",
    tried: "end the link to the issuer",
    details: { ok: inInstallation({ ...OWNER, identity_id: id("idn"), issuer: TEXT, sessions_ended: SESSIONS }) },
  },
  "account.erase": {
    ...ACCOUNT_CHANGE,
    erasedBy: [],
    input: takes<{ accountId: string; proof: CodeProof | null }>(),
    actors: "uc",
    ocsf: "account.delete",
    did: "erased an account",
    tried: "erase an account",
    details: {
      ok: inInstallation({
        ...OWNER,
        operator: FLAG,
        links: listOf(id("inv")),
        events: COUNT,
        erased: listOf(listOf(COUNT)),
      }),
    },
  },
  "account.require_issuer": {
    ...ACCOUNT_CHANGE,
    erasedBy: [],
    input: takes<{ only: boolean }>(),
    actors: "c",
    ocsf: "entity.update",
    did: "chose whether people sign in by the issuer only",
    tried: "choose whether people sign in by the issuer only",
    details: { ok: inInstallation({ only: FLAG }) },
  },
  "account.link": {
    ...ACCOUNT_CHANGE,
    grows: "history",
    input: takes<NewLink>(),
    actors: "cs",
    ocsf: "entity.create",
    did: "made a link for a person",
    tried: "make a link for a person",
    details: {
      ok: inInstallation({
        link_id: id("inv"),
        link_digest: HASH,
        kind: oneOf("setup", "reset"),
        account_id: nullable(id("usr")),
        second_factor_ends: FLAG,
        expires_at: TIME,
      }),
    },
  },
  "account.unlink": {
    ...ACCOUNT_CHANGE,
    input: takes<{ linkId: string }>(),
    actors: "cs",
    ocsf: "entity.delete",
    did: "ended a link",
    tried: "end a link",
    details: { ok: inInstallation({ link_id: id("inv") }) },
  },
} as const satisfies Record<string, Facts>;

type Rows = typeof OPERATIONS;

/** The rows of some kinds. */
type OfKind<K extends Facts["kind"]> = {
  [N in keyof Rows]: Rows[N]["kind"] extends K ? N : never;
}[keyof Rows];

/** The recorded operations before which another thread looks something up in these cases. */
type Looking<L extends string> = {
  [N in keyof Rows]: Rows[N] extends { look: infer Own } ? (Own extends L ? N : never) : never;
}[keyof Rows];

/** The name of an operation that a client can request. */
export type OperationName = SingleName | CompositeName;

/** Operations that a client can request and that are not composite. */
type SingleName = OfKind<"plain" | "lookup" | "inspection" | "report">;

/** Requests for several operations at once. */
export type CompositeName = OfKind<"composite">;

/** The operations that a composite operation can consist of. */
export type PartOf<C extends CompositeName> = Extract<Rows[C]["parts"][number], OfKind<"plain">>;

/** The request for one of the parts of a composite operation. */
export type PartRequest<N extends SingleName> = { [P in N]: { name: P; input: Rows[P]["input"] } }[N];

/** The input of a composite operation. `atomic`: when one of its parts is refused, none has an effect. */
interface CompositeInput<C extends CompositeName> {
  agentId: string;
  atomic: boolean;
  parts: readonly PartRequest<PartOf<C>>[];
}

/** The input of every operation that a client can request, after validation. */
export type OperationInputs = { [N in SingleName]: Rows[N]["input"] } & { [C in CompositeName]: CompositeInput<C> };

/** Operations that are always looked up on a reader thread, and recorded with what was found. */
export type InquiryName = Looking<"always" | "alone">;

/** Operations whose events state rows: `log/row-effects.ts` has what they state. */
export type RowsOperation = {
  [N in EventName]: Rows[N]["effect"] extends "rows" ? N : never;
}[EventName];

/** Operations that are never looked up before they are run. */
export type DirectName = Looking<"never">;

/** Operations on the workspace's thread that are not recorded: who may do what, for the daemon itself. */
export type LookupName = OfKind<"lookup">;

/** Operations on a reader thread that are not recorded. They concern only the workspace's seals. */
export type InspectionName = OfKind<"inspection">;

/** Operations that the main thread runs and that are not recorded. */
type ReportName = OfKind<"report">;

/** Operations that a client can request and that are recorded. */
export type RecordedName = OfKind<"plain">;

/** Every operation name that an event can have. */
export type EventName = Exclude<keyof Rows, LookupName | InspectionName | ReportName | CompositeName>;

type RecordedFacts = Extract<Facts, { did: string }>;

const FACTS: Readonly<Record<keyof Rows, Facts>> = OPERATIONS;
const NAMES = Object.keys(FACTS) as (keyof Rows)[];

export const isReport = (name: OperationName): name is ReportName => FACTS[name].kind === "report";

export const isLookup = (name: OperationName): name is LookupName => FACTS[name].kind === "lookup";

export const isInspection = (name: OperationName): name is InspectionName => FACTS[name].kind === "inspection";

/** Whether an operation is not recorded. */
export const leavesNoTrace = (name: OperationName): name is LookupName | InspectionName | ReportName =>
  isLookup(name) || isInspection(name) || isReport(name);

/** Reports whether a reader thread looks something up before the operation is run, or instead. */
export function looksFirst(name: OperationName, input: OperationInputs[OperationName]): boolean {
  const facts = FACTS[name];
  if (!("look" in facts)) return facts.kind === "inspection";
  return facts.look === "always" || facts.look === "alone" || (facts.look === "wide" && isWide(input));
}

/** Whether the lookup of an operation needs a connection of its own. */
export function looksAlone(name: OperationName): boolean {
  const facts = FACTS[name];
  return "look" in facts && facts.look === "alone";
}

/** Whether a list examines more entries than it shows, or a read is of an earlier state. */
const isWide = (input: OperationInputs[OperationName]): boolean =>
  "sort" in input || "delimiter" in input || "count" in input || "asOf" in input;

export const isComposite = (name: OperationName): name is CompositeName => FACTS[name].kind === "composite";

/**
 * Returns the operations that a request is recorded as: the parts of a composite operation, or the operation itself.
 */
export function partsOf(name: OperationName): readonly OperationName[] {
  const facts = FACTS[name];
  return facts.kind === "composite" ? (facts.parts as readonly OperationName[]) : [name];
}

/** Returns the scopes whose keys may request an operation, with all of its parts. */
export function scopesOf(name: OperationName): readonly Scope[] {
  const facts = FACTS[name];
  if (facts.kind !== "composite") return "scopes" in facts ? facts.scopes : [];
  return SCOPES.filter((scope) => partsOf(name).every((part) => scopesOf(part).includes(scope)));
}

/** Whether an operation is refused while its agent is suspended. */
export function isSuspendable(name: OperationName): boolean {
  const facts = FACTS[name];
  return "suspendable" in facts && facts.suspendable;
}

/** Whether an operation changes more than the audit trail, or sends something to somebody. */
export const changesSomething = (name: OperationName): boolean =>
  partsOf(name).some((part) => FACTS[part].effect !== "none" || "sends" in FACTS[part]);

/** Returns what an operation makes grow. */
export function whatGrows(name: OperationName): "nothing" | "history" | "entries" {
  const facts = FACTS[name];
  return "grows" in facts ? facts.grows : "nothing";
}

/**
 * Returns what happens to an operation in a workspace over its quota of bytes; null when the operation adds nothing, or no quota
 * limits it.
 */
export function whenOverQuota(name: OperationName): "refused" | "reserve" | "accepted" | null {
  const facts = FACTS[name];
  return "overQuota" in facts && facts.overQuota !== "unlimited" ? facts.overQuota : null;
}

/** Every operation name that an event can have, in the order of the list. */
export const EVENT_NAMES: readonly EventName[] = NAMES.filter((name): name is EventName => "did" in FACTS[name]);

const EVENT_FACTS: ReadonlyMap<string, RecordedFacts> = new Map(
  NAMES.flatMap((name) => ("did" in FACTS[name] ? [[name, FACTS[name]]] : [])),
);

/** Returns the facts of a recorded operation; undefined for a name that is not in the list. */
export const eventFacts = (operation: string): RecordedFacts | undefined => EVENT_FACTS.get(operation);

/** Reports whether an event is something that its agent does. */
export function isActivity(operation: string): boolean {
  const facts = eventFacts(operation);
  return facts !== undefined && "activity" in facts && facts.activity;
}

/** The event that records what a person only viewed. */
export const VIEW = "dashboard.view" satisfies EventName;

/** The event that records the root over all entries of a workspace. */
export const STATE_ROOT = "state.root" satisfies EventName;

/** The event that records the heads of all workspaces. */
export const INSTALLATION_HEADS = "installation.heads" satisfies EventName;

/**
 * What the making of a workspace, or of the log of the installation, records, each at most once: a rotation of the sealing key
 * may end meanwhile.
 */
export const MAKING: readonly string[] = [
  "workspace.create",
  "key.create",
  INSTALLATION_HEADS,
  "seal.rotate_key",
] satisfies EventName[];

/** Groups whose operations only show something. */
const SHOWING: readonly DisplayGroup[] = ["config_reads", "checkpoint_reads", "data_reads", "watching"];

/** Operations of these groups that are acts of their own: trying policies, taking a receipt, following the log. */
const ACTS: readonly string[] = ["policy.check", "policy.replay", "audit.receipt", "audit.stream"];

/** Reports whether a person who requests this operation only views something. */
export const isLooking = (name: EventName): boolean =>
  SHOWING.includes(eventFacts(name)?.group as DisplayGroup) && !ACTS.includes(name);

/** Whether an erasure can destroy the details of events of an operation. */
export const isErasable = (operation: string): boolean => (eventFacts(operation)?.erasedBy.length ?? 0) > 0;

/** The operations whose events name, in `erased`, the events whose details they destroyed. */
export const ERASING = EVENT_NAMES.filter((name) =>
  [eventFacts(name)?.details.ok ?? []].flat().some(({ members }) => "erased" in members),
);

/** Returns the recorded operations that have one of these effects. */
export function namesWithEffect(...effects: readonly EffectKind[]): EventName[] {
  const wanted: ReadonlySet<string> = new Set(effects);
  return EVENT_NAMES.filter((name) => wanted.has(FACTS[name].effect));
}
