/**
 * Reads the values of settings from what a person wrote (text of a flag or variable, or a value of the TOML file),
 * and formats them. Every reader returns the value or throws `Mistaken` with what was expected.
 */
import { isIP } from "node:net";
import { isAbsolute, resolve } from "node:path";
import { parseWitness } from "../anchors/witness.ts";
import { NoteError } from "../log/note.ts";

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
const SIZE = /^(\d{1,12})\s*(B|KiB|MiB|GiB)$/;
const SIZE_BYTES: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const HOSTNAME =
  /^(?=.{1,253}$)([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

function text(raw: unknown, expected: string): string {
  if (typeof raw !== "string" || raw.trim() === "") throw new Mistaken(expected);
  return raw.trim();
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
export function parseAddress(raw: string): Address | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(raw.trim());
  if (!match) return undefined;
  const [, six, other, digits] = match;
  const port = Number(digits);
  if (port > 65535) return undefined;
  if (six !== undefined) return isIP(six) === 6 ? { host: six, port } : undefined;
  const host = other as string;
  return isIP(host) === 4 || (HOSTNAME.test(host) && !/^[\d.]+$/.test(host)) ? { host, port } : undefined;
}

/** Formats an address. An IPv6 host is written in brackets. */
export function formatAddress({ host, port }: Address): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Reports whether the text is an IP address or a network in CIDR form (`10.0.0.0/8`, `fd00::/8`). */
function isNetwork(item: string): boolean {
  const [address = "", bits, more] = item.split("/");
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

export const path: Kind<string> = {
  metavar: "path",
  read(raw, base) {
    const value = text(raw, "must be a path");
    return isAbsolute(value) ? value : resolve(base, value);
  },
  show: (value) => value,
};

export const address: Kind<Address> = {
  metavar: "host:port",
  read(raw) {
    const expected = "must be host:port, for example 127.0.0.1:8443 or [::1]:8443";
    const value = parseAddress(text(raw, expected));
    if (!value) throw new Mistaken(expected);
    return value;
  },
  show: formatAddress,
};

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

/** A text that may be absent. */
function optional(metavar: string, read: (raw: unknown, base: string) => string): Kind<string | null> {
  return { metavar, read, show: (value) => value ?? "" };
}

export const optionalPath = optional("path", path.read);

export const optionalText = optional("name", (raw) => text(raw, "must be a text"));

/** The address of a server. It is shown, so it must not hold a secret. */
export const webAddress = optional("url", (raw) => {
  const expected = "must be an http or https URL without a user name or password";
  const url = URL.parse(text(raw, expected));
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Mistaken(expected);
  if (url.username !== "" || url.password !== "") throw new Mistaken(expected);
  return url.href;
});

/** A private key: the path of its file, or its PEM text, which is never shown. */
export const privateKey: Kind<string | null> = {
  metavar: "path",
  read: (raw, base) =>
    typeof raw === "string" && raw.trim().startsWith(PEM_BEGINNING) ? `${raw.trim()}\n` : path.read(raw, base),
  show: (value) => (value?.startsWith(PEM_BEGINNING) ? "********" : (value ?? "")),
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

export const integer: Kind<number> = {
  metavar: "number",
  read(raw) {
    if (typeof raw === "number" && Number.isSafeInteger(raw)) return raw;
    if (typeof raw === "string" && /^\d{1,15}$/.test(raw.trim())) return Number(raw);
    throw new Mistaken("must be a whole number");
  },
  show: (value) => value,
};

export const duration: Kind<number> = {
  metavar: "time",
  read(raw) {
    const expected = "must be a time with a unit (ms, s, m, h, d), for example 10s";
    const value = parseDuration(text(raw, expected));
    if (value === undefined) throw new Mistaken(expected);
    return value;
  },
  show: formatDuration,
};

export const size: Kind<number> = {
  metavar: "size",
  read(raw) {
    if (typeof raw === "number" && Number.isSafeInteger(raw)) return raw;
    const expected = "must be a size: bytes, or with a unit (KiB, MiB, GiB), for example 2MiB";
    const value = text(raw, expected);
    if (/^\d{1,12}$/.test(value)) return Number(value);
    const match = SIZE.exec(value);
    if (!match) throw new Mistaken(expected);
    return Number(match[1]) * (SIZE_BYTES[match[2] as string] as number);
  },
  show(value) {
    const unit = ["GiB", "MiB", "KiB"].find((name) => value > 0 && value % (SIZE_BYTES[name] as number) === 0);
    return unit ? `${value / (SIZE_BYTES[unit] as number)}${unit}` : `${value}`;
  },
};

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

/** A list: separated by commas in a flag or a variable, an array in the file. */
function list(expected: string, metavar: string, isItem: (item: string) => boolean): Kind<string[]> {
  return {
    metavar,
    read(raw) {
      const items = typeof raw === "string" ? raw.split(",").map((item) => item.trim()) : raw;
      if (!Array.isArray(items)) throw new Mistaken(expected);
      const given = items.filter((item) => item !== "");
      if (!given.every((item): item is string => typeof item === "string" && isItem(item))) {
        throw new Mistaken(expected);
      }
      return [...new Set(given)];
    },
    show: (value) => value,
  };
}

/** An https address. The part after the host may hold a secret and is not shown. */
export const httpsUrl: Kind<string | null> = {
  metavar: "url",
  read(raw) {
    const expected = "must be an https address, for example https://seals.example.org/take";
    const value = text(raw, expected);
    if (!URL.canParse(value) || new URL(value).protocol !== "https:") throw new Mistaken(expected);
    return value;
  },
  show: (value) => (value === null ? "" : `${new URL(value).origin}/…`),
};

function isWitness(item: string): boolean {
  try {
    return parseWitness(item).url.startsWith("https://");
  } catch (error) {
    if (error instanceof NoteError) return false;
    throw error;
  }
}

export const witnesses = list(
  'must be witnesses, each "name+hash+key https://address" (a cosigning key of type 0x04)',
  "key url,…",
  isWitness,
);

export const networks = list(
  "must be IP addresses or networks, for example 10.0.0.0/8 or 127.0.0.1",
  "ip,cidr,…",
  isNetwork,
);

export const hostnames = list(
  "must be host names or IP addresses, for example governd.example.org",
  "name,…",
  (item) => isIP(item) !== 0 || HOSTNAME.test(item) || (item.startsWith("*.") && HOSTNAME.test(item.slice(2))),
);
