/**
 * Which engine the daemons of tests have. With `TEST_ENGINE=libsql-server`, each has a libSQL server of its own, also one
 * that is a process; a test of that engine asks for it. Commands beside a daemon have its server.
 */
import type { SettingName } from "../../src/settings/definitions.ts";
import { variableOf } from "../../src/settings/definitions.ts";
import type { ServerOptions } from "../../src/settings/server-options.ts";

/** A libSQL server, as far as a daemon must know it. */
interface Server {
  url: string;
  /** Empty for a server that asks for none. */
  token: string;
  adminUrl: string;
  adminToken: string | null;
}

export type TestEngine = "embedded" | "libsql-server";

/** The engine of daemons that do not ask for one. */
export const TEST_ENGINE: TestEngine = process.env.TEST_ENGINE === "libsql-server" ? "libsql-server" : "embedded";

/** The server of each data directory that is known; null for the embedded engine. */
const servers = new Map<string, ServerOptions | null>();

/** The server that has the workspaces of a data directory; null for the embedded engine. */
export const serverOfDirectory = (dataDir: string): ServerOptions | null => servers.get(dataDir) ?? null;

/** Notes which server has the workspaces of a daemon. */
export function noteServer(dataDir: string, server: ServerOptions | null): void {
  servers.set(dataDir, server);
}

/** Whether it is known where the workspaces of a data directory are. */
export const isKnown = (dataDir: string): boolean => servers.has(dataDir);

/** What a daemon on a libSQL server is told of it. */
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

/** The variables of the environment with which a process works on a data directory; `words` may name it. */
export function engineEnvironment(where: string | readonly string[]): Record<string, string> {
  const dataDir = typeof where === "string" ? where : where[where.indexOf("--data-dir") + 1];
  const server = dataDir === undefined ? null : serverOfDirectory(dataDir);
  if (server === null) return {};
  return Object.fromEntries(
    Object.entries(settingsFor(server)).map(([name, value]) => [variableOf(name as SettingName), value]),
  );
}
