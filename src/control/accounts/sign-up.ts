/** Making an account: by a link, or freely where that is allowed. */
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
import type { LinkRecord } from "./links.ts";
import { findUsableLink, takeLink } from "./links.ts";
import { insertMember, type Membership, type Role } from "./members.ts";
import { type AccountParts, administrationOf, type Origin } from "./parts.ts";
import { type BegunSession, beginSession } from "./session-begin.ts";

export interface SignUpWish {
  email: string;
  password: string;
  name: string | null;
  workspaceName: string | null;
  token: string | null;
}

/** A new account, signed in, with the workspace that it owns or has joined. */
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
    "The link was used, has expired or was replaced. Ask for a new one; an operator makes one with: governd account link",
    { param: "token" },
  );

const emailTaken = () =>
  new Refused(
    "email_taken",
    "There is an account with this mail address. Sign in with it; an invitation can be accepted then.",
    { param: "email" },
  );

/** @throws {Refused} `sign_up_closed`, `link_not_found`, `email_taken`, `rate_limited`, `unavailable` */
export async function signUp(parts: AccountParts, wish: SignUpWish, origin: Origin): Promise<SignedUp> {
  const { control, clock, ids, passwords } = parts;
  const link = admit(parts, wish.token, origin);
  const email = normaliseEmail(wish.email);
  // Counted as a try for as long as it has not succeeded, which bounds how fast addresses can be probed.
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

/** Keeps others from beginning the same: they would make a workspace and then find that they may not. */
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

/** The link that a sign-up comes with; null where none is needed. */
function admit({ control, clock, attempts, signup }: AccountParts, token: string | null, origin: Origin) {
  if (token === null) {
    if (signup === "open" && hasAccounts(control.connection)) {
      attempts.openSignUp(origin.address);
      return null;
    }
    throw closed(
      "An account is made by invitation. Ask an owner of a workspace, or the operator, for a link.",
    );
  }
  const link = findUsableLink(control.connection, digestOf(token), clock());
  if (link === undefined || link.kind === "reset") {
    // It counts as a try, although a token cannot be guessed.
    attempts.link(origin.address);
    throw linkNotFound();
  }
  if (signup === "closed" && link.createdBy.startsWith("usr_")) {
    throw closed("No new accounts are made here. Ask the operator for a link of the command line.");
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

/** An account with a workspace of its own. */
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

/** An account that joins the workspace of an invitation. */
async function joinWith(
  parts: AccountParts,
  account: AccountRecord,
  link: LinkRecord,
  origin: Origin,
): Promise<SignedUp> {
  const workspaceId = link.workspaceId as string;
  const role = link.role as Role;
  const auditId = await parts.recorder.record(workspaceId, {
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
