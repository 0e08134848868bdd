/** Members and invitations in the files of a data directory, as the routes of `/account` and the commands change them. */
import type { DataDirectory } from "../../src/core/datadir/layout.ts";
import { workspaceFile } from "../../src/core/datadir/layout.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { wholeText } from "../../src/core/long-text.ts";
import { listMembers, listOpenInvitations, secondFactorSince } from "../../src/core/rows/access/members.ts";
import { listStoredSessions } from "../../src/core/rows/access/sessions.ts";
import { SerialQueue } from "../../src/core/serial-queue.ts";
import type { Principal } from "../../src/core/writer/contract.ts";
import { openWorkspaceReader } from "../../src/core/writer/file.ts";
import type { Look } from "../../src/core/writer/operation.ts";
import { systemClock } from "../../src/ids.ts";
import type { Role } from "../../src/operation-facts.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { findMembership, Memberships, principalOf } from "../../src/ops/accounts/memberships.ts";
import { type AccountParts, type Workspaces, withoutRow } from "../../src/ops/accounts/parts.ts";
import { noteMember } from "../../src/ops/directory/directory.ts";
import type { Installation } from "../../src/ops/directory/installation.ts";
import { cliPrincipal, sealNow, withWriter } from "../../src/ops/directory/journal.ts";
import { showKeys } from "../../src/ops/keys/shown.ts";
import { showInvitationOfDigest, showInvitations, showMember, showMembers } from "../../src/ops/members/shown.ts";
import { Problem } from "../../src/problem.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";

const LOOKS: Record<string, unknown> = {
  "key.list": showKeys,
  "member.find": showMember,
  "member.list": showMembers,
  "invitation.list": showInvitations,
  "invitation.find": showInvitationOfDigest,
};

/** Changes of this process, one after another: two writers on one file would wait for each other. */
const changes = new SerialQueue();

/** Returns the workspaces of a directory without a daemon, for the functions about accounts. */
export function fileWorkspaces(directory: DataDirectory): Workspaces {
  return {
    async ask(workspaceId, name, input) {
      using reader = openWorkspaceReader(workspaceFile(directory, workspaceId), workspaceId, directory.encryptionKey);
      const look = LOOKS[name] as Look<OperationName, { body: string }>;
      return JSON.parse((await look(reader, { nowMs: systemClock() } as never, input as never)).body);
    },
    change: (principal, name, input) =>
      changes.run(() =>
        withWriter(directory, sealKeySource(directory, null), principal.workspaceId, async (writer) => {
          const [reply] = await writer.perform([jobOf({ name, input, principal })]);
          await sealNow(writer);
          const answer = reply?.answer;
          if (answer?.kind === "problem") throw new Problem(answer.code, answer.detail);
          if (answer?.kind !== "json") throw new Error("no answer");
          const { audit_id: auditId, ...body } = JSON.parse(wholeText(answer.body));
          return { body, auditId };
        }),
      ),
  };
}

/** What the functions about accounts need of the workspaces of a directory, and of the file of the installation. */
export function membershipParts(
  directory: DataDirectory,
  installation: Installation,
): Pick<AccountParts, "workspaces" | "memberships" | "installation"> & Disposable {
  const workspaces = fileWorkspaces(directory);
  const memberships = new Memberships(installation, {
    clock: systemClock,
    onError(error) {
      throw error;
    },
    find: (workspaceId, accountId) => workspaces.ask(workspaceId, "member.find", { accountId }),
  });
  return {
    ...{ workspaces, memberships, installation },
    [Symbol.dispose]() {
      memberships[Symbol.dispose]();
    },
  };
}

type Parts = Pick<AccountParts, "workspaces" | "memberships" | "installation" | "journal">;

type Of<More = unknown> = { workspaceId: string } & More;

/** Returns the principal of a member as its file has it now, in the session that the account used last. */
async function principalIn(parts: Parts, accountId: string, workspaceId: string): Promise<Principal> {
  const { memberships, installation } = parts;
  // The second factor, too, may have changed: nothing tells this process.
  memberships.forgetAll();
  const [session] = await listStoredSessions(installation.connection, accountId);
  if (session === undefined) throw new Error(`${accountId} has no session`);
  return principalOf(await findMembership(memberships, accountId, workspaceId), session);
}

/** Invites somebody. Returns the token, and the invitation's id. */
export async function invite(
  parts: Parts,
  actor: string,
  { workspaceId, ...input }: Of<OperationInputs["member.invite"]>,
): Promise<{ token: string; id: string; auditId: string | null }> {
  const principal = actor === "cli" ? cliPrincipal(workspaceId) : await principalIn(parts, actor, workspaceId);
  const { body, auditId } = await parts.workspaces.change(principal, "member.invite", input);
  return { token: String(body.token), id: String(body.id), auditId };
}

export const uninvite = async (parts: Parts, actor: string, { workspaceId, ...input }: Of<{ invitationId: string }>) =>
  parts.workspaces.change(await principalIn(parts, actor, workspaceId), "member.uninvite", input);

export const changeRole = async (
  parts: Parts,
  actor: string,
  { workspaceId, ...input }: Of<{ accountId: string; role: Role }>,
) => parts.workspaces.change(await principalIn(parts, actor, workspaceId), "member.change", input);

export async function removeMember(parts: Parts, actor: string, { workspaceId, accountId }: Of<{ accountId: string }>) {
  const principal = actor === accountId ? withoutRow(actor, workspaceId) : await principalIn(parts, actor, workspaceId);
  return await parts.workspaces.change(principal, "member.remove", { accountId });
}

export const requireSecondFactor = async (parts: Parts, actor: string, workspaceId: string, isRequired: boolean) =>
  parts.workspaces.change(await principalIn(parts, actor, workspaceId), "workspace.change", {
    requiresSecondFactor: isRequired,
  });

/** Makes an account an operator, or ends that, as the command line does. */
export async function setOperator(parts: Parts, accountId: string, isOperator: boolean) {
  const { installation, workspaces } = parts;
  const { id: log } = installation;
  if (!isOperator) return await workspaces.change(cliPrincipal(log), "member.remove", { accountId });
  await noteMember(parts, accountId, [log]);
  return await workspaces.change(cliPrincipal(log), "member.join", { accountId, role: "auditor" });
}

/** Returns what a workspace's file says of people: members, open invitations, and since when they need a second factor. */
export async function peopleIn(directory: DataDirectory, workspaceId: string) {
  using reader = openWorkspaceReader(workspaceFile(directory, workspaceId), workspaceId, directory.encryptionKey);
  return {
    members: await listMembers(reader),
    invitations: await listOpenInvitations(reader, systemClock()),
    secondFactorSince: await secondFactorSince(reader),
  };
}
