/**
 * The engine of the daemons in tests. With `TEST_ENGINE=libsql-server`, each daemon has its own libSQL server, in this
 * process or in another. Tests of that engine choose it themselves. Commands beside a daemon use its server.
 */
import type { SettingName } from "../../src/settings/definitions.ts";
import { variableOf } from "../../src/settings/definitions.ts";
import type { ServerOptions } from "../../src/settings/server-options.ts";

/** What a daemon must know of a libSQL server. */
interface Server {
  url: string;
  /** Empty for a server that requires none. */
  token: string;
  adminUrl: string;
  adminToken: string | null;
}

export type TestEngine = "embedded" | "libsql-server";

/** The engine of daemons whose test chooses none. */
export const TEST_ENGINE: TestEngine = process.env.TEST_ENGINE === "libsql-server" ? "libsql-server" : "embedded";

/** The server of each known data directory; null for the embedded engine. */
const servers = new Map<string, ServerOptions | null>();

/** Returns the server that stores the workspaces of a data directory; null for the embedded engine. */
export const serverOfDirectory = (dataDir: string): ServerOptions | null => servers.get(dataDir) ?? null;

/** Notes which server stores the workspaces of a data directory; null for the embedded engine. */
export function noteServer(dataDir: string, server: ServerOptions | null): void {
  servers.set(dataDir, server);
}

/** Reports whether {@link noteServer} was called for a data directory. */
export const isKnown = (dataDir: string): boolean => servers.has(dataDir);

/** Returns the settings of a daemon on a libSQL server. */
export function flagsFor({ url, token, adminUrl, adminToken }: Server): Partial<Record<SettingName, string>> {
  return settingsFor({ url, authToken: token === "" ? null : token, adminUrl, adminToken, replicaUrls: [] });
}

function settingsFor({ url, authToken, adminUrl, adminToken }: ServerOptions): Partial<Record<SettingName, string>> {
  return {
    engine: "libsql-server",
    engine_url: url,
    ...(authToken !== null && { engine_auth_token: authToken }),
    ...(adminUrl !== null && adminToken !== null && { engine_admin_url: adminUrl, engine_admin_token: adminToken }),
  };
}

/** Returns the environment for a process that works on a data directory: a path, or command words with `--data-dir`. */
export function engineEnvironment(where: string | readonly string[]): Record<string, string> {
  const dataDir = typeof where === "string" ? where : where[where.indexOf("--data-dir") + 1];
  const server = dataDir === undefined ? null : serverOfDirectory(dataDir);
  if (server === null) return {};
  return Object.fromEntries(
    Object.entries(settingsFor(server)).map(([name, value]) => [variableOf(name as SettingName), value]),
  );
}
