/**
 * Every operation that a client can ask for, and every event that is recorded without one: the one place
 * that describes them. Scopes, the registry, filters, quotas, exports for other systems, the API's document,
 * the dashboard and the verifier read this list. A row that omits a fact does not compile. What each fact means:
 * `operation-facts.ts`. How to add an operation: ARCHITECTURE.md.
 */
import type { JsonObject } from "./json.ts";
import {
  type AuditScope,
  type EffectKind,
  type ExportFormat,
  type ExportResumption,
  type Facts,
  type IfMatch,
  type Page,
  type TimeWindow,
  takes,
} from "./operation-facts.ts";

export const OPERATIONS = {
  "config.read": {
    kind: "plain",
    input: takes<{ agentId: string }>(),
    scopes: ["full", "agent", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.read",
    group: "config_reads",
    did: "read the configuration",
    tried: "read the configuration",
  },
  "config.update": {
    kind: "plain",
    input: takes<{ agentId: string; config: JsonObject; ifMatch?: IfMatch }>(),
    scopes: ["full"],
    suspendable: false,
    grows: "history",
    effect: "add_config",
    erasedBy: [],
    ocsf: "entity.update",
    group: "config",
    did: "saved the configuration",
    tried: "save the configuration",
  },
  "config.list_versions": {
    kind: "plain",
    input: takes<{ agentId: string; page: Page }>(),
    scopes: ["full", "agent", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.read",
    group: "config_reads",
    did: "listed the versions",
    tried: "list the versions",
  },
  "config.read_version": {
    kind: "plain",
    input: takes<{ agentId: string; version: string }>(),
    scopes: ["full", "agent", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.read",
    group: "config_reads",
    did: "read a version",
    tried: "read a version",
  },
  "config.rollback": {
    kind: "plain",
    input: takes<{ agentId: string; version: string; ifMatch?: IfMatch }>(),
    scopes: ["full"],
    suspendable: false,
    grows: "history",
    effect: "add_config",
    erasedBy: [],
    ocsf: "entity.update",
    group: "config",
    did: "rolled back the configuration",
    tried: "roll back the configuration",
  },
  "checkpoint.create": {
    kind: "plain",
    input: takes<{ agentId: string; label: string | null; metadata: JsonObject }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "history",
    effect: "add_checkpoint",
    erasedBy: [],
    ocsf: "datastore.create",
    group: "checkpoints",
    did: "made a checkpoint",
    tried: "make a checkpoint",
  },
  "checkpoint.list": {
    kind: "plain",
    input: takes<{ agentId: string; page: Page }>(),
    scopes: ["full", "agent", "auditor"],
    suspendable: true,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "datastore.list",
    group: "checkpoint_reads",
    did: "listed the checkpoints",
    tried: "list the checkpoints",
  },
  "checkpoint.read": {
    kind: "stream",
    input: takes<{ checkpointId: string }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "datastore.read",
    group: "data_reads",
    did: "looked into a checkpoint",
    tried: "look into a checkpoint",
  },
  "checkpoint.restore": {
    kind: "plain",
    input: takes<{ checkpointId: string; restoreConfig: boolean; restoreData: boolean }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "entries",
    effect: "restore",
    erasedBy: [],
    ocsf: "datastore.update",
    group: "checkpoints",
    did: "restored a checkpoint",
    tried: "restore a checkpoint",
  },
  "checkpoint.delete": {
    kind: "plain",
    input: takes<{ checkpointId: string }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "nothing",
    effect: "remove_checkpoint",
    erasedBy: [],
    ocsf: "datastore.delete",
    group: "checkpoints",
    did: "deleted a checkpoint",
    tried: "delete a checkpoint",
  },
  "data.write": {
    kind: "plain",
    input: takes<{ agentId: string; key: string; value: string; metadata: JsonObject }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "entries",
    effect: "put",
    erasedBy: ["key"],
    ocsf: "datastore.write",
    group: "data",
    did: "wrote",
    tried: "write",
  },
  "data.read": {
    kind: "plain",
    input: takes<{ agentId: string; key: string }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "nothing",
    effect: "none",
    erasedBy: ["key"],
    ocsf: "datastore.read",
    group: "data_reads",
    did: "read",
    tried: "read",
  },
  "data.read_full": {
    kind: "plain",
    input: takes<{ agentId: string; key: string }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "nothing",
    effect: "none",
    erasedBy: ["key"],
    ocsf: "datastore.read",
    group: "data_reads",
    did: "read",
    tried: "read",
  },
  "data.list": {
    kind: "plain",
    input: takes<{ agentId: string; prefix: string; page: Page; includeValues: boolean }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "nothing",
    effect: "none",
    erasedBy: ["prefix"],
    ocsf: "datastore.list",
    group: "data_reads",
    did: "listed keys",
    tried: "list keys",
  },
  "data.search": {
    kind: "inquiry",
    input: takes<{ agentId: string; query: string; limit: number; prefix: string; minSimilarity: number }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "nothing",
    effect: "none",
    erasedBy: ["prefix"],
    ocsf: "datastore.query",
    group: "data_reads",
    did: "searched",
    tried: "search",
  },
  "data.delete": {
    kind: "plain",
    input: takes<{ agentId: string; key: string }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "nothing",
    effect: "end",
    erasedBy: ["key"],
    ocsf: "datastore.delete",
    group: "data",
    did: "deleted",
    tried: "delete",
  },
  "data.delete_prefix": {
    kind: "plain",
    input: takes<{ agentId: string; prefix: string }>(),
    scopes: ["full", "agent"],
    suspendable: true,
    grows: "nothing",
    effect: "end_prefix",
    erasedBy: ["prefix"],
    ocsf: "datastore.delete",
    group: "data",
    did: "deleted below",
    tried: "delete below",
  },
  "data.erase": {
    kind: "plain",
    input: takes<{ agentId: string; key: string } | { agentId: string; prefix: string }>(),
    scopes: ["full"],
    suspendable: true,
    grows: "nothing",
    effect: "erase",
    erasedBy: [],
    ocsf: "datastore.delete",
    group: "data",
    did: "erased",
    tried: "erase",
  },
  "data.expire": {
    kind: "upkeep",
    effect: "expire",
    erasedBy: [],
    ocsf: "datastore.delete",
    group: "data",
    did: "removed expired entries",
  },
  "audit.query": {
    kind: "inquiry",
    input: takes<{
      scope: AuditScope;
      operations?: readonly string[];
      result?: string;
      window: TimeWindow;
      page: Page;
    }>(),
    scopes: ["full", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "api.read",
    group: "watching",
    did: "looked at the audit log",
    tried: "look at the audit log",
  },
  "audit.read": {
    kind: "plain",
    input: takes<{ eventId: string; proof: boolean }>(),
    scopes: ["full", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "api.read",
    group: "watching",
    did: "looked at an event",
    tried: "look at an event",
  },
  "audit.receipt": {
    kind: "plain",
    input: takes<{ eventId: string }>(),
    scopes: ["full", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "api.read",
    group: "watching",
    did: "took a receipt",
    tried: "take a receipt",
  },
  "audit.verify": {
    kind: "inquiry",
    input: takes<{ scope: AuditScope }>(),
    scopes: ["full", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "api.read",
    group: "proofs",
    did: "verified the log",
    tried: "verify the log",
  },
  "audit.export": {
    kind: "stream",
    input: takes<{
      scope: AuditScope;
      format: ExportFormat;
      window: TimeWindow;
      resume?: ExportResumption;
    }>(),
    scopes: ["full", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "api.read",
    group: "proofs",
    did: "exported the log",
    tried: "export the log",
  },
  "audit.stream": {
    kind: "stream",
    input: takes<{ scope: AuditScope; after?: string }>(),
    scopes: ["full", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "api.read",
    group: "watching",
    did: "watched the log",
    tried: "watch the log",
  },
  "audit.activity": {
    kind: "inquiry",
    input: takes<{ scope: AuditScope; window: TimeWindow; interval: "minute" | "hour" | "day" }>(),
    scopes: ["full", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "api.read",
    group: "watching",
    did: "looked at the activity",
    tried: "look at the activity",
  },
  "audit.seal": {
    kind: "inspection",
    input: takes<Record<never, never>>(),
    scopes: ["full", "auditor"],
    effect: "none",
  },
  "audit.key": {
    kind: "inspection",
    input: takes<Record<never, never>>(),
    scopes: ["full", "auditor"],
    effect: "none",
  },
  "audit.consistency": {
    kind: "inspection",
    input: takes<{ from: number; to?: number }>(),
    scopes: ["full", "auditor"],
    effect: "none",
  },
  "audit.anchors": {
    kind: "report",
    input: takes<Record<never, never>>(),
    scopes: ["full", "auditor"],
    effect: "none",
  },
  "audit.prune": {
    kind: "upkeep",
    effect: "prune",
    erasedBy: [],
    ocsf: "api.delete",
    group: "workspace",
    did: "pruned the log",
  },
  "agent.list": {
    kind: "inquiry",
    input: takes<{ prefix: string; page: Page }>(),
    scopes: ["full", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "api.read",
    group: "watching",
    did: "listed the agents",
    tried: "list the agents",
  },
  "agent.read": {
    kind: "inquiry",
    input: takes<{ agentId: string }>(),
    scopes: ["full", "auditor"],
    suspendable: false,
    grows: "nothing",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.read",
    group: "watching",
    did: "looked at the agent",
    tried: "look at the agent",
  },
  "agent.suspend": {
    kind: "plain",
    input: takes<{ agentId: string; reason: string | null }>(),
    scopes: ["full"],
    suspendable: false,
    grows: "nothing",
    effect: "suspend",
    erasedBy: [],
    ocsf: "entity.suspend",
    group: "suspension",
    did: "suspended the agent",
    tried: "suspend the agent",
  },
  "agent.resume": {
    kind: "plain",
    input: takes<{ agentId: string; reason: string | null }>(),
    scopes: ["full"],
    suspendable: false,
    grows: "nothing",
    effect: "resume",
    erasedBy: [],
    ocsf: "entity.resume",
    group: "suspension",
    did: "resumed the agent",
    tried: "resume the agent",
  },
  "workspace.create": {
    kind: "upkeep",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.create",
    group: "workspace",
    did: "made the workspace",
  },
  "seal.rotate_key": {
    kind: "upkeep",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.update",
    group: "workspace",
    did: "changed the sealing key",
  },
  "log.restore": {
    kind: "upkeep",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.update",
    group: "workspace",
    did: "restored the workspace from a backup",
  },
  "key.create": {
    kind: "account",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.create",
    group: "keys",
    did: "made an API key",
  },
  "key.revoke": {
    kind: "account",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.delete",
    group: "keys",
    did: "revoked an API key",
  },
  "key.rotate": {
    kind: "account",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.update",
    group: "keys",
    did: "rotated an API key",
  },
  "member.invite": {
    kind: "account",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.create",
    group: "members",
    did: "invited a member",
  },
  "member.uninvite": {
    kind: "account",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.delete",
    group: "members",
    did: "withdrew an invitation",
  },
  "member.join": {
    kind: "account",
    effect: "none",
    erasedBy: [],
    ocsf: "group.add_user",
    group: "members",
    did: "joined",
  },
  "member.change": {
    kind: "account",
    effect: "none",
    erasedBy: [],
    ocsf: "entity.update",
    group: "members",
    did: "changed a member's role",
  },
  "member.remove": {
    kind: "account",
    effect: "none",
    erasedBy: [],
    ocsf: "group.remove_user",
    group: "members",
    did: "removed a member",
  },
} as const satisfies Record<string, Facts>;

type Rows = typeof OPERATIONS;

/** The rows of some kinds. */
type OfKind<K extends Facts["kind"]> = {
  [N in keyof Rows]: Rows[N]["kind"] extends K ? N : never;
}[keyof Rows];

/** The name of an operation that a client can ask for. */
export type OperationName = OfKind<"plain" | "inquiry" | "stream" | "inspection" | "report">;

/** The input of every operation that a client can ask for, after validation. */
export type OperationInputs = { [N in OperationName]: Rows[N]["input"] };

/** Operations that read first, on a reader thread, and are recorded with what was found. */
export type InquiryName = OfKind<"inquiry">;

/** Operations that leave no trace: they are about the workspace's seals alone. */
export type InspectionName = OfKind<"inspection">;

/** What is asked of the daemon and not of a workspace's thread. It leaves no trace either. */
export type ReportName = OfKind<"report">;

/** Operations that a client can ask for, and that are recorded. */
export type RecordedName = OfKind<"plain" | "inquiry" | "stream">;

/** Events of a workspace itself on behalf of accounts, keys and members. */
export type AccountEventName = OfKind<"account">;

/** Every operation name that an event can have. */
export type EventName = Exclude<keyof Rows, InspectionName | ReportName>;

type RecordedFacts = Extract<Facts, { did: string }>;

const FACTS: Readonly<Record<keyof Rows, Facts>> = OPERATIONS;
const NAMES = Object.keys(FACTS) as (keyof Rows)[];

export const isReport = (name: OperationName): name is ReportName => FACTS[name].kind === "report";

export const isInspection = (name: OperationName): name is InspectionName =>
  FACTS[name].kind === "inspection";

/** Whether an operation is not recorded. */
export const leavesNoTrace = (name: OperationName): name is InspectionName | ReportName =>
  isInspection(name) || isReport(name);

export const isInquiry = (name: OperationName): name is InquiryName => FACTS[name].kind === "inquiry";

/** Whether an operation is refused while its agent is suspended. */
export function isSuspendable(name: OperationName): boolean {
  const facts = FACTS[name];
  return "suspendable" in facts && facts.suspendable;
}

/** What an operation makes grow. */
export function whatGrows(name: OperationName): "nothing" | "history" | "entries" {
  const facts = FACTS[name];
  return "grows" in facts ? facts.grows : "nothing";
}

/** Every operation name that an event can have, in the order of the list. */
export const EVENT_NAMES: readonly EventName[] = NAMES.filter(
  (name): name is EventName => "did" in FACTS[name],
);

const EVENT_FACTS: ReadonlyMap<string, RecordedFacts> = new Map(
  NAMES.flatMap((name) => ("did" in FACTS[name] ? [[name, FACTS[name]]] : [])),
);

/** The facts of a recorded operation; undefined for a name that is not in the list. */
export const eventFacts = (operation: string): RecordedFacts | undefined => EVENT_FACTS.get(operation);

/** The recorded operations that have one of these effects. */
export function namesWithEffect(...effects: readonly EffectKind[]): EventName[] {
  const wanted: ReadonlySet<string> = new Set(effects);
  return EVENT_NAMES.filter((name) => wanted.has(FACTS[name].effect));
}
