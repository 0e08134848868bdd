/** The headers of responses, as the API's documents describe them. */
import type { JsonObject } from "../../../json.ts";

const text = (description: string, example: string, more: JsonObject = {}) => ({
  description,
  schema: { type: "string", ...more },
  example,
});

/** Every header that a response can have, besides those of HTTP's own framing. */
export const HEADERS = {
  "X-Request-Id": text("The request's id: the client's own, or a new one.", "req_5f2c1d8e9a3b4c7d0000002a", {
    pattern: "^[A-Za-z0-9._-]{1,128}$",
  }),
  "X-Audit-Id": text(
    "The audit event that recorded the operation. A response to a request that was refused before its operation has none.",
    "aud_01jz8v6s3yf0abm5q2x9k7n4tc",
  ),
  "Idempotent-Replayed": text(
    "`true` when this is the stored answer to the same request, and nothing was done now.",
    "true",
  ),
  "Cache-Control": text("Whether the response may be kept.", "no-store"),
  "X-Content-Type-Options": text("Browsers take the media type as it is stated.", "nosniff"),
  "RateLimit-Policy": text(
    "With a rate limit: the quota `q` of requests in a window of `w` seconds (draft-ietf-httpapi-ratelimit-headers-10).",
    '"key";q=100;w=1',
  ),
  RateLimit: text(
    "With a rate limit: requests that remain (`r`), and seconds until all are available again (`t`).",
    '"key";r=99;t=1',
  ),
  "Retry-After": {
    description: "Seconds to wait, of every 429 and 503, and of `idempotency_in_progress`.",
    schema: { type: "integer" },
    example: 1,
  },
  "WWW-Authenticate": text("What authenticates a request here.", 'ApiKey realm="governd"'),
  ETag: text("The version in quotes.", '"v3"'),
  "Content-Disposition": text("The name of the file.", 'attachment; filename="audit-support-bot-2026-01-31.json"'),
  "X-Export-Cursor": text("What continues the export when it breaks off.", "eyJ2IjoxfQ"),
  "Content-Encoding": text("How the body is compressed, if `Accept-Encoding` allowed it.", "gzip"),
  Vary: text("Which headers of the request decide about the form of the response.", "Accept-Encoding"),
  "Set-Cookie": text("The cookies of the session and of this browser.", "__Host-governd_session=…; Path=/; Secure"),
} as const satisfies Record<string, JsonObject>;

/** Shorter names of the components of headers that most responses have: each response repeats them. */
export const COMPONENT_NAMES: Readonly<Partial<Record<HeaderName, string>>> = {
  "X-Request-Id": "Request",
  "X-Audit-Id": "Audit",
  "Cache-Control": "Caching",
  "X-Content-Type-Options": "NoSniff",
  "Idempotent-Replayed": "Replayed",
  "RateLimit-Policy": "Quota",
  RateLimit: "Rate",
};

/** The name of a header of {@link HEADERS}. */
export type HeaderName = keyof typeof HEADERS;
