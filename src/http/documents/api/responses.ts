/** How the documentation describes responses: success and every error. */
import { type TSchema, Type as t } from "@sinclair/typebox";
import type { JsonObject } from "../../../json.ts";
import { leavesNoTrace } from "../../../operations.ts";
import { PROBLEMS, Problem, type ProblemCode } from "../../../problem.ts";
import type { Action } from "../../account/action.ts";
import { problemBody } from "../../problem-document.ts";
import type { CompiledEndpoint, Route } from "../../route.ts";
import { component } from "../../shapes.ts";

/** The problems of any request with a key. */
const ALWAYS: readonly ProblemCode[] = [
  "unauthenticated",
  "forbidden",
  "workspace_mismatch",
  "https_required",
  "rate_limited",
  "internal",
  "unavailable",
];

/** Further problems of a request with a body. */
const WITH_BODY: readonly ProblemCode[] = ["request_timeout", "payload_too_large", "unsupported_media_type"];

const EXAMPLE_REQUEST_ID = "req_5f2c1d8e9a3b4c7d0000002a";

const codes = Object.keys(PROBLEMS) as ProblemCode[];

export const ProblemSchema = component(
  "Problem",
  t.Object(
    {
      type: t.String({ description: "A URN of the code.", examples: ["urn:governd:problem:invalid_request"] }),
      title: t.String(),
      status: t.Integer(),
      detail: t.String({ description: "What to do next, for a person." }),
      code: t.String({ enum: codes, description: "Stable, for programs." }),
      param: t.Optional(t.String({ description: "The offending field, parameter or header." })),
      request_id: t.String(),
      blocked_by: t.Optional(t.String({ description: "With `blocked` and `restore_blocked`: the policy." })),
      quota: t.Optional(t.String({ enum: ["entries", "bytes"], description: "With `quota_exceeded`: which quota." })),
      limit: t.Optional(t.Integer({ description: "With `quota_exceeded`: the quota." })),
      used: t.Optional(t.Integer({ description: "With `quota_exceeded`: how much the workspace holds." })),
      findings: t.Optional(t.Array(t.Unsafe({ $ref: "#/components/schemas/Finding" }))),
    },
    { additionalProperties: false, description: "RFC 9457. It never repeats a value that was sent." },
  ),
);

const header = (description: string, schema: JsonObject = { type: "string" }) => ({ description, schema });

const HEADERS = {
  "X-Request-Id": header("The request's id: the client's own, or a new one.", {
    type: "string",
    pattern: "^[A-Za-z0-9._-]{1,128}$",
  }),
};

const AUDIT_HEADER = { "X-Audit-Id": header("The audit event that recorded the operation.") };

const AUDIT_HEADER_OF_PROBLEM = {
  "X-Audit-Id": header("The audit event of an operation that failed; absent when none started."),
};

/** The problems of operations that are recorded. With others the request is refused before its operation. */
const RECORDED_PROBLEMS: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "agent_suspended",
  "agent_not_found",
  "config_not_found",
  "version_not_found",
  "checkpoint_not_found",
  "entry_not_found",
  "audit_event_not_found",
  "seal_not_found",
  "restore_blocked",
  "version_conflict",
  "quota_exceeded",
  // A recorded stream that could not start.
  "unavailable",
]);

const ETAG_HEADER = { ETag: header('The config version in quotes ("v3").') };

const RETRY_HEADER = { "Retry-After": { ...header("Seconds to wait.", { type: "integer" }), required: true } };

/** Only with a limit for each key: draft-ietf-httpapi-ratelimit-headers-10. */
const RATE_LIMIT_HEADERS = {
  "RateLimit-Policy": header("With a rate limit: the quota `q` of requests in a window of `w` seconds.", {
    type: "string",
    examples: ['"key";q=100;w=1'],
  }),
  RateLimit: header("With a rate limit: requests that remain (`r`), and seconds until all are available again (`t`).", {
    type: "string",
    examples: ['"key";r=99;t=1'],
  }),
};

/** Returns the `responses` of a route's documentation. */
export function responsesOf(route: Route): JsonObject {
  const { response, status, headers, problems } = route;
  const isRecorded = !leavesNoTrace(route.operation);
  const auditHeader = isRecorded ? AUDIT_HEADER : {};
  const etagHeader = response.etag === true ? ETAG_HEADER : {};
  const content: JsonObject = {
    [response.mediaType ?? "application/json"]: mediaType(response.schema, response.example),
  };
  for (const type of response.otherTypes ?? []) content[type] = { schema: { type: "string" } };
  const good: JsonObject = {
    description: response.description,
    headers: { ...HEADERS, ...RATE_LIMIT_HEADERS, ...auditHeader, ...etagHeader },
    content,
  };
  const notModified: JsonObject = {
    description: "The entity tag still matches.",
    headers: { ...HEADERS, ...auditHeader, ...ETAG_HEADER },
  };
  return {
    [status]: good,
    ...(headers["If-None-Match"] === undefined ? {} : { 304: notModified }),
    ...problemResponses(["invalid_request", ...problems, ...ALWAYS, ...ofBody(route)], isRecorded),
  };
}

/** The problems of any request under `/account`. */
const ALWAYS_OF_ACTIONS: readonly ProblemCode[] = [
  "invalid_request",
  "forbidden",
  "https_required",
  "rate_limited",
  "internal",
  "unavailable",
];

/** Returns the `responses` of the documentation of a route of `/account`. */
export function actionResponses(action: Action): JsonObject {
  const { response, status, recordedAs, isPublic, problems } = action;
  const session: readonly ProblemCode[] = isPublic ? [] : ["unauthenticated"];
  const headers = recordedAs === undefined ? HEADERS : { ...HEADERS, ...AUDIT_HEADER };
  const good: JsonObject =
    response === undefined
      ? { 204: { description: "Done.", headers } }
      : {
          [status]: {
            description: response.description,
            headers,
            content: { "application/json": mediaType(response.schema) },
          },
        };
  return { ...good, ...problemResponses([...problems, ...ALWAYS_OF_ACTIONS, ...session, ...ofBody(action)]) };
}

const ofBody = ({ body }: CompiledEndpoint): readonly ProblemCode[] => (body === null ? [] : WITH_BODY);

/** Returns one response per status, with an example per code. */
export function problemResponses(wanted: readonly ProblemCode[], isRecorded = false): JsonObject {
  const responses: JsonObject = {};
  for (const status of [...new Set(wanted.map((code) => PROBLEMS[code][0]))].sort()) {
    const ofStatus = wanted.filter((code) => PROBLEMS[code][0] === status);
    responses[status] = {
      description: ofStatus.map((code) => `\`${code}\`: ${PROBLEMS[code][1]}.`).join(" "),
      headers: {
        ...HEADERS,
        ...(isRecorded && ofStatus.some((code) => RECORDED_PROBLEMS.has(code)) ? AUDIT_HEADER_OF_PROBLEM : {}),
        ...(status === 429 ? RATE_LIMIT_HEADERS : {}),
        ...(status === 429 || status === 503 ? RETRY_HEADER : {}),
      },
      content: {
        "application/problem+json": {
          ...mediaType(ProblemSchema),
          examples: Object.fromEntries(ofStatus.map((code) => [code, { value: exampleOf(code) }])),
        },
      },
    };
  }
  return responses;
}

function exampleOf(code: ProblemCode): JsonObject {
  return JSON.parse(problemBody(new Problem(code, `${PROBLEMS[code][1]}.`), EXAMPLE_REQUEST_ID)) as JsonObject;
}

function mediaType(schema: TSchema, example?: unknown): JsonObject {
  return {
    schema: schema as unknown as JsonObject,
    ...(example === undefined ? {} : { example: example as JsonObject }),
  };
}
