/** Workspaces that are about to move between their files and a libSQL server. */
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import type { LibsqlServer } from "../support/libsql-server.ts";

/** A daemon that was embedded, and is a node of a server from now on: its workspaces are still in their files. */
export async function settled(
  server: LibsqlServer,
  entriesThere = 0,
): Promise<{ daemon: TestDaemon; workspace: TestWorkspace }> {
  const daemon = await TestDaemon.start({ engine: "embedded" });
  const workspace = await daemon.workspace();
  const entries = Array.from({ length: entriesThere }, (_, i) => ({
    key: `customers/${i}`,
    value: `${i} ${"x".repeat(100)}`,
  }));
  await workspace.client.writeAll("many", entries);
  await daemon.restart(0, {
    engine: "libsql-server",
    engine_url: server.url,
    engine_auth_token: server.token,
    engine_admin_url: server.adminUrl,
    engine_admin_token: server.adminToken,
  });
  return { daemon, workspace: { ...workspace, client: daemon.client(workspace.client.apiKey) } };
}

/** The command that moves them. */
export const words = (daemon: TestDaemon, server: LibsqlServer, to: string): string[] => [
  ...["migrate", "--to", to, "--json", "--data-dir", daemon.dataDir, "--engine", "libsql-server"],
  ...["--engine-url", server.url, "--engine-auth-token", server.token],
  ...["--engine-admin-url", server.adminUrl, "--engine-admin-token", server.adminToken as string],
];
