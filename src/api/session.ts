/** What a session's request carries: its cookie, and the origin of the page that sent it. */
import { Problem } from "../problem.ts";
import { isOriginOf } from "./origin.ts";

/**
 * The cookies of a session and of a known browser. With `__Host-` the browser requires Secure, Path=/ and this host
 * (RFC 6265bis section 4.1.3.2).
 */
export const SESSION_COOKIE = "__Host-governd_session";
const DEVICE_COOKIE = "__Host-governd_device";

export const PROTECTED = "Path=/; Secure; HttpOnly";
const ATTRIBUTES = `${PROTECTED}; SameSite=Strict`;

/** The life of the device's cookie. It grants nothing but a separate count of failed attempts. */
const DEVICE_SECONDS = 365 * 24 * 3_600;

/** Methods that change nothing (RFC 9110 section 9.2.1). */
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

/** Returns the cookies of a request, in its order. */
export function cookies(headers: Headers): [name: string, value: string][] {
  const found: [string, string][] = [];
  for (const pair of headers.get("cookie")?.split(";") ?? []) {
    const equals = pair.indexOf("=");
    if (equals !== -1) found.push([pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()]);
  }
  return found;
}

const cookie = (headers: Headers, wanted: string): string | null =>
  cookies(headers).find(([name]) => name === wanted)?.[1] ?? null;

export const sessionToken = (headers: Headers): string | null => cookie(headers, SESSION_COOKIE);
export const deviceToken = (headers: Headers): string | null => cookie(headers, DEVICE_COOKIE);

export function setSession(token: string, seconds: number): string {
  return `${SESSION_COOKIE}=${token}; ${ATTRIBUTES}; Max-Age=${seconds}`;
}

export const clearSession = (): string => `${SESSION_COOKIE}=; ${ATTRIBUTES}; Max-Age=0`;

export function setDevice(token: string): string {
  return `${DEVICE_COOKIE}=${token}; ${ATTRIBUTES}; Max-Age=${DEVICE_SECONDS}`;
}

/**
 * Refuses a request that a page of another site made the browser send. The browser adds the cookie to such a request,
 * but also the page's `Origin`, which no page can forge (RFC 6454 section 7).
 * @throws {Problem} `forbidden`
 */
export function requireSameOrigin(method: string, headers: Headers): void {
  if (SAFE.has(method)) return;
  const origin = headers.get("origin");
  const host = headers.get("host");
  if (origin !== null && host !== null && isOriginOf(origin, host)) return;
  throw new Problem(
    "forbidden",
    "With a session, send Origin: https:// and the Host of the request. On pages of this server the browser does so.",
    { param: "Origin" },
  );
}
