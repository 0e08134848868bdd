/** How an account comes to a workspace: it makes one, or joins one. */
import { findAccount } from "../../core/rows/access/accounts.ts";
import { isSetupLink } from "../../core/rows/access/links.ts";
import { authorisedBy, type StoredSession } from "../../core/rows/access/sessions.ts";
import { Problem } from "../../problem.ts";
import { createWorkspace } from "../directory/administration.ts";
import { noteMember } from "../directory/directory.ts";
import { digestOf } from "../directory/secret.ts";
import { workspaceOfSecret } from "../directory/workspace-secret.ts";
import { countFounded, isWorkspace } from "../directory/workspaces.ts";
import { linkNotFound } from "../members/operations.ts";
import { findMembership } from "./memberships.ts";
import { type AccountParts, withoutRow } from "./parts.ts";

/** The most workspaces that an account can make. */
export const FOUNDED_WORKSPACES_MAX = 100;

/** Creates a workspace that the account owns, with its first key. @throws {Problem} `forbidden` */
export async function foundWorkspace(parts: AccountParts, accountId: string, name: string) {
  const { memberships } = parts;
  const { connection } = parts.installation;
  if (parts.signup !== "open" && !(await mayFound(parts, accountId)) && !(await memberships.ownsAny(accountId))) {
    throw new Problem(
      "forbidden",
      "Only accounts that already own a workspace can create one. Ask the operator for a link.",
    );
  }
  const { workspaceId, ...made } = await createWorkspace(parts, accountId, name, () => {
    if (countFounded(connection, accountId) >= FOUNDED_WORKSPACES_MAX) {
      throw new Problem(
        "forbidden",
        `An account can make at most ${FOUNDED_WORKSPACES_MAX} workspaces. Make it with another account.`,
      );
    }
  });
  return { ...made, membership: await findMembership(memberships, accountId, workspaceId) };
}

/**
 * Whether an account was made with a link for an account with its own workspace, and has made none: a sign-up that was cut
 * off is completed so.
 */
async function mayFound({ installation: { connection } }: AccountParts, accountId: string): Promise<boolean> {
  const linkId = (await findAccount(connection, accountId))?.linkId ?? null;
  return linkId !== null && countFounded(connection, accountId) === 0 && (await isSetupLink(connection, linkId));
}

/** Finds the open invitation of a token. @throws {Problem} `link_not_found` */
export async function requireInvitation({ installation, workspaces }: AccountParts, token: string) {
  const workspaceId = workspaceOfSecret("inv_", token);
  if (workspaceId === null || !isWorkspace(installation.connection, workspaceId)) throw linkNotFound();
  const invitation = await workspaces.ask(workspaceId, "invitation.find", { digest: digestOf(token).toHex() });
  if (invitation === null) throw linkNotFound();
  return { workspaceId, ...invitation };
}

/** Joins a workspace with an invitation. @throws {Problem} `link_not_found`, `already_member` */
export async function acceptInvitation(parts: AccountParts, session: StoredSession, token: string) {
  const { accountId } = session;
  const { workspaceId } = await requireInvitation(parts, token);
  await noteMember(parts, accountId, [workspaceId]);
  const input = { accountId, digest: digestOf(token).toHex() };
  const joining = withoutRow(accountId, workspaceId, authorisedBy(session));
  const { auditId } = await parts.workspaces.change(joining, "member.join", input);
  return { workspace: await findMembership(parts.memberships, accountId, workspaceId), auditId };
}
