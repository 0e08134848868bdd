/** The libSQL server that the settings name. */
import { readText } from "../failure.ts";
import type { SettingName, Settings } from "./definitions.ts";
import { isTokenPath } from "./token.ts";

/** A libSQL server, as plain data that can be sent to threads. */
export interface ServerOptions {
  url: string;
  /** Null for a server that requires none. */
  authToken: string | null;
  /** Null when all namespaces exist already. */
  adminUrl: string | null;
  adminToken: string | null;
  /** Replicas of the server, from which many rows are read. */
  replicaUrls: readonly string[];
}

/** The settings that name the server with the workspaces. Commands accept them, too. */
export const SERVER_SETTINGS = [
  "engine",
  "engine_url",
  "engine_admin_url",
  "engine_auth_token",
  "engine_admin_token",
  "replica_urls",
] as const satisfies readonly SettingName[];

/**
 * Returns the server that has the workspaces; null for the embedded engine.
 * @throws {Failure} `invalid_settings` when the file of a token cannot be read
 */
export function serverOptions(settings: Pick<Settings, (typeof SERVER_SETTINGS)[number]>): ServerOptions | null {
  if (settings.engine === "embedded" || settings.engine_url === null) return null;
  return {
    url: settings.engine_url,
    authToken: serverToken(settings),
    adminUrl: settings.engine_admin_url,
    adminToken: tokenOf(settings.engine_admin_token, "the key of the admin API"),
    replicaUrls: settings.replica_urls,
  };
}

/** Returns the token for the server; null for a server that requires none. @throws {Failure} `invalid_settings` */
export const serverToken = (settings: Pick<Settings, "engine_auth_token">): string | null =>
  tokenOf(settings.engine_auth_token, "the token of the libSQL server");

const tokenOf = (setting: string | null, what: string): string | null =>
  setting === null || !isTokenPath(setting) ? setting : readText("invalid_settings", setting, what).trim();
