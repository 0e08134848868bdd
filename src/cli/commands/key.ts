/** `governd key create`, `governd key list` and `governd key revoke`. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { type KeyRecord, type KeyScope, listKeys, SCOPES } from "../../control/keys.ts";
import { findWorkspace } from "../../control/workspaces.ts";
import { Failure } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { parseDuration } from "../../settings/values.ts";
import { administer, consult, moment } from "../administer.ts";
import { addSettingOptions } from "../options.ts";
import type { Session } from "../session.ts";
import { columns, printResult } from "../terminal.ts";

/** How long a rotated key still works unless asked otherwise. */
const OVERLAP_MS = 24 * 3_600_000;

interface RotateOptions {
  overlap?: number;
  json?: boolean;
}

interface CreateOptions {
  workspace: string;
  label?: string;
  scope: KeyScope;
  agent?: string[];
  expires?: number;
  json?: boolean;
}

export function addKeyCommands(program: Command, session: Session): void {
  const key = program.command("key").description("make, list and revoke API keys");
  const create = key
    .command("create")
    .description("make an API key, which is shown this once")
    .requiredOption("--workspace <id>", "the workspace that it belongs to")
    .option("--label <label>", "what it is for, for people")
    .addOption(new Option("--scope <scope>", "what it may do").choices(SCOPES).default("full"))
    .option("--agent <id>", "limit it to this agent; may be given several times", collect)
    .option("--expires <time>", "it ends after this time, for example 90d (default: never)", readExpiry)
    .option("--json", "print JSON")
    .action((options: CreateOptions) => createKey(session, options));
  const list = key
    .command("list")
    .description("list a workspace's keys, oldest first, revoked ones included")
    .requiredOption("--workspace <id>", "the workspace")
    .option("--json", "print JSON")
    .action((options: { workspace: string; json?: boolean }) => showKeys(session, options));
  const rotate = key
    .command("rotate")
    .description("make a key in the place of another, which still works for a while")
    .argument("<key-id>", "the old key's id (key_…), not the key")
    .option("--overlap <time>", "how long the old key still works (default: 24h; 0s: no longer)", readOverlap)
    .option("--json", "print JSON")
    .action((keyId: string, options: RotateOptions) => rotateKey(session, keyId, options));
  const revoke = key
    .command("revoke")
    .description("end a key at once and for good")
    .argument("<key-id>", "the key's id (key_…), not the key")
    .option("--json", "print JSON")
    .action((keyId: string, options: { json?: boolean }) => revokeKey(session, keyId, options));
  for (const command of [create, list, rotate, revoke])
    addSettingOptions(command, ["data_dir", "encryption_key_file"]);
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

function readExpiry(text: string): number {
  const ms = parseDuration(text);
  if (!ms) throw new InvalidArgumentError("It must be a time with its unit (s, m, h, d), for example 90d.");
  return ms;
}

function readOverlap(text: string): number {
  const ms = parseDuration(text);
  if (ms === null || ms === undefined) {
    throw new InvalidArgumentError("It must be a time with its unit (s, m, h, d), for example 24h.");
  }
  return ms;
}

async function createKey({ terminal }: Session, options: CreateOptions): Promise<void> {
  const { apiKey, record } = await administer({ ...options }, (administration) =>
    administration.createKey({
      workspaceId: options.workspace,
      label: options.label ?? null,
      scope: options.scope,
      agents: options.agent ? [...new Set(options.agent)] : null,
      expiresInMs: options.expires ?? null,
    }),
  );
  const value = {
    key_id: record.id,
    api_key: apiKey,
    workspace_id: record.workspaceId,
    label: record.label,
    scope: record.scope,
    agents: record.agents,
    expires_at: moment(record.expiresAt),
  };
  await printResult(terminal, options.json ?? false, value, [
    `Key      ${record.id}`,
    `API key  ${apiKey}`,
    `Scope    ${record.scope}${record.agents ? `, agents ${record.agents.join(", ")}` : ""}`,
    `Expires  ${moment(record.expiresAt) ?? "never"}`,
    "",
    "The key is shown only now. Send it as the header X-API-Key.",
  ]);
}

async function showKeys(
  { terminal }: Session,
  options: { workspace: string; json?: boolean },
): Promise<void> {
  const records = consult({ ...options }, ({ connection }) => {
    if (!findWorkspace(connection, options.workspace)) {
      throw new Failure("not_found", "There is no such workspace: governd workspace list shows all of them.");
    }
    return listKeys(connection, options.workspace);
  });
  const rows = records.map((key) => [
    key.id,
    stateOf(key),
    key.scope,
    key.agents?.join(",") ?? "every agent",
    moment(key.lastUsedAt) ?? "never used",
    key.label ?? "",
  ]);
  const lines =
    rows.length === 0
      ? ["There are no keys."]
      : columns([["ID", "STATE", "SCOPE", "AGENTS", "LAST USED", "LABEL"], ...rows]);
  await printResult(terminal, options.json ?? false, { data: records.map(shown) }, lines);
}

async function rotateKey({ terminal }: Session, keyId: string, options: RotateOptions): Promise<void> {
  const { apiKey, record, replaced } = await administer({ ...options }, (administration) =>
    administration.rotateKey(keyId, options.overlap ?? OVERLAP_MS),
  );
  const value = {
    key_id: record.id,
    api_key: apiKey,
    workspace_id: record.workspaceId,
    expires_at: moment(record.expiresAt),
    replaces: replaced.id,
    replaced_expires_at: moment(replaced.expiresAt),
  };
  await printResult(terminal, options.json ?? false, value, [
    `Key      ${record.id}`,
    `API key  ${apiKey}`,
    "",
    `The key is shown only now. ${replaced.id} works until ${moment(replaced.expiresAt)}.`,
  ]);
}

async function revokeKey({ terminal }: Session, keyId: string, options: { json?: boolean }): Promise<void> {
  const key = await administer({ ...options }, (administration) => administration.revokeKey(keyId));
  await printResult(terminal, options.json ?? false, shown(key), [
    `Key ${key.id} is revoked since ${moment(key.revokedAt)}.`,
  ]);
}

function shown(key: KeyRecord) {
  return {
    key_id: key.id,
    workspace_id: key.workspaceId,
    label: key.label,
    scope: key.scope,
    agents: key.agents,
    created_at: moment(key.createdAt),
    created_by: key.createdBy,
    expires_at: moment(key.expiresAt),
    last_used_at: moment(key.lastUsedAt),
    revoked_at: moment(key.revokedAt),
  };
}

function stateOf(key: KeyRecord): string {
  if (key.revokedAt !== null) return "revoked";
  if (key.expiresAt !== null && key.expiresAt <= systemClock()) return "expired";
  return "in force";
}
