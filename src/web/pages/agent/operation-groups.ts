/** Operations in groups, as people ask for them. */
import type { DisplayGroup } from "../../../operation-facts.ts";
import { EVENT_NAMES, eventFacts, namesWithEffect } from "../../../operations.ts";

/** A name for the address, what the reader sees, and the operations; null for all of them. */
export type OperationGroup = readonly [name: string, label: string, operations: readonly string[] | null];

const operationsIn = (...groups: readonly DisplayGroup[]): readonly string[] =>
  EVENT_NAMES.filter((name) => groups.includes(eventFacts(name)?.group as DisplayGroup));

const EVERYTHING: OperationGroup = ["all", "Everything, looking on included", null];
const AUDITS: OperationGroup = ["audits", "Verifications and exports", operationsIn("proofs")];

/** The groups for an agent's trail. The first is shown by default. */
export const AGENT_GROUPS: readonly OperationGroup[] = [
  [
    "",
    "What it did",
    operationsIn("config", "config_reads", "checkpoints", "checkpoint_reads", "data", "data_reads", "suspension"),
  ],
  ["changes", "Changes", operationsIn("config", "checkpoints", "data", "suspension")],
  ["writes", "Writes", namesWithEffect("put")],
  ["reads", "Reads of data", operationsIn("data_reads")],
  ["config", "Configuration", operationsIn("config")],
  ["checkpoints", "Checkpoints", operationsIn("checkpoints")],
  AUDITS,
  EVERYTHING,
];

/** For the trail of the whole workspace. */
export const TRAIL_GROUPS: readonly OperationGroup[] = [
  ["", "All operations", null],
  ["changes", "Changes", operationsIn("config", "checkpoints", "data", "suspension", "keys", "members", "workspace")],
  ["writes", "Writes", namesWithEffect("put")],
  ["reads", "Reads of data", operationsIn("data_reads", "checkpoint_reads", "config_reads")],
  ["administration", "Administration", operationsIn("keys", "members", "workspace", "suspension")],
  ["looking", "Looking on", operationsIn("watching")],
  AUDITS,
];

/** For the log of the installation. */
export const INSTALLATION_GROUPS: readonly OperationGroup[] = [
  ["", "Accounts, sign-ins and operators", operationsIn("accounts", "sign_ins", "members", "workspace")],
  ["sign-ins", "Sign-ins and sessions", operationsIn("sign_ins")],
  ["accounts", "Accounts, passwords, second factors", operationsIn("accounts")],
  ["operators", "Operators", operationsIn("members")],
  AUDITS,
  EVERYTHING,
];

/** For the workspace's own trail. */
export const WORKSPACE_GROUPS: readonly OperationGroup[] = [
  ["", "Administration", operationsIn("workspace", "keys", "members", "config")],
  ["policies", "Policies", operationsIn("config")],
  ["keys", "API keys", operationsIn("keys")],
  ["members", "Members", operationsIn("members")],
  AUDITS,
  EVERYTHING,
];
