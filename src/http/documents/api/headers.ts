/** The headers of responses, as the API's documents describe them. */
import type { JsonObject } from "../../../json.ts";

const text = (description: string, example: string) => ({ description, schema: { type: "string" }, example });

/**
 * Further headers that any response can have, whatever it answers. A document describes them in its first words: repeated
 * with each response they would be a tenth of it.
 */
export const GENERAL_HEADERS = `Every response also has \`Cache-Control\` and \`X-Content-Type-Options\`. Where a rate limit is set, it also has \`RateLimit-Policy\` (\`"key";q=100;w=1\`: a quota \`q\` of requests in a window of \`w\` seconds) and \`RateLimit\` (\`"key";r=99;t=1\`: \`r\` remain, all are available again in \`t\` seconds), as in draft-ietf-httpapi-ratelimit-headers-10.`;

/** The headers that responses declare: every one has {@link REQUEST_ID}, and some have others. */
export const HEADERS = {
  "X-Request-Id": text("The request's own, or a new one. It is in the daemon's log.", "req_0c6a2f5e0123456700000001"),
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
  ETag: text("The version in quotes.", '"v3"'),
  Location: text("Where the browser goes.", "/"),
  "Content-Disposition": text("The name of the file.", 'attachment; filename="audit-support-bot-2026-01-31.json"'),
  "X-Export-Cursor": text("What continues the export when it breaks off.", "eyJ2IjoxfQ"),
  "Content-Encoding": text("How the body is compressed, if `Accept-Encoding` allowed it.", "gzip"),
  Vary: text("Which headers of the request decide about the form of the response.", "Accept-Encoding"),
  "Set-Cookie": text("The cookies of the session and of this browser.", "__Host-governd_session=…; Path=/; Secure"),
} as const satisfies Record<string, JsonObject>;

/** Shorter names of the components of headers that most responses have: each response repeats them. */
export const COMPONENT_NAMES: Readonly<Partial<Record<HeaderName, string>>> = {
  "X-Request-Id": "Id",
  "X-Audit-Id": "Audit",
  "Idempotent-Replayed": "Replayed",
};

/** The header of every response. */
export const REQUEST_ID: HeaderName = "X-Request-Id";

/** The name of a header of {@link HEADERS}. */
export type HeaderName = keyof typeof HEADERS;
