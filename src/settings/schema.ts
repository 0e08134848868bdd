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
  trusted_proxies: Type.Array(Type.String()),
  hostnames: Type.Array(Type.String()),
  signup: Type.Enum(["invite", "open", "closed"]),
  seal_interval: Type.Integer({ minimum: SEAL_INTERVAL_MIN_MS, maximum: SEAL_INTERVAL_MAX_MS }),
  seal_key: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  anchor_command: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  anchor_url: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  witnesses: Type.Array(Type.String()),
  rate_limit: Type.Integer({ minimum: 0, maximum: RATE_LIMIT_MAX }),
  max_body: Type.Integer({ minimum: BODY_MIN_BYTES, maximum: BODY_MAX_BYTES }),
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
});

/** The settings in force. */
export type Settings = Static<typeof SettingsSchema>;

/** The name of a setting, as it is written in `governd.toml`. */
export type SettingName = keyof Settings;
