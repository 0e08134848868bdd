/** Every setting: its kind, its default, and the line of `--help` that explains it. Times are in ms, sizes in bytes. */
import { ISSUED_ROLES } from "../oidc/group-roles.ts";
import { groupRoles } from "./group-role-map.ts";
import { token } from "./token.ts";
import {
  address,
  choice,
  duration,
  hostnames,
  httpsUrl,
  httpUrl,
  integer,
  issuer,
  type Kind,
  networks,
  optionalPath,
  optionalText,
  orOff,
  path,
  privateKey,
  receivers,
  size,
  webAddress,
  webAddresses,
  within,
  witnesses,
  word,
  words,
  workspaceIds,
  yesNo,
} from "./values.ts";
import { workloads } from "./workloads.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
const MIB = 1024 ** 2;
/** The highest value of a limit. A higher limit would limit nothing. */
const RATE_LIMIT_MAX = 1_000_000;
export const BACKUP_KEEP_MAX = 10_000;

/** The facts about the process that defaults depend on. */
export interface World {
  /** The directory in which the command was started. */
  cwd: string;
  cores: number;
}

interface Setting<T> {
  kind: Kind<T>;
  fallback: T | ((world: World) => T);
  help: string;
  /** Whether a change applies only from the next start. The daemon applies other changes on SIGHUP. */
  fixed: boolean;
}

type Fallback<T> = NoInfer<T> | ((world: World) => NoInfer<T>);

const setting = <T>(kind: Kind<T>, fallback: Fallback<T>, help: string): Setting<T> => ({
  kind,
  fallback,
  help,
  fixed: false,
});

const fixed = <T>(kind: Kind<T>, fallback: Fallback<T>, help: string): Setting<T> => ({
  kind,
  fallback,
  help,
  fixed: true,
});

/** All settings, in the order in which they are shown. */
const SETTINGS = {
  data_dir: fixed(path, ({ cwd }) => path.read("governd-data", cwd), "where all data is stored"),
  listen: fixed(address, { host: "127.0.0.1", port: 8443 }, "address of the API"),
  tls: fixed(
    choice("auto", "files", "off"),
    "auto",
    "auto: own certificate authority; files: tls_cert and tls_key; off: behind a TLS proxy",
  ),
  tls_cert: setting(optionalPath, null, "certificate chain in PEM, with tls = files"),
  tls_key: setting(optionalPath, null, "private key of the certificate in PEM, with tls = files"),
  client_ca: setting(
    optionalPath,
    null,
    "authorities in PEM; every client must then present a certificate that one of them issued",
  ),
  trusted_proxies: setting(networks, [], "proxies that requests may come from, with tls = off"),
  hostnames: fixed(hostnames, [], "further names in the certificate; the first one also names the host in seals"),
  signup: setting(choice("invite", "open", "closed"), "invite", "who may create an account"),
  oidc_issuer: setting(issuer, null, "OpenID issuer that people sign in with, for example https://id.example.org"),
  oidc_client_id: setting(optionalText, null, "the client's id at the issuer, with oidc_issuer"),
  oidc_client_secret_file: setting(
    optionalPath,
    null,
    "file with the client's secret at the issuer (default: a public client, which has none)",
  ),
  oidc_ca_file: setting(optionalPath, null, "authorities in PEM that vouch for the issuer (default: the usual ones)"),
  oidc_scopes: setting(words, ["openid", "profile", "email"], "scopes that the issuer is asked for"),
  oidc_groups_claim: setting(word, "groups", "the claim that lists a person's groups"),
  oidc_role_map: setting(groupRoles, [], "roles that the issuer's groups give, in all workspaces or in one"),
  oidc_require_group: setting(optionalText, null, "only people of this group may sign in by the issuer"),
  oidc_default_role: setting(
    choice("none", ...ISSUED_ROLES.toReversed()),
    "none",
    "role in all workspaces of people to whom no group gives one; none: they cannot sign in",
  ),
  oidc_only: setting(
    yesNo,
    false,
    "people sign in by the issuer only; an owner with a second factor still can with a password",
  ),
  workload: setting(
    workloads,
    [],
    "tokens of which issuers act in which workspace: a table [[workload]] each in the settings file, JSON elsewhere",
  ),
  heads_interval: setting(
    within(SECOND_MS, DAY_MS, duration),
    HOUR_MS,
    "the shortest time between two records of how far all workspaces have come",
  ),
  seal_interval: setting(
    within(SECOND_MS, DAY_MS, duration),
    10 * SECOND_MS,
    "a workspace is sealed this long after its first unsealed event",
  ),
  state_roots: setting(
    choice("off", "daily", "hourly"),
    "daily",
    "how often the root over all entries of a workspace is recorded, from which proofs of what was stored are made",
  ),
  seal_key: fixed(
    privateKey,
    null,
    "the key that signs seals: a file, or in the environment its PEM itself (default: in the data directory)",
  ),
  seal_key_lifetime: setting(
    orOff(within(DAY_MS, 3660 * DAY_MS, duration)),
    null,
    "the daemon replaces the key that signs seals at this age, and destroys the old one (default: off)",
  ),
  encryption_key_file: fixed(
    optionalPath,
    null,
    "file with the key that encrypts the databases (default: they are not encrypted)",
  ),
  anchor_command: setting(
    optionalPath,
    null,
    "a program that is run for each seal, with the seal on its standard input",
  ),
  anchor_url: setting(httpsUrl, null, "an https address that each seal is posted to"),
  witnesses: setting(
    witnesses,
    [],
    "witnesses that cosign seals (C2SP tlog-witness), each a verifier key and an https address",
  ),
  timestamp_url: setting(httpUrl, null, "a time stamp authority (RFC 3161) whose token over each seal is kept with it"),
  sink_allow: setting(
    receivers,
    [],
    "receivers that sinks may deliver events to: host, host:port, address or network (default: none)",
  ),
  sink_directory: setting(optionalPath, null, "directory of the files that sinks write (default: they write none)"),
  sink_hold_days: setting(
    within(0, 3660, integer),
    30,
    "days for which a prune keeps events that a sink has not delivered; 0: it waits for none",
  ),
  tlog_public: setting(
    workspaceIds,
    [],
    "workspaces whose checkpoint and tiles of hashes everybody may read (C2SP tlog-tiles), without a key",
  ),
  rate_limit: setting(within(0, RATE_LIMIT_MAX, integer), 0, "requests per second for each API key; 0 is no limit"),
  auth_failure_limit: setting(
    within(0, RATE_LIMIT_MAX, integer),
    6_000,
    "requests per minute with an unknown API key from one address; 0 is no limit",
  ),
  address_rate_limit: setting(
    within(0, RATE_LIMIT_MAX, integer),
    5_000,
    "requests per second from one address, except from this machine; 0 is no limit",
  ),
  max_connections: setting(within(0, 1_000_000, integer), 10_000, "open connections; 0 is no limit"),
  address_connections: setting(
    within(0, 1_000_000, integer),
    1_000,
    "open connections from one address, except from this machine; 0 is no limit",
  ),
  // The runtime accepts no longer idle timeout.
  idle_timeout: setting(
    within(5 * SECOND_MS, 4 * MINUTE_MS, duration),
    MINUTE_MS,
    "time without a byte after which a connection is closed",
  ),
  request_timeout: setting(
    within(SECOND_MS, 60 * MINUTE_MS, duration),
    2 * MINUTE_MS,
    "time in which the body of a request must arrive",
  ),
  max_body: setting(within(MIB / 16, 64 * MIB, size), 4 * MIB, "largest request body"),
  quota_entries: setting(
    within(0, 1_000_000_000_000, integer),
    0,
    "entries that one workspace may hold; 0 is no limit",
  ),
  quota_bytes: setting(within(0, 1024 ** 5, size), 0, "size that one workspace's database may reach; 0 is no limit"),
  quota_answers: setting(
    within(0, 1024 ** 5, size),
    1024 ** 3,
    "size of the answers that one workspace may store for retries; 0 is no limit",
  ),
  search_memory: fixed(
    within(16 * MIB, 1024 ** 4, size),
    256 * MIB,
    "memory for the search indexes of all workspaces together",
  ),
  embeddings_url: fixed(
    webAddress,
    null,
    "an OpenAI-compatible embeddings API that search uses too, for example http://127.0.0.1:11434/v1 (default: none)",
  ),
  embeddings_model: fixed(optionalText, null, "the model, with embeddings_url"),
  embeddings_api_key_file: fixed(optionalPath, null, "file with the API key, with embeddings_url"),
  embeddings_path: fixed(
    optionalPath,
    null,
    "directory of a Model2Vec model that search uses too, instead of embeddings_url",
  ),
  threads: fixed(
    within(1, 256, integer),
    ({ cores }) => Math.max(1, cores - 1),
    "workspace threads (default: cores - 1)",
  ),
  log_level: setting(choice("debug", "info", "warn", "error"), "info", "lowest severity that is logged"),
  log_format: setting(choice("auto", "text", "json"), "auto", "auto: text on a terminal, JSON otherwise"),
  metrics_listen: fixed(orOff(address), null, "address of the Prometheus metrics"),
  engine: fixed(
    choice("embedded", "libsql-server"),
    "embedded",
    "where workspaces are stored: in the data directory, or on a libSQL server that several nodes share",
  ),
  engine_url: fixed(webAddress, null, "the libSQL server, with engine = libsql-server"),
  engine_admin_url: fixed(
    webAddress,
    null,
    "the server's admin API, which creates namespaces (default: all namespaces exist already)",
  ),
  engine_auth_token: fixed(token, null, "the token for the server: a file, or the token itself"),
  engine_admin_token: fixed(token, null, "the key of the admin API: a file, or the key itself"),
  engine_max_namespaces: fixed(
    within(2, 1_000_000, integer),
    100,
    "how many namespaces the server keeps open (its --max-active-namespaces)",
  ),
  replica_urls: fixed(
    webAddresses,
    [],
    "replicas of the server, from which many rows are read (sqld 0.24.33 or newer)",
  ),
  node_url: fixed(webAddress, null, "where other nodes reach this one (default: node_listen)"),
  node_listen: fixed(
    address,
    { host: "127.0.0.1", port: 0 },
    "address for other nodes, with engine = libsql-server; port 0 is any free port",
  ),
  backup_dir: setting(optionalPath, null, "directory for backups"),
  backup_every: setting(
    orOff(within(MINUTE_MS, 366 * DAY_MS, duration)),
    null,
    "the daemon makes a backup this long after the last one, with backup_dir (default: off)",
  ),
  compact_every: setting(
    orOff(within(MINUTE_MS, 366 * DAY_MS, duration)),
    null,
    "the daemon gives the disk space of deleted data back this often (default: off)",
  ),
  backup_keep: setting(within(1, BACKUP_KEEP_MAX, integer), 7, "how many backups are kept"),
};

/** The name of a setting, as it is written in `governd.toml`. */
export type SettingName = keyof typeof SETTINGS;

/** The settings in force. Times are in ms, sizes in bytes, paths absolute. */
export type Settings = {
  [N in SettingName]: (typeof SETTINGS)[N] extends Setting<infer T> ? T : never;
};

/** One setting, with its name. */
export type Definition = Setting<unknown> & { name: SettingName };

/** All settings, in the order in which they are shown. */
export const DEFINITIONS: readonly Definition[] = Object.entries(SETTINGS).map(([name, one]) => ({
  ...(one as Setting<unknown>),
  name: name as SettingName,
}));

/** Returns the default value of a setting. */
export const defaultOf = ({ fallback }: Definition, world: World): unknown =>
  typeof fallback === "function" ? fallback(world) : fallback;

/** Returns the flag of a setting: `--data-dir` for `data_dir`. */
export const flagOf = (name: SettingName): string => `--${name.replaceAll("_", "-")}`;

/** Returns the environment variable of a setting: `GOVERND_DATA_DIR` for `data_dir`. */
export const variableOf = (name: SettingName): string => `${VARIABLE_PREFIX}${name.toUpperCase()}`;

export const VARIABLE_PREFIX = "GOVERND_";
/** The variable that names the settings file. It is not a setting itself. */
export const CONFIG_VARIABLE = "GOVERND_CONFIG";
/** The variable with the API key of commands that send requests to a daemon. It is not a setting either. */
export const API_KEY_VARIABLE = "GOVERND_API_KEY";
/** The settings file that is read if it exists and no other file is named. */
export const CONFIG_FILE = "governd.toml";
