/** Responses in the API's documents: success and every error. */
import type { TSchema } from "@sinclair/typebox";
import type { HeaderName } from "../../../../api/headers.ts";
import type { Route } from "../../../../api/route.ts";
import type { JsonObject } from "../../../../json.ts";
import { isStream, leavesNoTrace } from "../../../../operations.ts";
import type { Action } from "../../../../ops/accounts/routes/action.ts";
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
const ALWAYS_OF_ACTIONS = ALWAYS.filter(
  (code) => code !== "workspace_mismatch" && code !== "outcome_unknown" && !OF_RETRIES.includes(code),
);

/** Returns the `responses` of a route. Its answer is named after `name`, unless it has its own name. */
export function responsesOf(route: Route, name: string, components: Components): JsonObject {
  const { response, status } = route;
  const sent: HeaderName[] = [];
  if (!leavesNoTrace(route.operation)) sent.push("X-Audit-Id");
  if (response.etag === true) sent.push("ETag");
  if (route.retryable) sent.push("Idempotent-Replayed");
  if (response.compressed) sent.push("Content-Encoding", "Vary");
  sent.push(...(response.sends ?? []));
  const { mediaType = "application/json", otherTypes = [] } = response;
  const content = { [mediaType]: answer(response.schema, name, components) };
  for (const type of otherTypes) content[type] = { schema: { type: "string" } };
  const good = { description: response.description, ...components.headers(sent), content };
  const notModified = () => ({ description: "The entity tag still matches.", ...components.headers(sent) });
  return {
    [status]: good,
    ...(route.method === "GET" && response.etag && { 304: components.response("NotModified", notModified) }),
    ...components.problems(ownProblems(route), ALWAYS),
  };
}

/** Returns the problems that are specific to an operation. */
function ownProblems({ operation, problems }: Route): readonly ProblemCode[] {
  // A recorded stream may fail to start.
  const own = problems.filter((code) => !OF_RETRIES.includes(code));
  return ["invalid_request", ...own, ...(isStream(operation) ? (["unavailable"] as const) : [])];
}

/** Returns the `responses` of a route of `/account`. */
export function actionResponses(action: Action, name: string, components: Components): JsonObject {
  const { response, status, recordedAs, setsCookies, redirects, problems } = action;
  const sent: HeaderName[] = [];
  if (redirects) sent.push("Location");
  if (recordedAs !== undefined) sent.push("X-Audit-Id");
  if (setsCookies) sent.push("Set-Cookie");
  const headers = components.headers(sent);
  const good =
    response === undefined
      ? redirects
        ? { 303: { description: "Where the browser goes.", ...headers } }
        : { 204: { description: "Done.", ...headers } }
      : {
          [status]: {
            description: response.description,
            ...headers,
            content: { "application/json": answer(response.schema, name, components) },
          },
        };
  return { ...good, ...components.problems(["invalid_request", ...problems], ALWAYS_OF_ACTIONS) };
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
