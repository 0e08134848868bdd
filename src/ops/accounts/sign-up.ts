/** Creates accounts: with a link, or without one if the setting `signup` allows it. */
import { showTime } from "../../ids.ts";
import { Problem } from "../../problem.ts";
import { act } from "../directory/acts.ts";
import type { Change } from "../directory/changes.ts";
import { digestOf } from "../directory/secret.ts";
import { nameProblem } from "../directory/workspaces.ts";
import { type AccountRecord, findAccountByEmail, hasAccounts, normaliseEmail } from "./accounts.ts";
import { addressDetails } from "./failed-sign-ins.ts";
import { isIssuerOnly } from "./issuer-only.ts";
import { findUsableLink, type LinkRecord } from "./links.ts";
import { FOUNDER, findMembership, type Membership, type Role } from "./members.ts";
import { type AccountParts, administrationOf, type Origin, ownEvent } from "./parts.ts";
import { type BegunSession, beginSession } from "./session-keeper.ts";

interface SignUpRequest {
  email: string;
  password: string;
  name: string | null;
  workspaceName: string | null;
  token: string | null;
}

/** A new, signed-in account with the workspace that it owns or joined. */
interface SignedUp {
  account: AccountRecord;
  begun: BegunSession;
  workspace: Membership;
  /** The first key of a new workspace. */
  key: { id: string; apiKey: string } | null;
  auditId: string;
}

/** A sign-up that is allowed, unless its link is used or its address is taken meanwhile. */
interface AdmittedSignUp {
  account: AccountRecord;
  link: LinkRecord | null;
  request: SignUpRequest;
  origin: Origin;
}

export const linkNotFound = () =>
  new Problem(
    "link_not_found",
    "The link was used, has expired or was replaced. Ask for a new one. The operator creates links with: governd account link",
    { param: "token" },
  );

const emailTaken = () =>
  new Problem(
    "email_taken",
    "There is already an account with this mail address. Sign in with it; you can then accept an invitation.",
    { param: "email" },
  );

/**
 * @throws {Problem} `invalid_request` for a common password, `sign_up_closed`, `link_not_found`, `email_taken`,
 * `rate_limited`, `unavailable`
 */
export async function signUp(parts: AccountParts, request: SignUpRequest, origin: Origin): Promise<SignedUp> {
  const { control, clock, ids, passwords } = parts;
  const link = admit(parts, request.token, origin);
  const email = normaliseEmail(request.email);
  // Counts as an attempt until it succeeds, which limits how fast addresses can be probed.
  const attempt = parts.attempts.link(origin.address);
  if (findAccountByEmail(control.connection, email) !== undefined) throw emailTaken();
  const account: AccountRecord = {
    id: ids.next("usr"),
    email,
    name: request.name ?? (email.split("@")[0] as string),
    password: await passwords.hash(request.password, email, "password"),
    totpSecret: null,
    totpSince: null,
    totpStep: 0,
    createdAt: clock(),
  };
  const signedUp =
    link?.kind === "invitation"
      ? await joinWith(parts, { account, link, request, origin })
      : await foundWith(parts, { account, link, request, origin });
  attempt.succeeded();
  return signedUp;
}

/** Returns the link of a sign-up, or null when it needs none. */
function admit({ control, clock, attempts, signup, issuerOnly }: AccountParts, token: string | null, origin: Origin) {
  const isOff = isIssuerOnly(control.connection, issuerOnly);
  if (isOff && token === null) throw closed("Accounts are made by signing in by the issuer.");
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
    // This counts as an attempt, although a token cannot be guessed.
    attempts.link(origin.address);
    throw linkNotFound();
  }
  if (isOff && link.createdBy.startsWith("usr_")) {
    throw closed("Accounts are made by signing in by the issuer. Sign in there, and then open the link again.");
  }
  if (signup === "closed" && link.createdBy.startsWith("usr_")) {
    throw closed("Sign-up is closed. Ask the operator for a link.");
  }
  return link;
}

const closed = (detail: string) => new Problem("sign_up_closed", detail);

/** Decides on a new account. Returns the changes that create it and mark its link as used. */
function added({ control, clock }: AccountParts, { account, link, request }: AdmittedSignUp): Change[] {
  const { connection } = control;
  if (findAccountByEmail(connection, account.email) !== undefined) throw emailTaken();
  if (link === null || request.token === null) return [["addAccount", account]];
  if (findUsableLink(connection, digestOf(request.token), clock()) === undefined) throw linkNotFound();
  return [
    ["takeLink", { id: link.id, by: account.id, at: account.createdAt }],
    ["addAccount", account],
  ];
}

/** Returns the event, in the log of the installation, of a new account that belongs to a workspace. */
const traceOf = ({ account, link, origin }: AdmittedSignUp, workspaceId: string) =>
  ownEvent("account.create", account.id, {
    link_id: link?.id ?? null,
    joined_workspace_id: workspaceId,
    ...addressDetails(origin.address),
  });

/** Creates an account with its own workspace. */
async function foundWith(parts: AccountParts, signUp: AdmittedSignUp): Promise<SignedUp> {
  const { account, request, origin } = signUp;
  const { workspace, record, apiKey, begun, auditId } = await administrationOf(parts, account.id).createWorkspace(
    request.workspaceName ?? ownWorkspaceName(account.name),
    ({ id: workspaceId }) => ({
      trace: traceOf(signUp, workspaceId),
      changes: [
        ...added(parts, signUp),
        ["addMember", { workspaceId, accountId: account.id, role: "owner", joinedAt: account.createdAt }],
      ],
      also: (connection) => ({ begun: beginSession(connection, parts, account, origin) }),
    }),
  );
  return { account, begun, workspace: { ...workspace, ...FOUNDER }, key: { id: record.id, apiKey }, auditId };
}

function ownWorkspaceName(name: string): string {
  const full = `${name}'s workspace`;
  return nameProblem(full) === null ? full : "workspace";
}

/** Creates an account that joins the workspace of an invitation. */
async function joinWith(parts: AccountParts, signUp: AdmittedSignUp & { link: LinkRecord }): Promise<SignedUp> {
  const { account, link, origin } = signUp;
  const accountId = account.id;
  const workspaceId = link.workspaceId as string;
  const role = link.role as Role;
  const joinedAt = account.createdAt;
  const { begun, auditId } = await act(parts, workspaceId, () => ({
    event: ownEvent("member.join", accountId, { invitation_id: link.id, role, joined_at: showTime(joinedAt) }),
    trace: traceOf(signUp, workspaceId),
    changes: [...added(parts, signUp), ["addMember", { workspaceId, accountId, role, joinedAt }]],
    also: (connection) => ({ begun: beginSession(connection, parts, account, origin) }),
  }));
  return { account, begun, workspace: findMembership(parts, accountId, workspaceId), key: null, auditId };
}
