/**
 * Combines flags, environment, settings file and defaults, in this order of precedence, into the settings in force.
 * Reports every mistake at once.
 */
import { relative } from "node:path";
import { parse, TomlError } from "smol-toml";
import { plainIssuer } from "../oidc/answers.ts";
import {
  API_KEY_VARIABLE,
  CONFIG_VARIABLE,
  DEFINITIONS,
  type Definition,
  defaultOf,
  flagOf,
  type SettingName,
  type Settings,
  VARIABLE_PREFIX,
  variableOf,
  type World,
} from "./definitions.ts";
import { injectedVariables } from "./injected.ts";
import { Mistaken } from "./values.ts";

/** All sources of settings. */
export interface Sources {
  flags: Readonly<Partial<Record<SettingName, string>>>;
  /** The environment; only `GOVERND_…` is read. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The settings file; null when there is none. */
  file: { path: string; directory: string; text: string } | null;
  world: World;
}

/** Where each value came from, as text for messages. */
export type Origins = Readonly<Record<SettingName, string>>;

type Resolution = { ok: true; settings: Settings; origins: Origins } | { ok: false; mistakes: readonly string[] };

interface Candidate {
  raw: unknown;
  origin: string;
  /** The directory that a relative path is relative to. */
  base: string;
}

/** Returns the settings, or all mistakes. Reads nothing but its arguments. */
export function resolveSettings(sources: Sources): Resolution {
  const mistakes: string[] = [];
  const table = readTable(sources, mistakes);
  mistakes.push(...unknownNames(sources, table));
  const settings: Record<string, unknown> = {};
  const origins: Record<string, string> = {};
  for (const definition of DEFINITIONS) {
    const candidate = choose(definition, sources, table);
    origins[definition.name] = candidate?.origin ?? "default";
    try {
      settings[definition.name] = candidate
        ? definition.kind.read(candidate.raw, candidate.base)
        : defaultOf(definition, sources.world);
    } catch (error) {
      if (!(error instanceof Mistaken)) throw error;
      mistakes.push(`${definition.name} (${origins[definition.name]}): ${error.message}`);
    }
  }
  mistakes.push(...conflicts(settings as Partial<Settings>, origins as Origins));
  if (mistakes.length > 0) return { ok: false, mistakes };
  return { ok: true, settings: settings as Settings, origins: origins as Origins };
}

function readTable(sources: Sources, mistakes: string[]): Record<string, unknown> {
  if (!sources.file) return {};
  try {
    return flattened(parse(sources.file.text), sources.file.path, mistakes);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The library's message quotes the line, which may hold a secret, so only its position is reported.
    mistakes.push(`${sources.file.path} line ${error.line}, column ${error.column}: this is not valid TOML`);
    return {};
  }
}

/** Settings that the file may group in a table: `url` in `[embeddings]` is `embeddings_url`. */
const TABLES = ["embeddings", "oidc"];

function flattened(table: Record<string, unknown>, path: string, mistakes: string[]): Record<string, unknown> {
  const flat: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(table)) {
    const isTable = TABLES.includes(name) && typeof value === "object" && value !== null;
    const members = isTable
      ? Object.entries(value).map(([member, its]): [string, unknown] => [`${name}_${member}`, its])
      : [[name, value] as [string, unknown]];
    for (const [member, its] of members) {
      if (Object.hasOwn(flat, member)) mistakes.push(`${member} (${path}): is given twice`);
      flat[member] = its;
    }
  }
  return flat;
}

function* unknownNames(sources: Sources, table: Record<string, unknown>): Generator<string> {
  const names = new Set<string>(DEFINITIONS.map(({ name }) => name));
  for (const name of Object.keys(table)) {
    if (!names.has(name)) yield `${name} (${sources.file?.path}): there is no such setting`;
  }
  const ours = [CONFIG_VARIABLE, API_KEY_VARIABLE, ...DEFINITIONS.map(({ name }) => variableOf(name))];
  const variables = new Set<string>([...ours, ...injectedVariables(sources.environment)]);
  for (const variable of Object.keys(sources.environment)) {
    if (!variable.startsWith(VARIABLE_PREFIX) || variables.has(variable)) continue;
    yield `${variable} (environment): there is no such setting`;
  }
}

function choose(definition: Definition, sources: Sources, table: Record<string, unknown>): Candidate | undefined {
  const { name } = definition;
  const base = sources.world.cwd;
  const flag = sources.flags[name];
  if (flag !== undefined) return { raw: flag, origin: flagOf(name), base };
  const variable = sources.environment[variableOf(name)];
  if (variable !== undefined) return { raw: variable, origin: variableOf(name), base };
  if (sources.file && Object.hasOwn(table, name)) {
    return { raw: table[name], origin: sources.file.path, base: sources.file.directory };
  }
  return undefined;
}

/** Settings that have no meaning without a libSQL server. */
const OF_SERVER = [
  "engine_url",
  "engine_admin_url",
  "engine_admin_token",
  "node_url",
] as const satisfies readonly SettingName[];

/** Checks the rules between settings. A setting with an invalid value is absent and not reported twice. */
function* conflicts(settings: Partial<Settings>, origins: Origins): Generator<string> {
  const from = (name: SettingName) => `${name} (${origins[name]})`;
  const { tls, client_ca: clientCa, trusted_proxies: proxies, listen, metrics_listen: metrics } = settings;
  for (const name of ["tls_cert", "tls_key"] as const) {
    if (tls === "files" && settings[name] === null) yield `${name}: is needed, since ${from("tls")} is files`;
    if (tls && tls !== "files" && settings[name]) {
      yield `${from(name)}: is only used with tls = files, but ${from("tls")} is ${tls}`;
    }
  }
  if (tls === "off") {
    if (clientCa) yield `${from("client_ca")}: cannot be used, since ${from("tls")} is off: the proxy asks`;
    if (proxies?.length === 0) {
      yield `trusted_proxies: is needed, since ${from("tls")} is off: name the proxies that end TLS`;
    }
  } else if (tls && proxies && proxies.length > 0) {
    yield `${from("trusted_proxies")}: is only used with tls = off, but ${from("tls")} is ${tls}`;
  }
  if (settings.seal_key_lifetime && settings.seal_key) {
    yield `${from("seal_key_lifetime")}: cannot be used, since ${from("seal_key")} keeps the key outside the data directory: replace it there with \`governd rotate-seal-key --new-key\``;
  }
  const { embeddings_url: url, embeddings_path: path, embeddings_model: model } = settings;
  if (url && path) yield `${from("embeddings_path")}: is used in place of ${from("embeddings_url")}: give one of them`;
  if (url && model === null) yield `embeddings_model: is needed, since ${from("embeddings_url")} is given`;
  for (const name of ["embeddings_model", "embeddings_api_key_file"] as const) {
    if (url === null && settings[name]) yield `${from(name)}: is only used with embeddings_url`;
  }
  const { oidc_issuer: issuer, oidc_client_id: client, oidc_only: only } = settings;
  if (issuer && client === null) yield `oidc_client_id: is needed, since ${from("oidc_issuer")} is given`;
  if (issuer === null && client) yield `${from("oidc_client_id")}: is only used with oidc_issuer`;
  if (
    issuer &&
    settings.workload?.some((rule) => plainIssuer(rule.issuer) === plainIssuer(issuer) && rule.audience === client)
  ) {
    yield `${from("workload")}: needs an audience other than oidc_client_id, or the tokens of people who sign in would fit`;
  }
  if (issuer === null && only) yield `${from("oidc_only")}: is only used with oidc_issuer`;
  if (settings.engine === "libsql-server" && settings.engine_url === null) {
    yield `engine_url: is needed, since ${from("engine")} is libsql-server`;
  }
  if (settings.engine === "embedded")
    for (const name of OF_SERVER) {
      if (settings[name] != null) yield `${from(name)}: is only used with engine = libsql-server`;
    }
  if (settings.engine_admin_url && settings.engine_admin_token === null) {
    yield `engine_admin_token: is needed, since ${from("engine_admin_url")} is given: an admin API without a key lets everybody who reaches it delete every workspace, so start the server with --admin-auth-key`;
  }
  const { data_dir: dataDir, backup_dir: directory, backup_every: every } = settings;
  if (every && directory === null) yield `backup_dir: is needed, since ${from("backup_every")} is given`;
  if (dataDir && directory && !relative(dataDir, directory).startsWith("..")) {
    yield `${from("backup_dir")}: is within ${from("data_dir")}, and would be lost with it`;
  }
  const { sink_directory: sinks } = settings;
  if (dataDir && sinks && [relative(dataDir, sinks), relative(sinks, dataDir)].some((way) => !way.startsWith(".."))) {
    yield `${from("sink_directory")}: must be apart from ${from("data_dir")}, in which nothing else may write`;
  }
  if (metrics && listen && metrics.port !== 0 && metrics.port === listen.port && metrics.host === listen.host) {
    yield `${from("metrics_listen")}: is the address of ${from("listen")}`;
  }
}

/** Returns the settings in their order, as a person writes them. Secrets are masked. */
export const showSettings = (settings: Settings, origins: Origins) =>
  DEFINITIONS.map(({ name, kind }) => ({ name, value: kind.show(settings[name]), origin: origins[name] }));

/** Returns the settings as lines for `governd.toml`, each with a comment that says where its value came from. */
export function settingsAsToml(shown: ReturnType<typeof showSettings>): string {
  const lines = shown.map(({ name, value, origin }) => {
    const unset = value === "";
    const written = typeof value === "number" ? `${value}` : JSON.stringify(value);
    return { text: unset ? `# ${name} is not set` : `${name} = ${written}`, origin: unset ? "" : `# ${origin}` };
  });
  const width = Math.max(...lines.map(({ text }) => text.length));
  return lines.map(({ text, origin }) => `${text.padEnd(width)}  ${origin}`.trimEnd()).join("\n");
}
