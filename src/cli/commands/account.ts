/** `governd account link`, `list`, `operator`, `erase` and `oidc`. */
import { type Command, Option } from "commander";
import { findAccountByEmail, listAccounts, type StoredAccount } from "../../core/rows/access/accounts.ts";
import { findMember, hasOtherOwner } from "../../core/rows/access/members.ts";
import { Failure } from "../../failure.ts";
import { type NewLink, ROLES, type Role } from "../../operation-facts.ts";
import { normaliseEmail } from "../../ops/accounts/emails.ts";
import { LINK_LIFETIME_DAYS } from "../../ops/accounts/operations/credential.ts";
import { listDirectory } from "../../ops/directory/directory.ts";
import { linkUrl, publicBase } from "../../serve/daemon/link-url.ts";
import { changeAccess } from "../access.ts";
import {
  administer,
  bodyOf,
  consultInstallation,
  dataDirectoryOf,
  readWorkspace,
  requireNamedWorkspace,
} from "../data-directory.ts";
import { addCommonOptions, type Session, STORED, settingsOf } from "../session.ts";
import { moment, table } from "../terminal.ts";

interface LinkOptions {
  workspace?: string;
  role?: Role;
  email?: string;
  withoutTotp?: boolean;
}

export function addAccountCommands(program: Command, session: Session): void {
  const account = program.command("account").description("create one-time links for people, and list accounts");
  const link = account
    .command("link")
    .description("create a link that works once: for a new account, a workspace, or a new password")
    .option("--workspace <id>", "invite to this workspace")
    .addOption(new Option("--role <role>", "the role in the workspace (default: owner)").choices(ROLES))
    .option("--email <address>", "set a new password for this account")
    .option("--without-totp", "also turn off that account's second factor")
    .action((options: LinkOptions) => printLink(session, options));
  const list = account
    .command("list")
    .description("list all accounts, oldest first")
    .action((options: object) => showAccounts(session, options));
  const operator = account
    .command("operator")
    .description("let an account read the log of the installation, or end that")
    .requiredOption("--email <address>", "the account")
    .option("--end", "it is no longer an operator")
    .action((options: { email: string; end?: boolean }) => changeOperator(session, options));
  const erase = account
    .command("erase")
    .description("erase an account for good, with its addresses in the log: without --yes, says what would be lost")
    .requiredOption("--email <address>", "the account")
    .option("--yes", "erase it")
    .action((options: EraseOptions) => eraseAccount(session, options));
  const oidc = account
    .command("oidc")
    .description("choose whether people sign in by the issuer only, whatever the setting oidc_only says")
    .addOption(
      new Option("--only <choice>", "on: passwords are off; off: they work")
        .choices(["on", "off"])
        .makeOptionMandatory(),
    )
    .action((options: { only: "on" | "off" }) => requireIssuer(session, options));
  addCommonOptions(oidc, [...STORED, "hostnames", "seal_key"]);
  addCommonOptions(link, [...STORED, "listen", "hostnames", "tls", "seal_key"]);
  addCommonOptions(erase, [...STORED, "hostnames", "seal_key"]);
  addCommonOptions(operator, [...STORED, "hostnames", "seal_key"]);
  addCommonOptions(list, [...STORED]);
}

async function printLink(session: Session, options: LinkOptions): Promise<void> {
  refuseContradictions(options);
  const settings = settingsOf(options);
  const { workspace, role = "owner" } = options;
  const made =
    workspace === undefined ? await makeLink(session, options) : await invite(session, options, workspace, role);
  const { kind, token, expiresAt } = made;
  const url = linkUrl(publicBase(settings, settings.listen), kind, token);
  await session.print({ kind, url, token, expires_at: moment(expiresAt) }, [
    url,
    "",
    `It works once, until ${moment(expiresAt)}. Anyone who has it can use it, so keep it as safe as a key.`,
  ]);
}

function refuseContradictions({ workspace, role, email, withoutTotp = false }: LinkOptions): void {
  if (email !== undefined && workspace !== undefined) {
    throw new Failure("usage", "Give either --email or --workspace, not both.");
  }
  if (role !== undefined && workspace === undefined) {
    throw new Failure("usage", "--role needs --workspace: name the workspace.");
  }
  if (withoutTotp && email === undefined) throw new Failure("usage", "--without-totp needs --email: name the account.");
}

/** Makes a link for an account with its own workspace, or for a new password. */
async function makeLink(session: Session, options: LinkOptions) {
  const { email, withoutTotp = false } = options;
  const log = await installationOf(session, options);
  const account = email === undefined ? null : await requireAccount(options, log, email);
  const wanted: NewLink =
    account === null ? { kind: "setup" } : { kind: "reset", accountId: account.id, endsSecondFactor: withoutTotp };
  const made = bodyOf<{ token: string; expires_at: string }>(
    await changeAccess(session, options, log, "account.link", wanted),
  );
  return { kind: wanted.kind, token: made.token, expiresAt: Date.parse(made.expires_at) };
}

/** Returns the id of the log of the installation, which it makes if there is none. */
const installationOf = (session: Session, options: object): Promise<string> =>
  administer(session, options, (parts) => parts.installation.ensure(parts));

/** Invites somebody to a workspace. */
async function invite(session: Session, options: object, workspaceId: string, role: Role) {
  await requireNamedWorkspace(options, workspaceId);
  const input = { role, label: null, expiresInDays: LINK_LIFETIME_DAYS };
  const reply = await changeAccess(session, options, workspaceId, "member.invite", input);
  const { token, expires_at } = bodyOf<{ token: string; expires_at: string }>(reply);
  return { kind: "invitation" as const, token, expiresAt: Date.parse(expires_at) };
}

async function requireAccount(options: object, log: string, email: string): Promise<StoredAccount> {
  const { directory } = dataDirectoryOf(options);
  const account = await readWorkspace(directory, log, (reader) => findAccountByEmail(reader, normaliseEmail(email)));
  if (account !== undefined) return account;
  throw new Failure("not_found", "There is no such account. `governd account list` lists all accounts.");
}

async function changeOperator(session: Session, options: { email: string; end?: boolean }): Promise<void> {
  const isOperator = options.end !== true;
  const log = await installationOf(session, options);
  const account = await requireAccount(options, log, options.email);
  const auditId = await setOperator(session, options, { logId: log, accountId: account.id, isOperator });
  const now = auditId === null ? "already" : "now";
  await session.print({ account_id: account.id, operator: isOperator, audit_id: auditId }, [
    isOperator
      ? `${account.email} is ${now} an operator and can read the log of the installation.`
      : `${account.email} is ${auditId === null ? "not" : "no longer"} an operator.`,
  ]);
}

/** Makes an account an operator, or ends that. Returns the id of the event; null when nothing changes. */
async function setOperator(
  session: Session,
  options: object,
  { logId, accountId, isOperator }: { logId: string; accountId: string; isOperator: boolean },
): Promise<string | null> {
  const { directory } = dataDirectoryOf(options);
  const member = await readWorkspace(directory, logId, (reader) => findMember(reader, accountId));
  if ((member !== undefined) === isOperator) return null;
  const reply = isOperator
    ? await changeAccess(session, options, logId, "member.join", { accountId, role: "auditor" })
    : await changeAccess(session, options, logId, "member.remove", { accountId });
  return bodyOf<{ audit_id: string | null }>(reply).audit_id;
}

interface EraseOptions {
  email: string;
  yes?: boolean;
}

/** Ends the account's memberships, then erases it. A crash on the way leaves an account that can be erased again. */
async function eraseAccount(session: Session, options: EraseOptions): Promise<void> {
  const log = await installationOf(session, options);
  const account = await requireAccount(options, log, options.email);
  const { id: accountId } = account;
  const workspaces = await workspacesOf(options, accountId);
  const alone = workspaces.filter(({ isLastOwner }) => isLastOwner).map(({ id }) => id);
  if (alone.length > 0) {
    throw new Failure(
      "last_owner",
      `The account is the only owner of ${alone.join(", ")}. Invite another owner with \`governd account link --workspace\`, or delete the workspace. Nothing was changed.`,
    );
  }
  const ids = workspaces.map(({ id }) => id);
  const left = ids.join(", ") || "none";
  if (options.yes !== true) {
    return await session.print({ account_id: accountId, workspaces: ids, erased: false }, [
      `Would erase ${accountId} (${account.email}) for good: its name and addresses, its factors and sessions, and the details of its events.`,
      `It would leave these workspaces: ${left}. Events, API keys and workspaces stay, and so do backups, exports and what sinks have received.`,
      "To erase it, add --yes.",
    ]);
  }
  for (const id of ids) await changeAccess(session, options, id, "member.remove", { accountId });
  const reply = await changeAccess(session, options, log, "account.erase", { accountId, proof: null });
  const { events, audit_id: auditId } = bodyOf<{ events: number; audit_id: string }>(reply);
  await session.print({ account_id: accountId, workspaces: ids, erased: true, events, audit_id: auditId }, [
    `Erased ${accountId} and the details of its ${events} events. It has left these workspaces: ${left}.`,
  ]);
}

/** Returns the workspaces that an account belongs to, and whether it is the only owner. */
async function workspacesOf(options: object, accountId: string) {
  const { directory } = dataDirectoryOf(options);
  const found: { id: string; isLastOwner: boolean }[] = [];
  const ids = await consultInstallation(options, async (log) => listDirectory(log, accountId), []);
  for (const id of ids) {
    const member = await readWorkspace(directory, id, async (reader) => {
      const { role } = (await findMember(reader, accountId)) ?? { role: null };
      return role && { isLastOwner: role === "owner" && !(await hasOtherOwner(reader, accountId)) };
    });
    if (member) found.push({ id, ...member });
  }
  return found;
}

async function requireIssuer(session: Session, options: { only: "on" | "off" }): Promise<void> {
  const only = options.only === "on";
  const log = await installationOf(session, options);
  const reply = await changeAccess(session, options, log, "account.require_issuer", { only });
  const { audit_id: auditId } = bodyOf<{ audit_id: string | null }>(reply);
  await session.print({ only, audit_id: auditId }, [
    only
      ? "People sign in by the issuer only. An owner with a second factor can still use a password."
      : "People can sign in with a password, whatever the setting oidc_only says.",
  ]);
}

async function showAccounts(session: Session, options: object): Promise<void> {
  const accounts = await consultInstallation(options, listAccounts, []);
  const data = accounts.map((account) => ({
    account_id: account.id,
    email: account.email,
    name: account.name,
    totp: account.totpSince !== null,
    created_at: moment(account.createdAt),
  }));
  const rows = data.map((item) => [item.account_id, item.created_at, item.totp ? "yes" : "no", item.email, item.name]);
  const heading = ["ID", "CREATED", "TOTP", "EMAIL", "NAME"];
  await session.print({ data }, table(heading, rows, "There are no accounts yet."));
}
