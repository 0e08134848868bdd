/** Every setting: its kind, its default, and the line of `--help` that explains it. */
import type { SettingName, Settings } from "./schema.ts";
import * as values from "./values.ts";

/** What the defaults depend on. */
export interface World {
  /** The directory that the command was started in. */
  cwd: string;
  /** Processor cores. */
  cores: number;
}

/** One setting. */
export interface Definition<N extends SettingName = SettingName> {
  name: N;
  kind: values.Kind<Settings[N]>;
  fallback: (world: World) => Settings[N];
  help: string;
  /** Shown as `********` wherever settings are shown. */
  secret?: true;
}

function define<N extends SettingName>(
  name: N,
  kind: values.Kind<Settings[N]>,
  fallback: (world: World) => Settings[N],
  help: string,
): Definition {
  // A definition of one setting is used only with that setting's own values.
  return { name, kind, fallback, help } as unknown as Definition;
}

/** All settings, in the order in which they are shown. */
export const DEFINITIONS: readonly Definition[] = [
  define(
    "data_dir",
    values.path,
    ({ cwd }) => values.path.read("governd-data", cwd),
    "where everything is kept",
  ),
  define("listen", values.address, () => ({ host: "127.0.0.1", port: 8443 }), "address of the API"),
  define(
    "tls",
    values.choice("auto", "files", "off"),
    () => "auto",
    "auto: own certificate authority; files: tls_cert and tls_key; off: behind a TLS proxy",
  ),
  define("tls_cert", values.optionalPath, () => null, "certificate chain in PEM, with tls = files"),
  define("tls_key", values.optionalPath, () => null, "its private key in PEM, with tls = files"),
  define(
    "client_ca",
    values.optionalPath,
    () => null,
    "authorities in PEM: every client must then show a certificate by one of them",
  ),
  define("trusted_proxies", values.networks, () => [], "proxies that requests may come from, with tls = off"),
  define(
    "hostnames",
    values.hostnames,
    () => [],
    "further names in the certificate, the first one names the host in seals",
  ),
  define("signup", values.choice("invite", "open", "closed"), () => "invite", "who may make an account"),
  define(
    "seal_interval",
    values.duration,
    () => 10_000,
    "a workspace is sealed this long after its first unsealed event",
  ),
  define(
    "seal_key",
    values.privateKey,
    () => null,
    "the key that signs seals: a file, or in the environment its PEM itself (default: in the data directory)",
  ),
  define(
    "encryption_key_file",
    values.optionalPath,
    () => null,
    "file with the key that the databases are encrypted with (default: they are not)",
  ),
  define(
    "anchor_command",
    values.optionalPath,
    () => null,
    "a program that is run for each seal, with the seal on its standard input",
  ),
  define("anchor_url", values.httpsUrl, () => null, "an https address that each seal is posted to"),
  define(
    "witnesses",
    values.witnesses,
    () => [],
    "witnesses that cosign seals (C2SP tlog-witness), each a verifier key and an https address",
  ),
  define("rate_limit", values.integer, () => 0, "requests per second for each API key; 0 is no limit"),
  define(
    "auth_failure_limit",
    values.integer,
    () => 6_000,
    "requests per minute with an unknown API key from one address; 0 is no limit",
  ),
  define("max_connections", values.integer, () => 10_000, "open connections; 0 is no limit"),
  define(
    "idle_timeout",
    values.duration,
    () => 60_000,
    "time without a byte after which a connection is closed",
  ),
  define("request_timeout", values.duration, () => 120_000, "time that a request's body may take to come"),
  define("max_body", values.size, () => 2 * 1024 * 1024, "largest request body"),
  define("quota_entries", values.integer, () => 0, "entries that one workspace may hold; 0 is no limit"),
  define("quota_bytes", values.size, () => 0, "what one workspace's database may hold; 0 is no limit"),
  define(
    "search_memory",
    values.size,
    () => 256 * 1024 * 1024,
    "what the search indexes of all workspaces may occupy in memory together",
  ),
  define(
    "embeddings_url",
    values.webAddress,
    () => null,
    "an OpenAI-compatible embeddings API that search uses too, for example http://127.0.0.1:11434/v1 (default: none)",
  ),
  define("embeddings_model", values.optionalText, () => null, "its model, with embeddings_url"),
  define(
    "embeddings_api_key_file",
    values.optionalPath,
    () => null,
    "file with its API key, with embeddings_url",
  ),
  define(
    "embeddings_path",
    values.optionalPath,
    () => null,
    "directory of a Model2Vec model that search uses too, in place of embeddings_url",
  ),
  define(
    "threads",
    values.integer,
    ({ cores }) => Math.max(1, cores - 1),
    "workspace threads (default: cores - 1)",
  ),
  define(
    "log_level",
    values.choice("debug", "info", "warn", "error"),
    () => "info",
    "least severity that is logged",
  ),
  define(
    "log_format",
    values.choice("auto", "text", "json"),
    () => "auto",
    "auto: text on a terminal, JSON otherwise",
  ),
  define("metrics_listen", values.orOff(values.address), () => null, "address of the Prometheus metrics"),
  define("engine", values.choice("embedded"), () => "embedded", "where workspaces are stored"),
  define("backup_dir", values.optionalPath, () => null, "directory that backups are made in"),
  define(
    "backup_every",
    values.orOff(values.duration),
    () => null,
    "the daemon makes a backup this long after the last one, with backup_dir (default: off)",
  ),
  define("backup_keep", values.integer, () => 7, "how many backups it keeps"),
];

/** `data_dir` is the flag `--data-dir`. */
export function flagOf(name: SettingName): string {
  return `--${name.replaceAll("_", "-")}`;
}

/** `data_dir` is the variable `GOVERND_DATA_DIR`. */
export function variableOf(name: SettingName): string {
  return `${VARIABLE_PREFIX}${name.toUpperCase()}`;
}

export const VARIABLE_PREFIX = "GOVERND_";
/** The variable that names the settings file; not a setting itself. */
export const CONFIG_VARIABLE = "GOVERND_CONFIG";
/** The settings file that is read when none is named, if it is there. */
export const CONFIG_FILE = "governd.toml";
