/** Checks that a libSQL server is fit for use before a daemon starts. Each error says how to fix the problem. */
import { Failure } from "../failure.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import { ServerAdmin } from "./admin.ts";
import { FIRST_FOR_REPLICAS, isForReplicas } from "./replicas.ts";
import { NoAnswer, ServerClient, ServerRefused, StatementFailed } from "./server.ts";
import { NODES_NAMESPACE } from "./server-engine.ts";

/** How long the server may take for one answer, ms. */
const TIMEOUT_MS = 5_000;
/**
 * How long a start waits for a server that does not answer, since it may be restarting, and the pause between attempts,
 * ms.
 */
export const PATIENCE_MS = 5_000;
const PAUSE_MS = 200;

/** What the daemon knows and the server does not tell. */
interface NamespaceCounts {
  /** The setting `engine_max_namespaces`. */
  maxNamespaces: number;
  /** The number of logs. Each has a namespace. */
  logs: number;
}

/**
 * Checks the server before anything is created on it.
 * @throws {Failure} `engine_unusable`
 */
export async function requireUsable(options: ServerOptions): Promise<void> {
  const server = new ServerClient(options.url, options.authToken);
  await explained(options, async () => {
    const version = await server.version(TIMEOUT_MS);
    if (options.replicaUrls.length > 0) requireDurableReplication(version);
    await requireAdminKey(options);
  });
}

/**
 * Checks that there are few enough namespaces, and that the namespace of the nodes is durable and may be written.
 * @throws {Failure} `engine_unusable`
 */
export async function requireDurable(options: ServerOptions, known: NamespaceCounts): Promise<void> {
  requireEnoughNamespaces(known);
  await explained(options, async () => {
    await requireStrong(options);
    await requireWriting(options);
  });
}

/**
 * Compares the number of namespaces with the setting, since the server does not tell its own limit.
 * @throws {Failure}
 */
function requireEnoughNamespaces({ maxNamespaces, logs }: NamespaceCounts): void {
  const needed = logs + 1;
  if (needed <= maxNamespaces) return;
  throw unusable(
    `There are ${needed} namespaces (one for each workspace, the installation and the nodes), and engine_max_namespaces is ${maxNamespaces}. With more than it keeps open, the server denies at times that a workspace exists: start it with --max-active-namespaces of at least ${needed}, and set engine_max_namespaces to the same.`,
  );
}

function requireDurableReplication(version: [number, number, number] | null): void {
  if (isForReplicas(version)) return;
  const shown = version?.join(".") ?? "unknown";
  throw unusable(
    `replica_urls are set, and the server's version is ${shown}: before ${FIRST_FOR_REPLICAS} it never makes its replication log durable, so that a crash of its machine leaves replicas with events that the server lost. Use a newer server, or remove replica_urls.`,
  );
}

async function requireAdminKey({ adminUrl, adminToken }: ServerOptions): Promise<void> {
  if (adminUrl === null || adminToken === null) return;
  const admin = new ServerAdmin(adminUrl, adminToken);
  if ((await admin.statusWithoutKey()) !== 401) {
    throw unusable(
      "The admin API asks for no key, so everybody who reaches it can delete every workspace. Start the server with --admin-auth-key, and set engine_admin_token to the same.",
    );
  }
  await admin.config(NODES_NAMESPACE);
}

/** Requires that commits are on disk before they are acknowledged: `synchronous` is FULL. @throws {Failure} */
async function requireStrong(options: ServerOptions): Promise<void> {
  const { adminUrl, adminToken } = options;
  const server = new ServerClient(options.url, options.authToken);
  const [[[synchronous = FULL] = []] = []] = await server.transact(
    NODES_NAMESPACE,
    "read",
    [{ sql: "PRAGMA synchronous" }],
    TIMEOUT_MS,
  );
  const config =
    adminUrl === null || adminToken === null
      ? null
      : await new ServerAdmin(adminUrl, adminToken).config(NODES_NAMESPACE);
  const isStrong = config === null ? Number(synchronous) >= FULL : config.durability_mode === "strong";
  if (isStrong) return;
  throw unusable(
    `The namespace ${NODES_NAMESPACE} has the durability_mode ${config?.durability_mode ?? "relaxed"}: a crash of the server's machine loses what was acknowledged. Set it with the admin API: POST /v1/namespaces/${NODES_NAMESPACE}/config with {"durability_mode":"strong"}, and the same for each workspace.`,
  );
}

/** The value of `PRAGMA synchronous` with which a commit waits for the disk. */
const FULL = 2;

async function requireWriting({ url, authToken }: ServerOptions): Promise<void> {
  // This transaction changes nothing, but needs the permission to write.
  const nothing = { sql: "DELETE FROM governd_leases WHERE 0" };
  await new ServerClient(url, authToken).transact(NODES_NAMESPACE, "write", [nothing], TIMEOUT_MS);
}

const unusable = (message: string, cause?: unknown): Failure => new Failure("engine_unusable", message, { cause });

/** Runs a check, and repeats it while the server does not answer. @throws {Failure} `engine_unusable` */
async function explained(options: ServerOptions, check: () => Promise<void>): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const mayPass = error instanceof NoAnswer || (error instanceof StatementFailed && error.isPassing);
      if (!mayPass || performance.now() > until) throw explanation(options, error);
    }
    await Bun.sleep(PAUSE_MS);
  }
}

function explanation(options: ServerOptions, error: unknown): unknown {
  if (error instanceof NoAnswer) {
    return unusable(
      `The libSQL server ${options.url} does not answer (${error.message}). Start it, or check engine_url.`,
      error,
    );
  }
  if (error instanceof StatementFailed) {
    return unusable(
      `The libSQL server ${options.url} does not write in the namespace ${NODES_NAMESPACE} (${error.message}). Look into the server's log.`,
      error,
    );
  }
  return error instanceof ServerRefused ? unusable(whyRefused(error), error) : error;
}

/** Returns what the operator can do about a refusal. */
function whyRefused({ status, message }: ServerRefused): string {
  switch (status) {
    case 401:
      return "The libSQL server or its admin API does not accept the token: check engine_auth_token and engine_admin_token, and when the token ends.";
    case 403:
      return 'The token of the libSQL server lacks a permission: it must allow reading and writing in all namespaces (no "a":"ro").';
    case 404:
      return `The libSQL server has no namespace ${NODES_NAMESPACE}, or the token is not for it: set engine_admin_url so that governd creates it, and use a token for all namespaces.`;
    default:
      return `${message}.`;
  }
}
