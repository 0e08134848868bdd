/** `governd key`: creates, lists, limits, rotates and revokes API keys. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { Failure } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { type KeyRecord, type KeyScope, keyState, listKeys, SCOPES } from "../../ops/directory/keys.ts";
import { requireWorkspace } from "../../ops/directory/workspaces.ts";
import { parseDuration } from "../../settings/values.ts";
import { administer, consult } from "../data-directory.ts";
import { addCommonOptions, collect, type Session, STORED } from "../session.ts";
import { moment, table } from "../terminal.ts";

/** How long a rotated key stays valid by default. */
const OVERLAP_MS = 24 * 3_600_000;

interface CreateOptions {
  workspace: string;
  label?: string;
  scope: KeyScope;
  agent?: string[];
  network?: string[];
  expires?: number;
}

interface LimitOptions {
  network?: string[];
  anywhere?: boolean;
}

export function addKeyCommands(program: Command, session: Session): void {
  const key = program.command("key").description("create, list, limit, rotate and revoke API keys");
  const create = key
    .command("create")
    .description("create an API key, which is shown only once")
    .requiredOption("--workspace <id>", "the workspace that it belongs to")
    .option("--label <label>", "what the key is for")
    .addOption(new Option("--scope <scope>", "what the key may do").choices(SCOPES).default("full"))
    .option("--agent <id>", "limit the key to this agent; may be given several times", collect)
    .option(
      "--network <cidr>",
      "accept requests only from this address or network; may be given several times",
      collect,
    )
    .option("--expires <time>", "the key expires after this time, for example 90d (default: never)", readTime(1))
    .action((options: CreateOptions) => createKey(session, options));
  const list = key
    .command("list")
    .description("list a workspace's keys, oldest first, revoked ones included")
    .requiredOption("--workspace <id>", "the workspace")
    .action((options: { workspace: string }) => showKeys(session, options));
  const rotate = key
    .command("rotate")
    .description("replace a key by a new one; the old key stays valid for a while")
    .argument("<key-id>", "the old key's id (key_…), not the key")
    .option("--overlap <time>", "how long the old key stays valid (default: 24h; 0s: it ends now)", readTime(0))
    .action((keyId: string, options: { overlap?: number }) => rotateKey(session, keyId, options));
  const limit = key
    .command("limit")
    .description("limit a key to networks, at once; requests from elsewhere get 403")
    .argument("<key-id>", "the key's id (key_…), not the key")
    .option("--network <cidr>", "an address or network; may be given several times", collect)
    .option("--anywhere", "end the limit")
    .action((keyId: string, options: LimitOptions) => limitKey(session, keyId, options));
  const revoke = key
    .command("revoke")
    .description("revoke a key at once and for good")
    .argument("<key-id>", "the key's id (key_…), not the key")
    .action((keyId: string, options: object) => revokeKey(session, keyId, options));
  for (const command of [create, list, limit, rotate, revoke]) addCommonOptions(command, [...STORED]);
}

/** Returns a parser of times of at least `leastMs`. */
function readTime(leastMs: number): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms >= leastMs) return ms;
    throw new InvalidArgumentError("It must be a time with a unit (s, m, h, d), for example 90d.");
  };
}

async function createKey(session: Session, options: CreateOptions): Promise<void> {
  const { apiKey, record } = await administer(session, options, (administration) =>
    administration.createKey({
      workspaceId: options.workspace,
      label: options.label ?? null,
      scope: options.scope,
      agents: options.agent ? [...new Set(options.agent)] : null,
      networks: options.network ? [...new Set(options.network)] : null,
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
    networks: record.networks,
    expires_at: moment(record.expiresAt),
  };
  await session.print(value, [
    `Key      ${record.id}`,
    `API key  ${apiKey}`,
    `Scope    ${record.scope}${record.agents ? `, agents ${record.agents.join(", ")}` : ""}`,
    ...(record.networks ? [`From     ${record.networks.join(", ")}`] : []),
    `Expires  ${moment(record.expiresAt) ?? "never"}`,
    "",
    "The key is shown only now. Send it as the header X-API-Key.",
  ]);
}

async function showKeys(session: Session, options: { workspace: string }): Promise<void> {
  const records = await consult(options, ({ connection }) => {
    requireWorkspace(connection, options.workspace);
    return listKeys(connection, options.workspace);
  });
  const rows = records.map((key) => [
    key.id,
    keyState(key, systemClock()).replace("_", " "),
    key.scope,
    key.agents?.join(",") ?? "every agent",
    moment(key.lastUsedAt) ?? "never used",
    key.label ?? "",
  ]);
  const heading = ["ID", "STATE", "SCOPE", "AGENTS", "LAST USED", "LABEL"];
  await session.print({ data: records.map(shown) }, table(heading, rows, "There are no keys."));
}

async function rotateKey(session: Session, keyId: string, options: { overlap?: number }): Promise<void> {
  const { apiKey, record, replaced } = await administer(session, options, (administration) =>
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
  await session.print(value, [
    `Key      ${record.id}`,
    `API key  ${apiKey}`,
    "",
    `The key is shown only now. ${replaced.id} stays valid until ${moment(replaced.expiresAt)}.`,
  ]);
}

async function limitKey(session: Session, keyId: string, options: LimitOptions): Promise<void> {
  const { network, anywhere = false } = options;
  if ((network === undefined) !== anywhere) throw new Failure("usage", "Give either --network or --anywhere.");
  const key = await administer(session, options, (administration) =>
    administration.limitKey(keyId, network ? [...new Set(network)] : null),
  );
  const where = key.networks === null ? "everywhere" : key.networks.join(", ");
  await session.print(shown(key), [`Key ${key.id} is accepted from ${where}.`]);
}

async function revokeKey(session: Session, keyId: string, options: object): Promise<void> {
  const key = await administer(session, options, (administration) => administration.revokeKey(keyId));
  await session.print(shown(key), [`Key ${key.id} was revoked at ${moment(key.revokedAt)}.`]);
}

function shown(key: KeyRecord) {
  return {
    key_id: key.id,
    workspace_id: key.workspaceId,
    label: key.label,
    scope: key.scope,
    agents: key.agents,
    networks: key.networks,
    created_at: moment(key.createdAt),
    created_by: key.createdBy,
    expires_at: moment(key.expiresAt),
    last_used_at: moment(key.lastUsedAt),
    revoked_at: moment(key.revokedAt),
  };
}
