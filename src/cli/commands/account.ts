/** `governd account link`, `governd account list`, `governd account operator` and `governd account oidc`. */
import { type Command, Option } from "commander";
import { Failure } from "../../failure.ts";
import { type AccountRecord, findAccountByEmail, listAccounts, normaliseEmail } from "../../ops/accounts/accounts.ts";
import { chooseIssuerOnly } from "../../ops/accounts/issuer-only.ts";
import type { LinkRequest } from "../../ops/accounts/links.ts";
import { ROLES, type Role } from "../../ops/accounts/members.ts";
import { linkFor, setOperator } from "../../ops/accounts/operators.ts";
import { requireWorkspace } from "../../ops/directory/workspaces.ts";
import { linkUrl, publicBase } from "../../serve/daemon/link-url.ts";
import type { Connection } from "../../store/connection.ts";
import { ACTOR, administer, consult } from "../data-directory.ts";
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
  addCommonOptions(operator, [...STORED, "hostnames", "seal_key"]);
  addCommonOptions(list, [...STORED]);
}

async function printLink(session: Session, options: LinkOptions): Promise<void> {
  const settings = settingsOf(options);
  const { link, token } = await administer(session, options, (_, parts) =>
    linkFor(parts, (connection) => requestOf(connection, options)),
  );
  const url = linkUrl(publicBase(settings, settings.listen), link.kind, token);
  await session.print({ kind: link.kind, url, token, expires_at: moment(link.expiresAt) }, [
    url,
    "",
    `It works once, until ${moment(link.expiresAt)}. Anyone who has it can use it, so keep it as safe as a key.`,
  ]);
}

function requestOf(connection: Connection, options: LinkOptions): LinkRequest {
  const { workspace, role, email, withoutTotp = false } = options;
  if (email !== undefined && workspace !== undefined) {
    throw new Failure("usage", "Give either --email or --workspace, not both.");
  }
  if (role !== undefined && workspace === undefined) {
    throw new Failure("usage", "--role needs --workspace: name the workspace.");
  }
  if (withoutTotp && email === undefined) throw new Failure("usage", "--without-totp needs --email: name the account.");
  if (email !== undefined) {
    const { id: accountId } = requireAccount(connection, email);
    return { kind: "reset", createdBy: ACTOR, accountId, dropsTotp: withoutTotp };
  }
  if (workspace === undefined) return { kind: "setup", createdBy: ACTOR };
  requireWorkspace(connection, workspace);
  return { kind: "invitation", createdBy: ACTOR, workspaceId: workspace, role: role ?? "owner" };
}

function requireAccount(connection: Connection, email: string): AccountRecord {
  const account = findAccountByEmail(connection, normaliseEmail(email));
  if (account !== undefined) return account;
  throw new Failure("not_found", "There is no such account. `governd account list` lists all accounts.");
}

async function changeOperator(session: Session, options: { email: string; end?: boolean }): Promise<void> {
  const isOperator = options.end !== true;
  const { account, auditId } = await administer(session, options, async (_, parts) => {
    const account = requireAccount(parts.control.connection, options.email);
    return { account, ...(await setOperator(parts, account.id, isOperator, ACTOR)) };
  });
  const now = auditId === null ? "already" : "now";
  await session.print({ account_id: account.id, operator: isOperator, audit_id: auditId }, [
    isOperator
      ? `${account.email} is ${now} an operator and can read the log of the installation.`
      : `${account.email} is ${auditId === null ? "not" : "no longer"} an operator.`,
  ]);
}

async function requireIssuer(session: Session, options: { only: "on" | "off" }): Promise<void> {
  const only = options.only === "on";
  const { auditId } = await administer(session, options, (_, parts) => chooseIssuerOnly(parts, only, ACTOR));
  await session.print({ only, audit_id: auditId }, [
    only
      ? "People sign in by the issuer only. An owner with a second factor can still use a password."
      : "People can sign in with a password, whatever the setting oidc_only says.",
  ]);
}

async function showAccounts(session: Session, options: object): Promise<void> {
  const data = (await consult(options, ({ connection }) => listAccounts(connection))).map((account) => ({
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
