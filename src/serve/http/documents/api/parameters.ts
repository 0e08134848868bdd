/** Parameters of requests in the API's documents. */
import type { TObject, TSchema } from "@sinclair/typebox";
import { exampleOf } from "../../../../api/example.ts";
import { AgentId } from "../../../../api/fields.ts";
import type { CompiledEndpoint } from "../../../../api/route.ts";
import { inQuery } from "../../../../api/validate.ts";
import type { JsonObject } from "../../../../json.ts";
import { SESSION_HEADER } from "../../pipeline/session-header.ts";
import type { Components } from "./components.ts";

const path = (description: string, example: string) => ({ description, schema: { type: "string" }, example });

const PATH_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  agent_id: {
    description: "The agent's id.",
    schema: { type: "string", minLength: 1, maxLength: 128 },
    example: exampleOf(AgentId),
  },
  version: path("A config version.", "v3"),
  id: path("The identifier.", "cp_01jz8v6s3yf0abm5q2x9k7n4tc"),
  workspace_id: path("The workspace's id.", "ws_01jz8v6s3yf0abm5q2x9k7n4tc"),
  account_id: path("A member's account.", "usr_01jz8v6s3yf0abm5q2x9k7n4tc"),
  invitation_id: path("An invitation.", "inv_01jz8v6s3yf0abm5q2x9k7n4tc"),
  interval: path("The length of an interval: minute, hour or day.", "hour"),
  level: path("The level of the tile, 0 to 63.", "0"),
  tile: path(
    "The number of the tile in groups of three digits, all but the last after an x; a partial tile ends in .p/ and its width.",
    "x001/067.p/12",
  ),
  key_id: path("A key's id, not the key.", "key_01jz8v6s3yf0abm5q2x9k7n4tc"),
};

/** Examples of identifiers of other kinds than `id` above, by the path before them. */
const IDS: readonly (readonly [path: string, example: string])[] = [
  ["/v1/audit/", "aud_01jz8v6s3yf0abm5q2x9k7n4tc"],
  ["/v1/lineage/", "aud_01jz8v6s3yf0abm5q2x9k7n4tc"],
  ["/account/sessions/", "ses_01jz8v6s3yf0abm5q2x9k7n4tc"],
];

/** Returns a path whose rest has a name, too. */
export const withNames = (routed: string): string => routed.replace("*", ":tile");

/** Describes the parameters of a path. */
export function pathParameters(routed: string): JsonObject[] {
  return [...withNames(routed).matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => {
    const [, example] = IDS.find(([start]) => name === "id" && routed.startsWith(start)) ?? [];
    const own = example !== undefined && { example };
    return { name, in: "path", required: true, ...PATH_PARAMETERS[name], ...own };
  });
}

/** The header by which a repeated request is recognised. */
const RETRY_PARAMETER: JsonObject = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Makes the request safe to repeat: the same request with the same key within 24 hours gets the first answer, and nothing is done again. Send a new key, such as a UUID, with each new request.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
  example: "5f0d1c9e-7a52-4d0f-9a55-7d1f1f6f4c11",
};

/** The header by which requests say that they belong together. */
const SESSION_PARAMETER: JsonObject = {
  name: SESSION_HEADER,
  in: "header",
  description:
    "A name for what belongs together, such as a conversation. The event has it as `session`, unless a policy finds something in it.",
  schema: { type: "string", minLength: 1, maxLength: 128, pattern: "^[!-~]+$" },
  example: "conversation-42",
};

/** The members of a route from which its parameters are made. */
type Parts = Pick<CompiledEndpoint, "path" | "headers" | "retryable"> & { query: TObject | undefined };

/** Describes the parameters of a route: of its path, its query and its headers. */
export function parametersOf({ path: routed, query, headers, retryable }: Parts, components: Components): JsonObject[] {
  const inHeader: JsonObject[] = Object.entries(headers).map(([name, { description, example }]) => {
    return { name, in: "header", description, schema: { type: "string" }, example };
  });
  if (retryable) inHeader.push(RETRY_PARAMETER);
  if (routed.startsWith("/v1/")) inHeader.push(SESSION_PARAMETER);
  return [...pathParameters(routed), ...queryParameters(query, components), ...inHeader];
}

function queryParameters(schema: TObject | undefined, components: Components): JsonObject[] {
  return Object.entries((schema?.properties ?? {}) as Record<string, TSchema>).map(([name, member]) => {
    const { examples: _examples, ...described } = components.schema(inQuery(member));
    // A component already has its description.
    const { description, ...rest } = described;
    return {
      name,
      in: "query",
      ...(schema?.required?.includes(name) && { required: true }),
      ...(description === undefined ? {} : { description }),
      // A list is one parameter with commas.
      ...(member.type === "array" && { explode: false }),
      schema: rest,
      ...(!tellsValues(rest, member) && { example: exampleOf(member, `the parameter ${name}`) }),
    };
  });
}

/** Whether a parameter itself shows a value, so that an example would repeat it. */
const tellsValues = ({ enum: words, const: word }: JsonObject, { default: usual }: TSchema): boolean =>
  (usual ?? words ?? word) !== undefined;
