/** `governd key`: creates, lists, limits, rotates and revokes API keys. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { Failure } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { SCOPES, type Scope } from "../../operation-facts.ts";
import { type ShownKey, shownKey } from "../../ops/keys/shown.ts";
import { parseDuration } from "../../settings/values.ts";
import { requireNamedWorkspace } from "../data-directory.ts";
import { changeKeys, keysOf, workspaceOfKeyId } from "../keys.ts";
import { addCommonOptions, collect, type Session, STORED } from "../session.ts";
import { table } from "../terminal.ts";

/** How long a rotated key stays valid by default. */
const OVERLAP_MS = 24 * 3_600_000;

interface CreateOptions {
  workspace: string;
  label?: string;
  scope: Scope;
  agent?: string[];
  network?: string[];
  expires?: number;
}

/** The options of a command on one key. */
interface OfKey {
  workspace?: string;
}

interface RotateOptions extends OfKey {
  overlap?: number;
}

interface LimitOptions extends OfKey {
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
    .action((keyId: string, options: RotateOptions) => rotateKey(session, keyId, options));
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
    .action((keyId: string, options: OfKey) => revokeKey(session, keyId, options));
  for (const command of [rotate, limit, revoke]) {
    command.option("--workspace <id>", "the key's workspace (default: whichever has it)");
  }
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
  await requireNamedWorkspace(options, options.workspace);
  const key = await changeKeys(session, options, options.workspace, "key.create", {
    label: options.label ?? null,
    scope: options.scope,
    agents: options.agent ? [...new Set(options.agent)] : null,
    networks: options.network ? [...new Set(options.network)] : null,
    expiresInMs: options.expires ?? null,
  });
  const { id, api_key, label, scope, agents, networks, expires_at } = key;
  const value = { key_id: id, api_key, workspace_id: options.workspace, label, scope, agents, networks, expires_at };
  await session.print(value, [
    `Key      ${id}`,
    `API key  ${api_key}`,
    `Scope    ${scope}${agents ? `, agents ${agents.join(", ")}` : ""}`,
    ...(networks ? [`From     ${networks.join(", ")}`] : []),
    `Expires  ${expires_at ?? "never"}`,
    "",
    "The key is shown only now. Send it as the header X-API-Key.",
  ]);
}

async function showKeys(session: Session, options: { workspace: string }): Promise<void> {
  const now = systemClock();
  const keys = (await keysOf(options, options.workspace)).map((key) => shownKey(key, now));
  const rows = keys.map((key) => [
    key.id,
    key.state.replace("_", " "),
    key.scope,
    key.agents?.join(",") ?? "every agent",
    key.last_used_at ?? "never used",
    key.label ?? "",
  ]);
  const heading = ["ID", "STATE", "SCOPE", "AGENTS", "LAST USED", "LABEL"];
  const data = keys.map((key) => shown(key, options.workspace));
  await session.print({ data }, table(heading, rows, "There are no keys."));
}

async function rotateKey(session: Session, keyId: string, options: RotateOptions): Promise<void> {
  const workspaceId = await workspaceOfKeyId(options, keyId);
  const overlapMs = options.overlap ?? OVERLAP_MS;
  const key = await changeKeys(session, options, workspaceId, "key.rotate", { keyId, overlapMs });
  const value = {
    key_id: key.id,
    api_key: key.api_key,
    workspace_id: workspaceId,
    expires_at: key.expires_at,
    replaces: key.replaces,
    replaced_expires_at: key.replaced_expires_at,
  };
  await session.print(value, [
    `Key      ${key.id}`,
    `API key  ${key.api_key}`,
    "",
    `The key is shown only now. ${key.replaces} stays valid until ${key.replaced_expires_at}.`,
  ]);
}

async function limitKey(session: Session, keyId: string, options: LimitOptions): Promise<void> {
  const { network, anywhere = false } = options;
  if ((network === undefined) !== anywhere) throw new Failure("usage", "Give either --network or --anywhere.");
  const workspaceId = await workspaceOfKeyId(options, keyId);
  const networks = network ? [...new Set(network)] : null;
  const key = await changeKeys(session, options, workspaceId, "key.change", { keyId, networks });
  const where = key.networks === null ? "everywhere" : key.networks.join(", ");
  await session.print(shown(key, workspaceId), [`Key ${key.id} is accepted from ${where}.`]);
}

async function revokeKey(session: Session, keyId: string, options: OfKey): Promise<void> {
  const workspaceId = await workspaceOfKeyId(options, keyId);
  const key = await changeKeys(session, options, workspaceId, "key.revoke", { keyId });
  await session.print(shown(key, workspaceId), [`Key ${key.id} was revoked at ${key.revoked_at}.`]);
}

function shown(key: ShownKey, workspaceId: string) {
  const { id, label, scope, agents, networks, created_at, created_by, expires_at, last_used_at, revoked_at } = key;
  return {
    ...{ key_id: id, workspace_id: workspaceId, label, scope, agents, networks, created_at, created_by },
    ...{ expires_at, last_used_at, revoked_at },
  };
}
