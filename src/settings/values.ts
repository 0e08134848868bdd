/**
 * Reads the values of settings from what a person wrote (text of a flag or variable, or a value of the TOML file),
 * and formats them. Every reader returns the value or throws `Mistaken` with what was expected.
 */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { isId } from "../ids.ts";
import { NoteError } from "../log/note.ts";
import { parseWitness } from "../log/witness.ts";
import { isNetwork } from "../networks.ts";
import { flawOfOwnName, isHostName } from "./host-names.ts";

/** A value that the setting does not accept. The message says what the setting accepts, and never quotes the value. */
export class Mistaken extends Error {}

/** An address to listen on. */
export interface Address {
  host: string;
  port: number;
}

/** How values of one kind are read and shown. Relative paths are relative to the directory `base`. */
export interface Kind<T> {
  /** For `--help`. */
  metavar: string;
  read(raw: unknown, base: string): T;
  show(value: T): string | number | string[];
}

/** The start of a PEM text (RFC 7468). */
export const PEM_BEGINNING = "-----BEGIN ";

const DURATION = /^(\d{1,9})\s*(ms|s|m|h|d)$/;
const DURATION_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZE = /^(\d{1,12})\s*(B|KiB|MiB|GiB)?$/;
const SIZE_BYTES: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
/**
 * A kind whose values are written as text. `parse` gets the text without surrounding space, never empty, and returns
 * undefined when the setting does not accept it. Without `show`, the value is shown as it is.
 */
export function written<T>(
  metavar: string,
  expected: string,
  parse: (text: string, base: string) => T | undefined,
  show: Kind<T>["show"] = (value) => value as string | number,
): Kind<T> {
  return {
    metavar,
    read(raw, base) {
      const text = typeof raw === "string" ? raw.trim() : "";
      const value = text === "" ? undefined : parse(text, base);
      if (value === undefined) throw new Mistaken(expected);
      return value;
    },
    show,
  };
}

/** Like `kind`, but the settings file may also hold a number. */
function orNumber(kind: Kind<number>): Kind<number> {
  const read = (raw: unknown, base: string) => (Number.isSafeInteger(raw) ? (raw as number) : kind.read(raw, base));
  return { ...kind, read };
}

/** Like `kind`, but the setting may be absent. */
export function optional(kind: Kind<string>): Kind<string | null> {
  return { ...kind, show: (value) => (value === null ? "" : kind.show(value)) };
}

/** Returns `90d`, `12h`, `30m`, `10s` or `500ms` in milliseconds; undefined for other text. */
export function parseDuration(raw: string): number | undefined {
  const match = DURATION.exec(raw.trim());
  if (!match) return undefined;
  return Number(match[1]) * (DURATION_MS[match[2] as string] as number);
}

/** Formats a time in the largest unit that states it exactly: 10000 is `10s`. */
export function formatDuration(ms: number): string {
  for (const unit of ["d", "h", "m", "s"]) {
    const size = DURATION_MS[unit] as number;
    if (ms !== 0 && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}

/** Parses `host:port` or `[ipv6]:port`. Returns undefined for other text. */
function parseAddress(raw: string): Address | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(raw.trim());
  if (!match) return undefined;
  const [, six, other, digits] = match;
  const port = Number(digits);
  if (port > 65535) return undefined;
  if (six !== undefined) return isIP(six) === 6 ? { host: six, port } : undefined;
  const host = other as string;
  return isIP(host) === 4 || isHostName(host) ? { host, port } : undefined;
}

/** Formats an address. An IPv6 host is written in brackets. */
export const formatAddress = ({ host, port }: Address): string => `${host.includes(":") ? `[${host}]` : host}:${port}`;

export const resolvePath = (text: string, base: string): string => resolve(base, text);

export const path = written("path", "must be a path", resolvePath);

export const address = written(
  "host:port",
  "must be host:port, for example 127.0.0.1:8443 or [::1]:8443",
  parseAddress,
  formatAddress,
);

/** Like `kind`, but also accepts `off`, which is null. */
export function orOff<T>(kind: Kind<T>): Kind<T | null> {
  return {
    metavar: `${kind.metavar}|off`,
    read(raw, base) {
      if (raw === "off" || raw === false) return null;
      try {
        return kind.read(raw, base);
      } catch (error) {
        if (error instanceof Mistaken) throw new Mistaken(`${error.message}, or off`);
        throw error;
      }
    },
    show: (value) => (value === null ? "off" : kind.show(value)),
  };
}

export const optionalPath = optional(path);

export const optionalText = optional(written("name", "must be a text", (text) => text));

/** The address of a server. It is shown, so it must not hold a secret. */
export const webAddress = optional(
  written("url", "must be an http or https URL without a user name or password", (text) => {
    const url = URL.parse(text);
    const accepted = url && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
    return accepted ? url.href : undefined;
  }),
);

/** An address. The part after the host may hold a secret and is not shown. */
const addressOf = (schemes: RegExp, expected: string) =>
  optional(
    written(
      "url",
      expected,
      (text) => (schemes.test(URL.parse(text)?.protocol ?? "") ? text : undefined),
      (value) => `${new URL(value).origin}/…`,
    ),
  );

export const httpsUrl = addressOf(/^https:$/, "must be an https address, for example https://seals.example.org/take");
export const httpUrl = addressOf(
  /^https?:$/,
  "must be an http or https address, for example http://tsa.example.org/tsr",
);

/** A private key: the path of its file, or its PEM text, which is never shown. */
export const privateKey = optional(
  written(
    "path",
    "must be a path",
    (text, base) => (text.startsWith(PEM_BEGINNING) ? `${text}\n` : resolvePath(text, base)),
    (value) => (value.startsWith(PEM_BEGINNING) ? "********" : value),
  ),
);

/**
 * The address by which an OpenID issuer names itself: it has no query and no fragment (OpenID Connect Discovery section
 * 3).
 */
export const issuer = optional(
  written("url", "must be an https address without a query, for example https://id.example.org", (text) =>
    isIssuer(text) ? text : undefined,
  ),
);

export function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" && `${url.username}${url.password}${url.search}${url.hash}` === "";
}

/** A word of a protocol. */
export const word = written("name", "must be a text without spaces", (text) => (/\s/.test(text) ? undefined : text));

export const yesNo: Kind<boolean> = {
  metavar: "true|false",
  read(raw) {
    if (raw === true || raw === "true") return true;
    if (raw === false || raw === "false") return false;
    throw new Mistaken("must be true or false");
  },
  show: (value) => `${value}`,
};

export function choice<T extends string>(...words: readonly T[]): Kind<T> {
  const expected = words.length === 1 ? `must be ${words[0]}` : `must be one of ${words.join(", ")}`;
  return {
    metavar: words.join("|"),
    read(raw) {
      const found = words.find((word) => word === raw);
      if (found === undefined) throw new Mistaken(expected);
      return found;
    },
    show: (value) => value,
  };
}

export const integer = orNumber(
  written("number", "must be a whole number", (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined)),
);

export const duration = written(
  "time",
  "must be a time with a unit (ms, s, m, h, d), for example 10s",
  parseDuration,
  formatDuration,
);

export const size = orNumber(
  written(
    "size",
    "must be a size: bytes, or with a unit (KiB, MiB, GiB), for example 2MiB",
    (text) => {
      const [, digits, unit = "B"] = SIZE.exec(text) ?? [];
      return digits === undefined ? undefined : Number(digits) * (SIZE_BYTES[unit] as number);
    },
    (value) => {
      const unit = ["GiB", "MiB", "KiB"].find((name) => value > 0 && value % (SIZE_BYTES[name] as number) === 0);
      return unit ? `${value / (SIZE_BYTES[unit] as number)}${unit}` : `${value}`;
    },
  ),
);

/** Like `kind`, limited to the range from `minimum` to `maximum`. */
export function within(minimum: number, maximum: number, kind: Kind<number>): Kind<number> {
  return {
    ...kind,
    read(raw, base) {
      const value = kind.read(raw, base);
      if (value >= minimum && value <= maximum) return value;
      throw new Mistaken(`must be from ${kind.show(minimum)} to ${kind.show(maximum)}`);
    },
  };
}

/**
 * A list: separated by commas in a flag or a variable, an array in the file. With `flawOf` the message also says which
 * item is wrong, and how.
 */
function list(
  expected: string,
  metavar: string,
  isItem: (item: string) => boolean,
  flawOf?: (item: string) => string | null,
): Kind<string[]> {
  return {
    metavar,
    read(raw) {
      const items = typeof raw === "string" ? raw.split(",").map((item) => item.trim()) : raw;
      if (!Array.isArray(items) || !items.every((item) => typeof item === "string")) throw new Mistaken(expected);
      const wrong = items.find((item) => item !== "" && !isItem(item));
      if (wrong === undefined) return [...new Set(items.filter((item) => item !== ""))];
      throw new Mistaken(flawOf ? `${expected}; number ${items.indexOf(wrong) + 1} ${flawOf(wrong)}` : expected);
    },
    show: (value) => value,
  };
}

export const words = list("must be texts without spaces", "name,…", (item) => !/\s/.test(item));

export const webAddresses = list("must be http or https URLs, for example http://10.0.0.2:8080", "url,…", (item) =>
  /^https?:$/.test(URL.parse(item)?.protocol ?? ""),
);

function isWitness(item: string): boolean {
  try {
    return parseWitness(item).url.startsWith("https://");
  } catch (error) {
    if (error instanceof NoteError) return false;
    throw error;
  }
}

export const witnesses = list(
  'must be witnesses, each "name+hash+key https://address" (a cosigning key of type 0x04 or 0x06)',
  "key url,…",
  isWitness,
);

export const workspaceIds = list(
  "must be ids of workspaces, for example ws_01h455vb4pex5vsknk084sn02q",
  "ws_…,…",
  (item) => isId("ws", item),
);

export const networks = list(
  "must be IP addresses or networks, for example 10.0.0.0/8 or 127.0.0.1",
  "ip,cidr,…",
  isNetwork,
);

/** The receivers that sinks may reach: networks, and hosts with or without a port. */
export const receivers = list(
  "must be hosts, host:port, IP addresses or networks, for example siem.example.org:8088 or 10.0.0.0/8",
  "host,cidr,…",
  (item) => isNetwork(item) || isHostName(item) || parseAddress(item) !== undefined,
);

export const hostnames = list(
  "must be host names or IP addresses, for example governd.example.org",
  "name,…",
  (item) => flawOfOwnName(item) === null,
  flawOfOwnName,
);
