/**
 * The settings of the daemon as one typed object, and what each value must be. Units are those of the
 * type: times in milliseconds, sizes in bytes, paths absolute.
 */
import { type Static, Type } from "typebox";

/** Shortest and longest time between a workspace's first unsealed event and its seal. */
export const SEAL_INTERVAL_MIN_MS = 1_000;
export const SEAL_INTERVAL_MAX_MS = 24 * 60 * 60 * 1_000;
/** Bounds of the largest request body that is accepted. */
export const BODY_MIN_BYTES = 64 * 1024;
export const BODY_MAX_BYTES = 64 * 1024 * 1024;
/** More workspace threads than this only cost memory. */
export const THREADS_MAX = 256;
/** Bounds of what all search indexes of the process may occupy. */
export const SEARCH_MEMORY_MIN_BYTES = 16 * 1024 * 1024;
export const SEARCH_MEMORY_MAX_BYTES = 1024 * 1024 * 1024 * 1024;
/** Requests per second for each API key; beyond this a limit limits nothing. */
export const RATE_LIMIT_MAX = 1_000_000;
/** Bounds of the time between two scheduled backups, and of how many are kept. */
export const BACKUP_EVERY_MIN_MS = 60 * 1_000;
export const BACKUP_EVERY_MAX_MS = 366 * 24 * 60 * 60 * 1_000;
export const BACKUP_KEEP_MAX = 10_000;
/** Bounds of the time without a byte after which a connection is closed; the runtime takes no more. */
export const IDLE_TIMEOUT_MIN_MS = 5_000;
export const IDLE_TIMEOUT_MAX_MS = 240_000;
/** Bounds of the time that a large body may take to come. */
export const REQUEST_TIMEOUT_MIN_MS = 1_000;
export const REQUEST_TIMEOUT_MAX_MS = 60 * 60 * 1_000;
/** More connections than any machine has. */
export const CONNECTIONS_MAX = 1_000_000;
/** Beyond these a quota limits nothing. */
export const QUOTA_ENTRIES_MAX = 1_000_000_000_000;
export const QUOTA_BYTES_MAX = 1024 ** 5;

const Address = Type.Object({ host: Type.String(), port: Type.Integer({ minimum: 0, maximum: 65535 }) });

/** An address to listen on. */
export type Address = Static<typeof Address>;

const OptionalText = Type.Union([Type.String({ minLength: 1 }), Type.Null()]);

export const SettingsSchema = Type.Object({
  data_dir: Type.String({ minLength: 1 }),
  listen: Address,
  tls: Type.Enum(["auto", "files", "off"]),
  tls_cert: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  tls_key: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  client_ca: OptionalText,
  trusted_proxies: Type.Array(Type.String()),
  hostnames: Type.Array(Type.String()),
  signup: Type.Enum(["invite", "open", "closed"]),
  seal_interval: Type.Integer({ minimum: SEAL_INTERVAL_MIN_MS, maximum: SEAL_INTERVAL_MAX_MS }),
  seal_key: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  encryption_key_file: OptionalText,
  anchor_command: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  anchor_url: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  witnesses: Type.Array(Type.String()),
  rate_limit: Type.Integer({ minimum: 0, maximum: RATE_LIMIT_MAX }),
  auth_failure_limit: Type.Integer({ minimum: 0, maximum: RATE_LIMIT_MAX }),
  max_connections: Type.Integer({ minimum: 0, maximum: CONNECTIONS_MAX }),
  idle_timeout: Type.Integer({ minimum: IDLE_TIMEOUT_MIN_MS, maximum: IDLE_TIMEOUT_MAX_MS }),
  request_timeout: Type.Integer({ minimum: REQUEST_TIMEOUT_MIN_MS, maximum: REQUEST_TIMEOUT_MAX_MS }),
  max_body: Type.Integer({ minimum: BODY_MIN_BYTES, maximum: BODY_MAX_BYTES }),
  quota_entries: Type.Integer({ minimum: 0, maximum: QUOTA_ENTRIES_MAX }),
  quota_bytes: Type.Integer({ minimum: 0, maximum: QUOTA_BYTES_MAX }),
  search_memory: Type.Integer({ minimum: SEARCH_MEMORY_MIN_BYTES, maximum: SEARCH_MEMORY_MAX_BYTES }),
  embeddings_url: OptionalText,
  embeddings_model: OptionalText,
  embeddings_api_key_file: OptionalText,
  embeddings_path: OptionalText,
  threads: Type.Integer({ minimum: 1, maximum: THREADS_MAX }),
  log_level: Type.Enum(["debug", "info", "warn", "error"]),
  log_format: Type.Enum(["auto", "text", "json"]),
  metrics_listen: Type.Union([Address, Type.Null()]),
  engine: Type.Enum(["embedded"]),
  backup_dir: OptionalText,
  backup_every: Type.Union([
    Type.Integer({ minimum: BACKUP_EVERY_MIN_MS, maximum: BACKUP_EVERY_MAX_MS }),
    Type.Null(),
  ]),
  backup_keep: Type.Integer({ minimum: 1, maximum: BACKUP_KEEP_MAX }),
});

/** The settings in force. */
export type Settings = Static<typeof SettingsSchema>;

/** The name of a setting, as it is written in `governd.toml`. */
export type SettingName = keyof Settings;
