/**
 * Flag, then environment, then file, then default: one pure function from everything that was said to one
 * typed object, or to every mistake at once.
 */
import { relative } from "node:path";
import { parse, TomlError } from "smol-toml";
import { Value } from "typebox/value";
import {
  CONFIG_VARIABLE,
  DEFINITIONS,
  type Definition,
  flagOf,
  VARIABLE_PREFIX,
  variableOf,
  type World,
} from "./definitions.ts";
import { type SettingName, type Settings, SettingsSchema } from "./schema.ts";
import { formatDuration, Mistaken } from "./values.ts";

/** Everything that was said, as it was said. */
export interface Spoken {
  /** Flags by the name of the setting, only those that were given. */
  flags: Readonly<Partial<Record<SettingName, string>>>;
  /** The environment; only `GOVERND_…` is looked at. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The settings file, when there is one. */
  file: { path: string; directory: string; text: string } | null;
  world: World;
}

/** Where a value came from, in words for a message. */
export type Origins = Readonly<Record<SettingName, string>>;

export type Resolution =
  | { ok: true; settings: Settings; origins: Origins }
  | { ok: false; mistakes: readonly string[] };

interface Candidate {
  raw: unknown;
  origin: string;
  /** What a relative path is relative to. */
  base: string;
}

/** Turns what was said into settings. Pure: the same words give the same answer. */
export function resolveSettings(spoken: Spoken): Resolution {
  const mistakes: string[] = [];
  const table = readTable(spoken, mistakes);
  findUnknown(spoken, table, mistakes);
  const settings: Record<string, unknown> = {};
  const origins: Record<string, string> = {};
  for (const definition of DEFINITIONS) {
    const candidate = choose(definition, spoken, table);
    origins[definition.name] = candidate?.origin ?? "default";
    try {
      settings[definition.name] = candidate
        ? readValue(definition, candidate)
        : definition.fallback(spoken.world);
    } catch (error) {
      if (!(error instanceof Mistaken)) throw error;
      mistakes.push(`${definition.name} (${origins[definition.name]}): ${error.message}`);
    }
  }
  checkTogether(settings as Partial<Settings>, origins as Origins, mistakes);
  if (mistakes.length > 0) return { ok: false, mistakes };
  return { ok: true, settings: settings as Settings, origins: origins as Origins };
}

function readTable(spoken: Spoken, mistakes: string[]): Record<string, unknown> {
  if (!spoken.file) return {};
  try {
    return flattened(parse(spoken.file.text), spoken.file.path, mistakes);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The library's message quotes the line, which may hold a secret: the place is enough.
    mistakes.push(`${spoken.file.path} line ${error.line}, column ${error.column}: this is not valid TOML`);
    return {};
  }
}

/** Settings that a table of the file may hold together: `embeddings = { url = … }` is `embeddings_url`. */
const TABLES = ["embeddings"];

function flattened(
  table: Record<string, unknown>,
  path: string,
  mistakes: string[],
): Record<string, unknown> {
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

function findUnknown(spoken: Spoken, table: Record<string, unknown>, mistakes: string[]): void {
  const names = new Set<string>(DEFINITIONS.map(({ name }) => name));
  for (const name of Object.keys(table)) {
    if (!names.has(name)) mistakes.push(`${name} (${spoken.file?.path}): there is no such setting`);
  }
  const variables = new Set<string>([CONFIG_VARIABLE, ...DEFINITIONS.map(({ name }) => variableOf(name))]);
  for (const variable of Object.keys(spoken.environment)) {
    if (variable.startsWith(VARIABLE_PREFIX) && !variables.has(variable)) {
      mistakes.push(`${variable} (environment): there is no such setting`);
    }
  }
}

function choose(
  definition: Definition,
  spoken: Spoken,
  table: Record<string, unknown>,
): Candidate | undefined {
  const { name } = definition;
  const base = spoken.world.cwd;
  const flag = spoken.flags[name];
  if (flag !== undefined) return { raw: flag, origin: flagOf(name), base };
  const variable = spoken.environment[variableOf(name)];
  if (variable !== undefined) return { raw: variable, origin: variableOf(name), base };
  if (spoken.file && Object.hasOwn(table, name)) {
    return { raw: table[name], origin: spoken.file.path, base: spoken.file.directory };
  }
  return undefined;
}

function readValue(definition: Definition, { raw, base }: Candidate): unknown {
  const value = definition.kind.read(raw, base);
  const schema = SettingsSchema.properties[definition.name];
  if (Value.Check(schema, value)) return value;
  const { minimum, maximum } = boundsOf(schema);
  if (minimum === undefined || maximum === undefined) throw new Mistaken("has a value that is not allowed");
  const show = (limit: number) =>
    definition.name === "seal_interval" ? formatDuration(limit) : definition.kind.show(limit as never);
  throw new Mistaken(`must be from ${show(minimum)} to ${show(maximum)}`);
}

interface Bounds {
  minimum?: number;
  maximum?: number;
}

/** The bounds of a number, or of one that may be off. */
function boundsOf(schema: object): Bounds {
  const { anyOf } = schema as { anyOf?: readonly Bounds[] };
  return anyOf?.[0] ?? schema;
}

/** Rules between settings; one that is wrong by itself is absent, and not blamed twice. */
function checkTogether(settings: Partial<Settings>, origins: Origins, mistakes: string[]): void {
  const { tls, trusted_proxies: proxies, listen, metrics_listen: metrics } = settings;
  if (tls !== undefined) {
    const said = `tls (${origins.tls})`;
    for (const name of ["tls_cert", "tls_key"] as const) {
      if (tls === "files" && settings[name] === null) {
        mistakes.push(`${name}: is needed, since ${said} is files`);
      }
      if (tls !== "files" && settings[name]) {
        mistakes.push(`${name} (${origins[name]}): is only used with tls = files, but ${said} is ${tls}`);
      }
    }
    if (tls === "off" && settings.client_ca) {
      mistakes.push(`client_ca (${origins.client_ca}): cannot be used, since ${said} is off: the proxy asks`);
    }
    if (tls === "off" && proxies?.length === 0) {
      mistakes.push(`trusted_proxies: is needed, since ${said} is off: name the proxies that end TLS`);
    }
    if (tls !== "off" && proxies && proxies.length > 0) {
      const origin = origins.trusted_proxies;
      mistakes.push(`trusted_proxies (${origin}): is only used with tls = off, but ${said} is ${tls}`);
    }
  }
  checkEmbeddings(settings, origins, mistakes);
  checkBackups(settings, origins, mistakes);
  if (
    metrics &&
    listen &&
    metrics.port !== 0 &&
    metrics.port === listen.port &&
    metrics.host === listen.host
  ) {
    mistakes.push(`metrics_listen (${origins.metrics_listen}): is the address of listen (${origins.listen})`);
  }
}

function checkEmbeddings(settings: Partial<Settings>, origins: Origins, mistakes: string[]): void {
  const { embeddings_url: url, embeddings_path: path, embeddings_model: model } = settings;
  if (url && path) {
    const said = `embeddings_url (${origins.embeddings_url})`;
    mistakes.push(
      `embeddings_path (${origins.embeddings_path}): is used in place of ${said}: give one of them`,
    );
  }
  if (url && model === null) {
    mistakes.push(`embeddings_model: is needed, since embeddings_url (${origins.embeddings_url}) is given`);
  }
  for (const name of ["embeddings_model", "embeddings_api_key_file"] as const) {
    if (url === null && settings[name]) {
      mistakes.push(`${name} (${origins[name]}): is only used with embeddings_url`);
    }
  }
}

function checkBackups(settings: Partial<Settings>, origins: Origins, mistakes: string[]): void {
  const { data_dir: dataDir, backup_dir: directory, backup_every: every } = settings;
  if (every && directory === null) {
    mistakes.push(`backup_dir: is needed, since backup_every (${origins.backup_every}) is given`);
  }
  if (dataDir && directory && !relative(dataDir, directory).startsWith("..")) {
    mistakes.push(
      `backup_dir (${origins.backup_dir}): is within data_dir (${origins.data_dir}), and would be lost with it`,
    );
  }
}
