/** Operations in groups, as people ask for them. A test holds them against all that the daemon knows. */

const CONFIG = ["config.update", "config.rollback"];
const CONFIG_READS = ["config.read", "config.list_versions", "config.read_version"];
const CHECKPOINTS = ["checkpoint.create", "checkpoint.restore", "checkpoint.delete"];
const CHECKPOINT_READS = ["checkpoint.list", "checkpoint.read"];
const DATA_CHANGES = ["data.write", "data.delete", "data.delete_prefix", "data.erase", "data.expire"];
const DATA_READS = ["data.read", "data.read_full", "data.list", "data.search"];
const SWITCH = ["agent.suspend", "agent.resume"];
/** Looking on from outside, which a dashboard does all the time. */
const LOOKING_ON = [
  "audit.query",
  "audit.read",
  "audit.receipt",
  "audit.stream",
  "audit.activity",
  "agent.list",
  "agent.read",
];
const PROVING = ["audit.verify", "audit.export"];
const KEYS = ["key.create", "key.revoke", "key.rotate"];
const MEMBERS = ["member.invite", "member.uninvite", "member.join", "member.change", "member.remove"];
const WORKSPACE = ["workspace.create", "seal.rotate_key", "audit.prune", "log.restore"];

/** A name for the address, what the reader sees, and the operations; null for all of them. */
export type OperationGroup = readonly [name: string, label: string, operations: readonly string[] | null];

const EVERYTHING: OperationGroup = ["all", "Everything, looking on included", null];

/** For an agent's trail; the first one is shown unless another is asked for. */
export const AGENT_GROUPS: readonly OperationGroup[] = [
  [
    "",
    "What it did",
    [
      ...CONFIG,
      ...CONFIG_READS,
      ...CHECKPOINTS,
      ...CHECKPOINT_READS,
      ...DATA_CHANGES,
      ...DATA_READS,
      ...SWITCH,
    ],
  ],
  ["changes", "Changes", [...CONFIG, ...CHECKPOINTS, ...DATA_CHANGES, ...SWITCH]],
  ["writes", "Writes", ["data.write"]],
  ["reads", "Reads of data", [...DATA_READS, "checkpoint.read"]],
  ["config", "Configuration", CONFIG],
  ["checkpoints", "Checkpoints", CHECKPOINTS],
  ["audits", "Verifications and exports", PROVING],
  EVERYTHING,
];

/** For the workspace's own trail. */
export const WORKSPACE_GROUPS: readonly OperationGroup[] = [
  ["", "Administration", [...WORKSPACE, ...KEYS, ...MEMBERS]],
  ["keys", "API keys", KEYS],
  ["members", "Members", MEMBERS],
  ["audits", "Verifications and exports", PROVING],
  EVERYTHING,
];

/** Every operation that is in some group, or left out of all but everything on purpose. */
export const KNOWN_OPERATIONS: ReadonlySet<string> = new Set([
  ...[...AGENT_GROUPS, ...WORKSPACE_GROUPS].flatMap(([, , operations]) => operations ?? []),
  ...LOOKING_ON,
]);
