/** Creates accounts: with a link, or without one if the setting `signup` allows it. */
import {
  findAccount,
  findAccountByEmail,
  findAccountByLink,
  hasAccounts,
  type StoredAccount,
} from "../../core/rows/access/accounts.ts";
import { findOpenLink } from "../../core/rows/access/links.ts";
import { authorisedBy } from "../../core/rows/access/sessions.ts";
import type { NewAccount } from "../../operation-facts.ts";
import { Problem } from "../../problem.ts";
import { digestOf } from "../directory/secret.ts";
import { nameProblem } from "../directory/workspaces.ts";
import { linkNotFound } from "../members/operations.ts";
import { type BegunSession, beginSession } from "./begin-session.ts";
import { normaliseEmail } from "./emails.ts";
import { addressDetails } from "./failed-sign-ins.ts";
import { isIssuerOnly } from "./issuer-only.ts";
import { acceptInvitation, foundWorkspace, requireInvitation } from "./membership.ts";
import type { Membership } from "./memberships.ts";
import { emailTaken } from "./operations/account.ts";
import { type AccountParts, asAccount, type Origin } from "./parts.ts";

interface SignUpRequest {
  email: string;
  password: string;
  name: string | null;
  workspaceName: string | null;
  token: string | null;
}

/** A new, signed-in account with the workspace that it owns or joined. */
interface SignedUp {
  account: StoredAccount;
  begun: BegunSession;
  workspace: Membership;
  /** The first key of a new workspace. */
  key: { id: string; apiKey: string } | null;
  auditId: string | null;
}

/**
 * Makes an account, and then its workspace, or joins one with it. A crash between the two leaves an account that can sign
 * in, and that keeps the right to found or to join until it has done so.
 * @throws {Problem} `invalid_request` for a common password, `sign_up_closed`, `link_not_found`, `email_taken`,
 * `rate_limited`, `unavailable`
 */
export async function signUp(parts: AccountParts, request: SignUpRequest, origin: Origin): Promise<SignedUp> {
  const { installation, ids, passwords } = parts;
  const way = await admit(parts, request.token, origin);
  const email = normaliseEmail(request.email);
  // Counts as an attempt until it succeeds, which limits how fast addresses can be probed.
  const attempt = parts.attempts.link(origin.address);
  if ((await findAccountByEmail(installation.connection, email)) !== undefined) throw emailTaken();
  const id = ids.next("usr");
  await parts.workspaces.change(asAccount(parts, id), "account.create", {
    ...{ id, email, name: request.name ?? (email.split("@")[0] as string) },
    ...{ password: await passwords.hash(request.password, email, "password"), way },
    address: addressDetails(origin.address),
  });
  attempt.succeeded();
  const account = (await findAccount(installation.connection, id)) as StoredAccount;
  const { begun } = await beginSession(parts, account, origin);
  if (way !== null && "invitationId" in way) {
    const { workspace, auditId } = await acceptInvitation(parts, begun.session, request.token as string);
    return { account, begun, workspace, key: null, auditId };
  }
  const name = request.workspaceName ?? ownWorkspaceName(account.name);
  const within = { ...parts, authorisedBy: authorisedBy(begun.session) };
  const { membership, keyId, apiKey, auditId } = await foundWorkspace(within, id, name);
  return { account, begun, workspace: membership, key: { id: keyId, apiKey }, auditId };
}

/** What allows a sign-up: a link for an account with its own workspace, or an invitation to one. */
type Way = Exclude<NewAccount["way"], { issuer: string }>;

/** Returns what allows a sign-up; null when it needs nothing. */
async function admit(parts: AccountParts, token: string | null, origin: Origin): Promise<Way> {
  const { installation, attempts, signup } = parts;
  const isOff = await isIssuerOnly(parts);
  if (isOff && token === null) throw closed("Accounts are made by signing in by the issuer.");
  if (token === null) {
    if (signup === "open" && (await hasAccounts(installation.connection))) {
      attempts.openSignUp(origin.address);
      return null;
    }
    throw closed(
      "You need an invitation to create an account. Ask an owner of a workspace, or the operator, for a link.",
    );
  }
  const { way, isByMember } = await wayOf(parts, token, origin);
  if (isOff && isByMember) {
    throw closed("Accounts are made by signing in by the issuer. Sign in there, and then open the link again.");
  }
  if (signup === "closed" && isByMember) throw closed("Sign-up is closed. Ask the operator for a link.");
  return way;
}

/**
 * Returns the link or the invitation of a token, with which no account was made yet, and whether a member made it.
 * @throws {Problem} `link_not_found`
 */
async function wayOf(parts: AccountParts, token: string, origin: Origin): Promise<{ way: Way; isByMember: boolean }> {
  const { clock, attempts } = parts;
  const { connection: reader } = parts.installation;
  const digest = digestOf(token).toHex();
  try {
    const link = await findOpenLink(reader, digest, clock());
    if (link?.kind === "setup") return { way: { link: digest }, isByMember: false };
    if (link !== undefined) throw linkNotFound();
    const { id, createdBy } = await requireInvitation(parts, token);
    if ((await findAccountByLink(reader, id)) !== undefined) throw linkNotFound();
    return { way: { invitationId: id }, isByMember: createdBy.startsWith("usr_") };
  } catch (error) {
    // This counts as an attempt, although a token cannot be guessed.
    if (error instanceof Problem && error.code === "link_not_found") attempts.link(origin.address);
    throw error;
  }
}

const closed = (detail: string) => new Problem("sign_up_closed", detail);

function ownWorkspaceName(name: string): string {
  const full = `${name}'s workspace`;
  return nameProblem(full) === null ? full : "workspace";
}
