/** Headers of responses in the API's documents. */
import type { JsonObject } from "../json.ts";

const text = (description: string, example: string) => ({ description, schema: { type: "string" }, example });

/** The headers that responses declare. */
export const HEADERS = {
  "X-Request-Id": text("The request's own, or a new one. It is in the daemon's log.", "req_0c6a2f5e0123456700000001"),
  "Cache-Control": text("`no-store`, but for files that never change.", "no-store"),
  "X-Content-Type-Options": text("Always `nosniff`.", "nosniff"),
  "RateLimit-Policy": text(
    "Where a rate limit is set: a quota `q` of requests in a window of `w` seconds, as in draft-ietf-httpapi-ratelimit-headers-10.",
    '"key";q=100;w=1',
  ),
  RateLimit: text("`r` requests remain, and all are available again in `t` seconds.", '"key";r=99;t=1'),
  "X-Audit-Id": text(
    "The audit event that recorded the operation. A response to a request that was refused before its operation has none.",
    "aud_01jz8v6s3yf0abm5q2x9k7n4tc",
  ),
  "Idempotent-Replayed": text(
    "`true` when this is the stored answer to the same request, and nothing was done now.",
    "true",
  ),
  "Retry-After": {
    description: "Seconds to wait, of every 429 and 503, and of `idempotency_in_progress`.",
    schema: { type: "integer" },
    example: 1,
  },
  "WWW-Authenticate": text("What authenticates a request here.", 'ApiKey realm="governd"'),
  "Mcp-Session-Id": text(
    "Of `initialize`: a name for the session. Nothing is kept of it.",
    "0c6a2f5e012345670c6a2f5e01234567",
  ),
  ETag: text("The version in quotes.", '"v3"'),
  Location: text("Where the browser goes.", "/"),
  "Content-Disposition": text("The name of the file.", 'attachment; filename="audit-support-bot-2026-01-31.json"'),
  "X-Export-Cursor": text("What continues the export when it breaks off.", "eyJ2IjoxfQ"),
  "Content-Encoding": text("How the body is compressed, if `Accept-Encoding` allowed it.", "gzip"),
  Vary: text("Which headers of the request decide about the form of the response.", "Accept-Encoding"),
  "Set-Cookie": text("The cookies of the session and of this browser.", "__Host-governd_session=…; Path=/; Secure"),
} as const satisfies Record<string, JsonObject>;

/** The name of a header of {@link HEADERS}. */
export type HeaderName = keyof typeof HEADERS;

/** The headers that any response can have. */
export const EVERY_RESPONSE: readonly HeaderName[] = [
  "X-Request-Id",
  "Cache-Control",
  "X-Content-Type-Options",
  "RateLimit-Policy",
  "RateLimit",
];
