/** `governd account link` and `governd account list`. */
import { type Command, Option } from "commander";
import { findAccountByEmail, listAccounts, normaliseEmail } from "../../control/accounts/accounts.ts";
import { ROLES, type Role } from "../../control/accounts/members.ts";
import { type LinkWish, makeLink } from "../../control/accounts/operator-links.ts";
import type { ControlDatabase } from "../../control/database.ts";
import { findWorkspace } from "../../control/workspaces.ts";
import { linkUrl, publicBase } from "../../daemon/link-url.ts";
import { Failure } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { loadSettings } from "../../settings/load.ts";
import { ACTOR, consult, moment } from "../administer.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { columns, printResult } from "../terminal.ts";

interface LinkOptions {
  workspace?: string;
  role?: Role;
  email?: string;
  withoutTotp?: boolean;
  json?: boolean;
}

export function addAccountCommands(program: Command, session: Session): void {
  const account = program.command("account").description("make one-time links for people, and list accounts");
  const link = account
    .command("link")
    .description("make a link, which works once: for a new account, a workspace, or a new password")
    .option("--workspace <id>", "it invites to this workspace")
    .addOption(new Option("--role <role>", "as what (default: owner)").choices(ROLES))
    .option("--email <address>", "it sets a new password for this account")
    .option("--without-totp", "it ends that account's second factor as well")
    .option("--json", "print JSON")
    .action((options: LinkOptions) => printLink(session, options));
  const list = account
    .command("list")
    .description("list all accounts, oldest first")
    .option("--json", "print JSON")
    .action((options: { json?: boolean }) => showAccounts(session, options));
  addSettingOptions(link, ["data_dir", "encryption_key_file", "listen", "hostnames", "tls"]);
  addSettingOptions(list, ["data_dir", "encryption_key_file"]);
}

async function printLink({ terminal }: Session, options: LinkOptions): Promise<void> {
  const { settings } = loadSettings(settingFlags({ ...options }));
  const { link, token } = consult({ ...options }, (control) =>
    makeLink(control, systemClock, wishOf(control, options)),
  );
  const url = linkUrl(publicBase(settings, settings.listen), link.kind, token);
  const value = { kind: link.kind, url, token, expires_at: moment(link.expiresAt) };
  await printResult(terminal, options.json ?? false, value, [
    url,
    "",
    `It works once, until ${moment(link.expiresAt)}. Whoever has it can use it: hand it over like a key.`,
  ]);
}

function wishOf(control: ControlDatabase, options: LinkOptions): LinkWish {
  const { workspace, role, email, withoutTotp = false } = options;
  if (email !== undefined && workspace !== undefined) {
    throw new Failure("usage", "Give either --email or --workspace, not both.");
  }
  if (role !== undefined && workspace === undefined) {
    throw new Failure("usage", "--role belongs to --workspace: name the workspace.");
  }
  if (withoutTotp && email === undefined) {
    throw new Failure("usage", "--without-totp belongs to --email: name the account.");
  }
  if (email !== undefined) return resetOf(control, email, withoutTotp);
  if (workspace === undefined) return { kind: "setup", createdBy: ACTOR };
  if (!findWorkspace(control.connection, workspace)) {
    throw new Failure("not_found", "There is no such workspace: governd workspace list shows all of them.");
  }
  return { kind: "invitation", createdBy: ACTOR, workspaceId: workspace, role: role ?? "owner" };
}

function resetOf(control: ControlDatabase, email: string, dropsTotp: boolean): LinkWish {
  const account = findAccountByEmail(control.connection, normaliseEmail(email));
  if (account === undefined) {
    throw new Failure("not_found", "There is no such account: governd account list shows all of them.");
  }
  return { kind: "reset", createdBy: ACTOR, accountId: account.id, dropsTotp };
}

async function showAccounts({ terminal }: Session, options: { json?: boolean }): Promise<void> {
  const data = consult({ ...options }, ({ connection }) => listAccounts(connection)).map((account) => ({
    account_id: account.id,
    email: account.email,
    name: account.name,
    totp: account.totpSince !== null,
    created_at: moment(account.createdAt),
  }));
  const rows = data.map(({ account_id, created_at, totp, email, name }) => [
    account_id,
    created_at,
    totp ? "yes" : "no",
    email,
    name,
  ]);
  const lines =
    rows.length === 0
      ? ["There are no accounts yet."]
      : columns([["ID", "CREATED", "TOTP", "EMAIL", "NAME"], ...rows]);
  await printResult(terminal, options.json ?? false, { data }, lines);
}
