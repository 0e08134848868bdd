/** Events as sentences. */
import type { AuditEvent, JsonObject } from "../api/types.ts";
import { counted } from "./numbers.ts";

const VERBS: Record<string, string> = {
  "config.read": "read the configuration",
  "config.update": "saved the configuration",
  "config.list_versions": "listed the versions",
  "config.read_version": "read a version",
  "config.rollback": "rolled back the configuration",
  "checkpoint.create": "made a checkpoint",
  "checkpoint.list": "listed the checkpoints",
  "checkpoint.read": "looked into a checkpoint",
  "checkpoint.restore": "restored a checkpoint",
  "checkpoint.delete": "deleted a checkpoint",
  "data.write": "wrote",
  "data.read": "read",
  "data.read_full": "read",
  "data.list": "listed keys",
  "data.search": "searched",
  "data.delete": "deleted",
  "data.delete_prefix": "deleted below",
  "data.erase": "erased",
  "data.expire": "removed expired entries",
  "audit.query": "looked at the audit log",
  "audit.read": "looked at an event",
  "audit.verify": "verified the log",
  "audit.export": "exported the log",
  "audit.prune": "pruned the log",
  "audit.stream": "watched the log",
  "audit.activity": "looked at the activity",
  "audit.receipt": "took a receipt",
  "agent.list": "listed the agents",
  "agent.read": "looked at the agent",
  "agent.suspend": "suspended the agent",
  "agent.resume": "resumed the agent",
  "workspace.create": "made the workspace",
  "seal.rotate_key": "changed the sealing key",
  "log.restore": "restored the workspace from a backup",
  "key.create": "made an API key",
  "key.revoke": "revoked an API key",
  "key.rotate": "rotated an API key",
  "member.join": "joined",
  "member.invite": "invited a member",
  "member.uninvite": "withdrew an invitation",
  "member.change": "changed a member's role",
  "member.remove": "removed a member",
};

/** Details that say what an event was about, the first one that is there. */
const SUBJECTS = ["key", "prefix", "label", "version", "name", "role"] as const;

const text = (details: JsonObject | null, name: string): string | null => {
  const value = details?.[name];
  return typeof value === "string" && value !== "" ? value : null;
};

/** What was refused, as far as policies refuse anything. */
const REFUSED: Record<string, string> = {
  "data.write": "tried to write",
  "checkpoint.restore": "tried to restore a checkpoint",
};

/** What the actor did, or tried: "wrote", "tried to write", "tried data.read". */
export function verb({ operation, result }: AuditEvent): string {
  if (result === "blocked" || result === "denied") return REFUSED[operation] ?? `tried ${operation}`;
  return VERBS[operation] ?? operation;
}

/** What it was about; null when the details do not say, or are erased. */
export function subject({ operation, details }: AuditEvent): string | null {
  if (operation === "data.expire" && typeof details?.count === "number") {
    return counted(details.count, "entry", "entries");
  }
  for (const name of SUBJECTS) {
    const found = text(details, name);
    if (found !== null) return found;
  }
  return null;
}
