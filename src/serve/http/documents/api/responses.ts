/** Responses in the API's documents: success and every error. */
import type { TSchema } from "@sinclair/typebox";
import type { HeaderName } from "../../../../api/headers.ts";
import { type AnyRoute, isForPeople, type ResponseDoc } from "../../../../api/route.ts";
import type { JsonObject } from "../../../../json.ts";
import { leavesNoTrace } from "../../../../operations.ts";
import type { ProblemCode } from "../../../../problem.ts";
import { type Components, pascalCase } from "./components.ts";

/** The problems of any request that can be repeated safely. */
const OF_RETRIES: readonly ProblemCode[] = ["idempotency_in_progress", "idempotency_mismatch"];

/** The problems of any request with a key, and of one with a body. */
export const ALWAYS: readonly ProblemCode[] = [
  "unauthenticated",
  "forbidden",
  "workspace_mismatch",
  "https_required",
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
  ...OF_RETRIES,
  "rate_limited",
  "internal",
  "unavailable",
  "outcome_unknown",
];

/** The same under `/account`. */
const ALWAYS_OF_PEOPLE = ALWAYS.filter(
  (code) => code !== "workspace_mismatch" && code !== "outcome_unknown" && !OF_RETRIES.includes(code),
);

/** Returns the `responses` of a route. Its answer is named after it, unless it has its own name. */
export function responsesOf(route: AnyRoute, components: Components): JsonObject {
  const { response, status, name, method, retryable } = route;
  const sent: HeaderName[] = [];
  if (isRecorded(route)) sent.push("X-Audit-Id");
  if (response.etag === true) sent.push("ETag");
  if (retryable) sent.push("Idempotent-Replayed");
  if (response.compressed) sent.push("Content-Encoding", "Vary");
  sent.push(...(response.sends ?? []));
  const headers = components.headers(sent);
  const notModified = () => ({ description: "The entity tag still matches.", ...headers });
  const usual = isForPeople(route) ? ALWAYS_OF_PEOPLE : ALWAYS;
  return {
    [status]: { description: response.description, ...headers, ...contentOf(response, name, components) },
    ...(method === "GET" && response.etag && { 304: components.response("NotModified", notModified) }),
    ...components.problems(ownProblems(route), usual),
  };
}

function contentOf(response: ResponseDoc, name: string, components: Components): JsonObject {
  const { schema, mediaType = "application/json", otherTypes = [] } = response;
  if (schema === undefined) return {};
  const content: JsonObject = { [mediaType]: answer(schema, name, components) };
  for (const type of otherTypes) content[type] = { schema: { type: "string" } };
  return { content };
}

const isRecorded = (route: AnyRoute): boolean =>
  isForPeople(route) ? route.recordedAs.length > 0 : !leavesNoTrace(route.operation);

/** Returns the problems that are specific to a route. */
function ownProblems(route: AnyRoute): readonly ProblemCode[] {
  const own = route.problems.filter((code) => !OF_RETRIES.includes(code));
  // A recorded stream may fail to start.
  const ofStream: ProblemCode[] = route.response.streamed ? ["unavailable"] : [];
  return ["invalid_request", ...own, ...ofStream];
}

/** Returns the `responses` of a probe. */
export function probeResponses(schema: TSchema, name: string, components: Components): JsonObject {
  return {
    200: {
      description: "Yes.",
      ...components.headers([]),
      content: { "application/json": answer(schema, name, components) },
    },
    ...components.problems(["https_required", "unavailable"], ["internal"]),
  };
}

/** Describes the content of an answer. Its example follows from its schema. */
const answer = (schema: TSchema, name: string, components: Components): JsonObject => ({
  schema: components.namedSchema(`${pascalCase(name)}Result`, schema),
});
