/** How the API's documents describe responses: success and every error. */
import type { TSchema } from "@sinclair/typebox";
import type { JsonObject } from "../../../json.ts";
import { leavesNoTrace } from "../../../operations.ts";
import type { ProblemCode } from "../../../problem.ts";
import type { Action } from "../../account/action.ts";
import { exampleOf } from "../../example.ts";
import type { CompiledEndpoint, Route } from "../../route.ts";
import { type Components, EVERYWHERE, pascalCase } from "./components.ts";
import type { HeaderName } from "./headers.ts";

/** The problems of any request with a key. */
const ALWAYS: readonly ProblemCode[] = [
  "invalid_request",
  "unauthenticated",
  "forbidden",
  "workspace_mismatch",
  "https_required",
  "rate_limited",
  "internal",
  "unavailable",
  "outcome_unknown",
];

/** The problems of any request under `/account`; `unauthenticated` only where a session is needed. */
const ALWAYS_OF_ACTIONS: readonly ProblemCode[] = [
  "invalid_request",
  "forbidden",
  "https_required",
  "rate_limited",
  "internal",
  "unavailable",
];

/** The problems of a probe. */
const OF_PROBES: readonly ProblemCode[] = ["https_required", "internal", "unavailable"];

/** Further problems of a request with a body. */
const WITH_BODY: readonly ProblemCode[] = ["request_timeout", "payload_too_large", "unsupported_media_type"];

const withBody = ({ body }: CompiledEndpoint, usual: readonly ProblemCode[]): readonly ProblemCode[] =>
  body === null ? usual : [...usual, ...WITH_BODY];

/** Returns the `responses` of a route. Its answer is called after `name`, unless it has a name of its own. */
export function responsesOf(route: Route, name: string, components: Components): JsonObject {
  const { response, status, headers, problems } = route;
  const sent: HeaderName[] = [...EVERYWHERE];
  if (!leavesNoTrace(route.operation)) sent.push("X-Audit-Id");
  if (response.etag === true) sent.push("ETag");
  if (route.retryable) sent.push("Idempotent-Replayed");
  if (response.compressed) sent.push("Content-Encoding", "Vary");
  sent.push(...(response.sends ?? []));
  const { mediaType = "application/json", otherTypes = [], example } = response;
  const content = { [mediaType]: answer(response.schema, name, components, example) };
  for (const type of otherTypes) content[type] = { schema: { type: "string" } };
  const good = { description: response.description, headers: components.headers(sent), content };
  const notModified = () => ({ description: "The entity tag still matches.", headers: components.headers(sent) });
  return {
    [status]: good,
    ...(route.method === "GET" &&
      headers["If-None-Match"] !== undefined && { 304: components.response("NotModified", notModified) }),
    ...components.problems(problems, withBody(route, ALWAYS)),
  };
}

/** Returns the `responses` of a route of `/account`. */
export function actionResponses(action: Action, name: string, components: Components): JsonObject {
  const { response, status, recordedAs, isPublic, setsCookies, problems } = action;
  const sent: HeaderName[] = [...EVERYWHERE];
  if (recordedAs !== undefined) sent.push("X-Audit-Id");
  if (setsCookies) sent.push("Set-Cookie");
  const headers = components.headers(sent);
  const good =
    response === undefined
      ? { 204: { description: "Done.", headers } }
      : {
          [status]: {
            description: response.description,
            headers,
            content: { "application/json": answer(response.schema, name, components) },
          },
        };
  const usual: readonly ProblemCode[] = isPublic ? ALWAYS_OF_ACTIONS : [...ALWAYS_OF_ACTIONS, "unauthenticated"];
  return { ...good, ...components.problems(problems, withBody(action, usual)) };
}

/** Returns the `responses` of a probe. */
export function probeResponses(schema: TSchema, name: string, components: Components): JsonObject {
  const headers = components.headers(EVERYWHERE);
  return {
    200: { description: "Yes.", headers, content: { "application/json": answer(schema, name, components) } },
    ...components.problems([], OF_PROBES),
  };
}

function answer(schema: TSchema, name: string, components: Components, example?: unknown): JsonObject {
  return {
    schema: components.namedSchema(`${pascalCase(name)}Result`, schema),
    example: (example as JsonObject | undefined) ?? exampleOf(schema, name),
  };
}
