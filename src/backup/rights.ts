/**
 * What a restore makes of the rights in its copy. Keys, members and sinks are in the copy, so an older one would give back
 * what was lost since. A restore never does so unasked: it applies the losses that a later log states, ends all keys and
 * memberships, or keeps them. Each loss is an operation of its own, behind the event of the restore.
 */
import { join } from "node:path";
import { keyState, listKeys } from "../core/rows/access/keys.ts";
import { listMembers, listOpenInvitations, secondFactorSince } from "../core/rows/access/members.ts";
import { isSuspended } from "../core/rows/suspension.ts";
import type { WorkspaceWriter } from "../core/writer/perform.ts";
import { Failure } from "../failure.ts";
import { ROLES, type Role } from "../operation-facts.ts";
import { recordIn } from "../ops/directory/journal.ts";
import { isWorkspace } from "../ops/directory/workspaces.ts";
import { type Connection, openConnection } from "../store/connection.ts";
import type { EncryptionKey } from "../store/encryption.ts";
import { applyToAccounts, endSessionsAndLinks } from "./account-losses.ts";
import type { Later } from "./later.ts";
import type { Losses } from "./losses.ts";
import type { ManifestWorkspace } from "./manifest.ts";
import { type Perform, performIn } from "./perform.ts";
import { workspacePath } from "./workspace-copy.ts";

/** What happens to the rights in a copy: `later`: a right ends again if a later log says that it has ended. */
export type Rights = "later" | "ended" | "kept";

/** What a restore is asked to do about rights. */
export interface RightsRequest {
  /** Later files of the workspaces, exports, or the directory that is replaced. */
  later: readonly string[];
  /** What happens to the workspaces that no later log settles; null: the restore is refused. */
  otherwise: Exclude<Rights, "later"> | null;
}

/** What was decided for one workspace. */
export interface Decided {
  rights: Rights;
  later: Later | null;
}

/**
 * Returns what happens to the rights of each workspace, without those that were deleted since, which are not restored.
 * @throws {Failure} `usage` with all that would be given back
 */
export async function decideRights(
  { path, workspaces, encryptionKey }: Copies,
  later: ReadonlyMap<string, Later>,
  otherwise: RightsRequest["otherwise"],
): Promise<Map<string, Decided>> {
  const deleted = new Set(later.values().flatMap(({ losses }) => losses.deleted.keys()));
  const present = workspaces.filter(({ workspace_id: id }) => !deleted.has(id));
  const unsettled = present.filter(({ workspace_id: id }) => !later.has(id));
  if (unsettled.length > 0 && otherwise === null) {
    const lines = await rightsIn({ path, workspaces: unsettled, encryptionKey });
    throw new Failure("usage", `${UNSETTLED}\n${lines.join("\n")}\n${CHOICE}`);
  }
  return new Map(
    present.map(({ workspace_id: id }): [string, Decided] => {
      const log = later.get(id) ?? null;
      return [id, { rights: log === null ? (otherwise as Exclude<Rights, "later">) : "later", later: log }];
    }),
  );
}

const UNSETTLED =
  "The backup would give back rights that may have ended since it was made. Nothing was restored. It holds, in force when it was made:";
const CHOICE =
  "Say what is to happen to them: --later FILE (a later file or export of a workspace, or the directory that is replaced: what ended after the backup ends again), --end-rights (all of these end; `governd account link` is the way back in), or --keep-rights (all are as they were).";

/** The copies of a backup. */
interface Copies {
  path: string;
  workspaces: readonly ManifestWorkspace[];
  encryptionKey: EncryptionKey | null;
}

/** Returns a line for each key that is in force in the copies, and for each member. */
async function rightsIn({ path, workspaces, encryptionKey }: Copies): Promise<string[]> {
  const open = (file: string) => openConnection(join(path, file), { immutable: true, encryptionKey });
  const lines: string[] = [];
  for (const { workspace_id: id } of workspaces) {
    using copy = open(workspacePath(id));
    const keys = (await listKeys(copy)).filter(({ revokedAt }) => revokedAt === null);
    const members = await listMembers(copy);
    lines.push(`  ${id}: ${keys.length + members.length === 0 ? "no keys, no members" : ""}`.trimEnd());
    lines.push(...keys.map(({ id: key, label, scope }) => `    ${key} ${scope}${label === null ? "" : ` (${label})`}`));
    lines.push(...members.map(({ accountId, role }) => `    ${accountId} ${role}`));
  }
  return lines;
}

/**
 * Applies what was decided to the file of a workspace, behind the event of the restore. Invitations end, whatever was
 * decided, and so do memberships of accounts that the backup lacks; in the file of the installation, sessions and links.
 * Returns how many of them.
 * @param accounts the accounts of the backup
 * @throws {Error} when an operation is refused, which would be a defect
 */
export async function applyToFile(
  writer: WorkspaceWriter,
  reader: Connection,
  decided: Decided,
  { nowMs, accounts }: { nowMs: number; accounts: ReadonlySet<string> },
): Promise<{ sessions: number; links: number }> {
  const perform = performIn(writer);
  const invitations = await listOpenInvitations(reader, nowMs);
  for (const { id } of invitations) await perform("member.uninvite", { invitationId: id });
  await applyToMembers(reader, perform, decided, accounts);
  if (decided.rights !== "kept") await applyToKeys(reader, perform, decided, nowMs);
  if (decided.later !== null) {
    await applyOtherLosses(reader, perform, decided.later.losses);
    await applyToAccounts(reader, perform, decided.later.losses);
    await deleteWorkspaces(writer, reader, decided.later.losses);
  }
  const { sessions, links } = await endSessionsAndLinks(reader, perform);
  return { sessions, links: links + invitations.length };
}

async function applyToMembers(
  reader: Connection,
  perform: Perform,
  { rights, later }: Decided,
  accounts: ReadonlySet<string>,
): Promise<void> {
  for (const { accountId, role } of await listMembers(reader)) {
    const left = later === null ? (rights === "ended" ? null : role) : later.losses.members.get(accountId);
    if (left === null || !accounts.has(accountId)) await perform("member.remove", { accountId });
    else if (left !== undefined && isLower(left, role)) await perform("member.change", { accountId, role: left });
  }
}

const isLower = (role: Role, than: Role): boolean => ROLES.indexOf(role) > ROLES.indexOf(than);

async function applyToKeys(reader: Connection, perform: Perform, { later }: Decided, nowMs: number): Promise<void> {
  for (const key of (await listKeys(reader)).filter((one) => keyState(one, nowMs) === "in_force")) {
    const networks = later?.losses.networks.get(key.id);
    if (later === null || later.losses.keys.has(key.id)) await perform("key.revoke", { keyId: key.id });
    else if (networks !== undefined) await perform("key.change", { keyId: key.id, networks });
  }
}

/** Applies what else is lost: sinks, active agents, and access without a second factor. */
async function applyOtherLosses(reader: Connection, perform: Perform, losses: Losses): Promise<void> {
  for (const sinkId of losses.sinksRemoved) {
    if (enabled(reader, sinkId) !== undefined) await perform("sink.remove", { sinkId });
  }
  for (const sinkId of losses.sinksOff) {
    if (enabled(reader, sinkId) === 1) await perform("sink.change", { sinkId, change: { enabled: false } });
  }
  for (const agentId of losses.suspended) {
    const known = reader.get("SELECT 1 FROM agents WHERE agent_id = ?", [agentId]) !== undefined;
    if (!known || reader.value(isSuspended("?1"), [agentId]) === 1) continue;
    await perform("agent.suspend", { agentId, reason: null });
  }
  if (losses.needsSecondFactor && (await secondFactorSince(reader)) === null) {
    await perform("workspace.change", { requiresSecondFactor: true });
  }
}

/** Records in the log of the installation that workspaces were deleted. Their files are removed with the last step of the restore. */
async function deleteWorkspaces(writer: WorkspaceWriter, reader: Connection, { deleted }: Losses): Promise<void> {
  for (const [id, details] of deleted) {
    if (!isWorkspace(reader, id)) continue;
    const event = { operation: "installation.delete_workspace", actor: "cli", details } as const;
    await recordIn(writer, event);
  }
}

const enabled = (reader: Connection, sinkId: string) =>
  reader.value<number>("SELECT enabled FROM sinks WHERE id = ?", [sinkId]);
