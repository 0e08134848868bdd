/**
 * The cookies of a session and of a known browser. `__Host-` makes the browser insist on Secure, on
 * Path=/ and on this host alone (RFC 6265bis section 4.1.3.2).
 */

const SESSION_COOKIE = "__Host-governd_session";
const DEVICE_COOKIE = "__Host-governd_device";

const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Strict";

/** Life of the device's cookie: it grants nothing but a count of failed tries of its own. */
const DEVICE_SECONDS = 365 * 24 * 3_600;

export { SESSION_COOKIE };

function cookie(headers: Headers, name: string): string | null {
  const header = headers.get("cookie");
  if (header === null) return null;
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=");
    if (equals !== -1 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return null;
}

export const sessionToken = (headers: Headers): string | null => cookie(headers, SESSION_COOKIE);
export const deviceToken = (headers: Headers): string | null => cookie(headers, DEVICE_COOKIE);

export function setSession(token: string, seconds: number): string {
  return `${SESSION_COOKIE}=${token}; ${ATTRIBUTES}; Max-Age=${seconds}`;
}

export const clearSession = (): string => `${SESSION_COOKIE}=; ${ATTRIBUTES}; Max-Age=0`;

export function setDevice(token: string): string {
  return `${DEVICE_COOKIE}=${token}; ${ATTRIBUTES}; Max-Age=${DEVICE_SECONDS}`;
}
