/** Creates accounts: with a link, or without one where the setting `signup` allows it. */
import type { Connection } from "../../store/connection.ts";
import { Refused } from "../refused.ts";
import { digestOf } from "../secret.ts";
import { findWorkspace, nameProblem } from "../workspaces.ts";
import {
  type AccountRecord,
  findAccountByEmail,
  hasAccounts,
  insertAccount,
  normaliseEmail,
} from "./accounts.ts";
import { findUsableLink, type LinkRecord, takeLink } from "./links.ts";
import { insertMember, type Membership, type Role } from "./members.ts";
import { type AccountParts, administrationOf, type Origin } from "./parts.ts";
import { type BegunSession, beginSession } from "./session-keeper.ts";

export interface SignUpWish {
  email: string;
  password: string;
  name: string | null;
  workspaceName: string | null;
  token: string | null;
}

/** A new, signed-in account with the workspace that it owns or joined. */
export interface SignedUp {
  account: AccountRecord;
  begun: BegunSession;
  workspace: Membership;
  /** The first key of a new workspace. */
  key: { id: string; apiKey: string } | null;
  auditId: string;
}

export const linkNotFound = () =>
  new Refused(
    "link_not_found",
    "The link was used, has expired or was replaced. Ask for a new one. The operator creates links with: governd account link",
    { param: "token" },
  );

const emailTaken = () =>
  new Refused(
    "email_taken",
    "There is already an account with this mail address. Sign in with it; you can then accept an invitation.",
    { param: "email" },
  );

/** @throws {Refused} `sign_up_closed`, `link_not_found`, `email_taken`, `rate_limited`, `unavailable` */
export async function signUp(parts: AccountParts, wish: SignUpWish, origin: Origin): Promise<SignedUp> {
  const { control, clock, ids, passwords } = parts;
  const link = admit(parts, wish.token, origin);
  const email = normaliseEmail(wish.email);
  // Counts as an attempt until it succeeds, which limits how fast addresses can be probed.
  const attempt = parts.attempts.link(origin.address);
  if (findAccountByEmail(control.connection, email) !== undefined) throw emailTaken();
  using _ = claim(parts.signingUp, email, link);
  const account: AccountRecord = {
    id: ids.next("usr"),
    email,
    name: wish.name ?? (email.split("@")[0] as string),
    password: await passwords.hash(wish.password),
    totpSecret: null,
    totpSince: null,
    totpStep: 0,
    createdAt: clock(),
  };
  const signedUp =
    link?.kind === "invitation"
      ? await joinWith(parts, account, link, origin)
      : await foundWith(parts, account, link, wish.workspaceName, origin);
  attempt.succeeded();
  return signedUp;
}

/** Keeps a concurrent sign-up with the same link or address from creating a workspace that would then be unused. */
function claim(signingUp: Set<string>, email: string, link: LinkRecord | null): Disposable {
  if (signingUp.has(email)) throw emailTaken();
  if (link !== null && signingUp.has(link.id)) throw linkNotFound();
  const names = link === null ? [email] : [email, link.id];
  for (const name of names) signingUp.add(name);
  return {
    [Symbol.dispose]() {
      for (const name of names) signingUp.delete(name);
    },
  };
}

/** Returns the link of a sign-up, or null when it needs none. */
function admit({ control, clock, attempts, signup }: AccountParts, token: string | null, origin: Origin) {
  if (token === null) {
    if (signup === "open" && hasAccounts(control.connection)) {
      attempts.openSignUp(origin.address);
      return null;
    }
    throw closed(
      "You need an invitation to create an account. Ask an owner of a workspace, or the operator, for a link.",
    );
  }
  const link = findUsableLink(control.connection, digestOf(token), clock());
  if (link === undefined || link.kind === "reset") {
    // It counts as an attempt, although a token cannot be guessed.
    attempts.link(origin.address);
    throw linkNotFound();
  }
  if (signup === "closed" && link.createdBy.startsWith("usr_")) {
    throw closed("Sign-up is closed. Ask the operator for a link.");
  }
  return link;
}

const closed = (detail: string) => new Refused("sign_up_closed", detail);

function addAccount(
  connection: Connection,
  parts: AccountParts,
  account: AccountRecord,
  link: LinkRecord | null,
) {
  if (link !== null && !takeLink(connection, link.id, account.id, parts.clock())) throw linkNotFound();
  if (findAccountByEmail(connection, account.email) !== undefined) throw emailTaken();
  insertAccount(connection, account);
}

/** Creates an account with its own workspace. */
async function foundWith(
  parts: AccountParts,
  account: AccountRecord,
  link: LinkRecord | null,
  workspaceName: string | null,
  origin: Origin,
): Promise<SignedUp> {
  let begun: BegunSession | undefined;
  const made = await administrationOf(parts, account.id).createWorkspace(
    workspaceName ?? ownWorkspaceName(account.name),
    (connection, { id: workspaceId }) => {
      addAccount(connection, parts, account, link);
      insertMember(connection, {
        workspaceId,
        accountId: account.id,
        role: "owner",
        joinedAt: account.createdAt,
      });
      begun = beginSession(connection, parts, account, origin);
    },
  );
  const { id, name, createdAt } = made.workspace;
  return {
    account,
    begun: begun as BegunSession,
    workspace: { id, name, role: "owner", createdAt },
    key: { id: made.record.id, apiKey: made.apiKey },
    auditId: made.auditId,
  };
}

function ownWorkspaceName(name: string): string {
  const full = `${name}'s workspace`;
  return nameProblem(full) === null ? full : "workspace";
}

/** Creates an account that joins the workspace of an invitation. */
async function joinWith(
  parts: AccountParts,
  account: AccountRecord,
  link: LinkRecord,
  origin: Origin,
): Promise<SignedUp> {
  const workspaceId = link.workspaceId as string;
  const role = link.role as Role;
  const auditId = await parts.journal.record(workspaceId, {
    operation: "member.join",
    actor: account.id,
    details: { account_id: account.id, invitation_id: link.id, role },
  });
  const begun = parts.control.change((connection) => {
    addAccount(connection, parts, account, link);
    insertMember(connection, { workspaceId, accountId: account.id, role, joinedAt: account.createdAt });
    return beginSession(connection, parts, account, origin);
  });
  const workspace = findWorkspace(parts.control.connection, workspaceId);
  if (workspace === undefined) throw linkNotFound();
  const { id, name, createdAt } = workspace;
  return { account, begun, workspace: { id, name, role, createdAt }, key: null, auditId };
}
