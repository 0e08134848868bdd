/** Secrets that a file of settings holds in Base64: a manifest of kind Secret, the `auth` of a registry's user. */
import { type Hit, hitOf, spend } from "../check.ts";
import { matchAt, matchEnd } from "../text/ascii.ts";
import { isTextByte } from "../text/bytes.ts";
import { isPlaceholder, looksRandom } from "./plausible.ts";

/** The costs of checks, units. */
const CHECK_UNITS = 40;
const MANIFEST_UNITS = 900;
const LONGEST_MANIFEST = 800;
const SHORTEST_DATA = 8;

const DATA = /\n\s{0,8}["']?data["']?\s{0,2}:\s{0,4}[{\n]/;
const DATA_BEFORE = /\n\s{0,8}["']?data["']?\s{0,2}:\s{0,4}[{\n][\s\S]{0,600}$/;
const MEMBER = /["']?[\w.-]{1,64}["']?:\s{0,4}(?:[|>]-?\s{0,16})?["']?([A-Za-z0-9+/]{8,}={0,2})/g;

/** A value of the manifest whose `kind: Secret` spans `[start, end)`: its data are always encoded. */
export function manifestSecret(text: string, start: number, end: number): Hit | null {
  spend(MANIFEST_UNITS);
  const behind = text.slice(end, end + LONGEST_MANIFEST);
  const found = DATA.exec(behind);
  if (found !== null) return member(behind.slice(found.index), end + found.index);
  const from = Math.max(0, start - LONGEST_MANIFEST);
  const before = DATA_BEFORE.exec(text.slice(from, start));
  return before && member(before[0], from + before.index);
}

function member(data: string, at: number): Hit | null {
  for (const match of data.matchAll(MEMBER)) {
    const value = match[1] as string;
    if (value.length % 4 !== 0 || isPlaceholder(value) || !isTextOrKey(value)) continue;
    const start = at + match.index + match[0].length - value.length;
    return hitOf("generic_credential", start, start + value.length);
  }
  return null;
}

function isTextOrKey(value: string): boolean {
  const bytes = Buffer.from(value, "base64");
  if (bytes.length < SHORTEST_DATA - 2) return false;
  return bytes.every((byte) => isTextByte(byte) && byte < 0x7f) || looksRandom(value);
}

const AUTH = /(?:ident)?["']?\s{0,3}[:=]\s{0,3}(["']?)([A-Za-z0-9+/_-]{12,400}={0,2})(?=\1)(?![\w+/=])/iy;

/** `"auth": "<Base64 of user:password>"` of a registry of containers, `_auth=…` of npm, whose name ends at `end`. */
export function registryAuth(text: string, _start: number, end: number): Hit | null {
  spend(CHECK_UNITS);
  const [, quote, credential] = matchAt(AUTH, text, end) ?? [];
  if (credential === undefined) return null;
  const decoded = Buffer.from(credential, "base64").toString("latin1");
  const pair = /^[\x21-\x7e]+:[\x20-\x7e]+/.exec(decoded)?.[0];
  // Without quotes, the next line may be read as the rest of this one.
  if (pair === undefined || (quote === "" && pair !== decoded) || isPlaceholder(credential)) return null;
  return hitOf("auth_header", AUTH.lastIndex - credential.length, AUTH.lastIndex);
}

const BARE_KEY = /["'\]]{0,2}\s{0,3}:?={1,2}\s{0,3}(["'`]?)([A-Za-z0-9+/_.~:-]{20,200}={0,2})\1(?![\w(])/y;
const NOT_SECRET =
  /(?:public|primary|foreign|partition|sort|cache|object|file|image|query|item|row|map|hot|short|idempotency|dedup\w*|group|order|storage|bucket|s3|redis|data|search|host|unique|publishable|site|search.?only.api|mon|tur|don|hash|range|thumb|lookup|tree|node|react)[-_ .]?$/i;
const LONGEST_BEFORE = 16;
const FEWEST_DIFFERENT = 10;

/** A member of settings: `weather_key: "…"`, or `key: "…"` among those of an API. */
const KEY_MEMBER = /["']?\s{0,3}:\s{0,3}(["'])([\x21\x23-\x26\x28-\x7e]{20,200})\1/y;
const NAMED = /[A-Za-z0-9][_-]?$/;
const OF_API = /(?:\bapi|auth_type|authentication|integration)["']?\s{0,3}:[^}]{0,120}$/i;

function keyMember(text: string, start: number, end: number): Hit | null {
  const value = matchAt(KEY_MEMBER, text, end)?.[2];
  if (value === undefined) return null;
  const last = KEY_MEMBER.lastIndex - 1;
  spend(CHECK_UNITS);
  const before = text.slice(Math.max(0, start - LONGEST_API), start);
  if (NOT_SECRET.test(before) || !(NAMED.test(before) || OF_API.test(before))) return null;
  if (!/[A-Z]/.test(value) || !/[a-z]/.test(value) || !/\d.*\d/.test(value)) return null;
  if (/^[\w.-]+\/|\w\.\w+\.|\$\{|\s/.test(value) || isPlaceholder(value) || !looksRandom(value)) return null;
  return hitOf("generic_credential", last - value.length, last);
}

const LONGEST_API = 160;

/** `Key=…`, `someKey := "…"`: with `=`, a long random value is a key, whatever it is for. */
export function bareKey(text: string, start: number, end: number): Hit | null {
  if (!"=: \"']".includes(text[end] ?? "")) return null;
  if (matchEnd(BARE_KEY, text, end) < 0) return keyMember(text, start, end);
  spend(CHECK_UNITS);
  const value = matchAt(BARE_KEY, text, end)?.[2] as string;
  if (NOT_SECRET.test(text.slice(Math.max(0, start - LONGEST_BEFORE), start))) return null;
  if (
    /^[0-9a-f-]+$/i.test(value) ||
    !/\d/.test(value) ||
    /\w\.\w+\.|[a-z]\.[a-z]/i.test(value) ||
    /\/.*\/.*\//.test(value)
  )
    return null;
  if (new Set(value).size < FEWEST_DIFFERENT || isPlaceholder(value) || !looksRandom(value)) return null;
  const at = text.indexOf(value, end);
  return hitOf("generic_credential", at, at + value.length);
}
