/** All tools. A row defines the schemas, the annotations and the entry in the list; its operation does the work. */
import { type TObject, type TProperties, type TSchema, Type as t } from "@sinclair/typebox";
import { AgentId, Key, NonEmptyPrefix, Value } from "../../../api/fields.ts";
import type { Route } from "../../../api/route.ts";
import { countOf, EventId, listOf, object } from "../../../api/shapes.ts";
import { Validator } from "../../../api/validate.ts";
import { AUDIT_RESULTS } from "../../../details.ts";
import type { JsonObject, JsonValue } from "../../../json.ts";
import type { OperationName } from "../../../operations.ts";
import { auditRoutes } from "../../../ops/audit/routes.ts";
import { checkpointRoutes } from "../../../ops/checkpoints/routes.ts";
import { configRoutes } from "../../../ops/config/routes.ts";
import { dataRoutes } from "../../../ops/data/routes.ts";
import { IF_VERSION, IfVersionText, NO_VERSION } from "../../../ops/data/schema.ts";
import { policyRoutes } from "../../../ops/policies/routes.ts";
import { invalid } from "../../../problem.ts";
import { restoreQuestion } from "./restore-question.ts";
import { type Call, type Confirmation, type Tool, type ToolRow, toolsOf } from "./tool.ts";

const ROUTES: readonly Route[] = [...dataRoutes, ...checkpointRoutes, ...policyRoutes, ...auditRoutes, ...configRoutes];

/** Returns the route of an operation. */
export const routeOf = (operation: OperationName): Route => ROUTES.find((one) => one.operation === operation) as Route;

/** Returns members of a route's body, or of its query, as arguments of a tool. */
function membersOf(operation: OperationName, ...names: string[]): TProperties {
  const { body, query } = routeOf(operation);
  const { properties } = (body ?? (query as NonNullable<typeof query>)).schema;
  return Object.fromEntries(
    names.map((name) => {
      const schema = properties[name];
      if (schema === undefined) throw new Error(`${operation} has no ${name}`);
      return [name, schema];
    }),
  );
}

/** Returns a call with the arguments in the body, or in the query of a route without one. */
const asSent =
  (operation: OperationName) =>
  (args: JsonObject): Call => {
    const route = routeOf(operation);
    return route.body === null ? { route, query: args } : { route, body: args };
  };

/** Returns a write. Its schema for models has no null, so a word stands for it, as in a query of the API. */
function writeOf({ if_version: version, ...write }: JsonObject): Call {
  const condition = version === undefined ? {} : { if_version: version === NO_VERSION ? null : version };
  return asSent("data.write")({ ...write, ...condition });
}

/** The scopes of tools for data, and of tools for auditing. */
const MEMORY = ["full", "agent"] as const;
const AUDIT = ["full", "auditor"] as const;

/** A number of entries that no prefix has. The deletion is then refused with the real number. */
const NO_COUNT = -1;

function deletionOf({ key, prefix, confirm_count: count, ...agent }: JsonObject): Call {
  if (key !== undefined && prefix === undefined) {
    if (count === undefined) return { route: routeOf("data.delete"), query: { ...agent, key } };
    throw invalid('"confirm_count" belongs to a prefix. Leave it out.', "confirm_count");
  }
  if (prefix === undefined) throw invalid('Send "key", or "prefix" with "confirm_count".', "key");
  if (key !== undefined) throw invalid('Send either "key" or "prefix", not both.', "prefix");
  return { route: routeOf("data.delete_prefix"), query: { ...agent, prefix, confirm_count: count ?? NO_COUNT } };
}

function confirmDeletion(args: JsonObject): Confirmation | null {
  if (args.prefix === undefined) return null;
  return {
    text: (count) => `Delete ${count === 1 ? "1 entry" : `${count} entries`} whose keys begin with "${args.prefix}"?`,
    counting: (confirmed) => deletionOf({ ...args, confirm_count: confirmed ?? NO_COUNT }),
  };
}

/** Compares a checkpoint with the present, for its counts. */
const comparisonOf = (id: string): Call => ({
  route: routeOf("checkpoint.compare"),
  params: { id },
  query: { limit: 1 },
});

const TRAIL = membersOf("audit.query", "start_time", "limit") as Record<string, TSchema>;

/** A list of words, or one text with commas between them, as in the API's query, which knows the words. */
const wordsOrText = (description: string) => t.Optional(t.Union([t.Array(t.String()), t.String()], { description }));

const wordsIn = (words: JsonValue): JsonValue => (typeof words === "string" ? words.split(",") : words);

/** Checks the words of a query, which are arguments here. */
const trail = new Validator((routeOf("audit.query").query as Validator<TObject>).schema, "argument");

function trailQuery({ agent_id: agentId, operations, result, since, ...rest }: JsonObject): Call {
  const route = routeOf("audit.query");
  const query = {
    ...rest,
    ...(agentId === undefined ? { scope: "workspace" } : { agent_id: [agentId] }),
    ...(since === undefined ? {} : { start_time: since }),
    ...(operations === undefined ? {} : { operations: wordsIn(operations) }),
    ...(result === undefined ? {} : { result: wordsIn(result) }),
  };
  return { route, query: trail.parse(query) as JsonObject };
}

export const TOOL_ROWS: readonly ToolRow[] = [
  {
    name: "memory_write",
    title: "Write to memory",
    description: "Stores text under a key, or says what a policy found in it and stores nothing.",
    scopes: MEMORY,
    core: true,
    hints: { destructive: true, idempotent: true },
    takes: {
      ...membersOf("data.write", "key", "value", "metadata", "ttl_seconds"),
      if_version: t.Optional(
        t.Union([IfVersionText, t.Null()], { description: IF_VERSION.if_version.description as string }),
      ),
    },
    call: writeOf,
    answer: routeOf("data.write").response.schema,
  },
  {
    name: "memory_read",
    title: "Read from memory",
    description: "Returns the text that is stored under a key.",
    scopes: MEMORY,
    core: true,
    hints: { readOnly: true },
    takes: membersOf("data.read", "key"),
    call: asSent("data.read"),
    answer: object({ agent_id: AgentId, key: Key, value: Value, audit_id: t.Optional(EventId) }),
    showsVersion: true,
  },
  {
    name: "memory_search",
    title: "Search memory",
    description: "Finds the stored texts that are most like a query, by words and meaning, best first.",
    scopes: MEMORY,
    core: true,
    hints: { readOnly: true },
    takes: membersOf("data.search", "query", "limit", "prefix", "filter", "collapse"),
    call: asSent("data.search"),
    answer: routeOf("data.search").response.schema,
  },
  {
    name: "memory_list",
    title: "List keys of memory",
    description: "Lists keys with the sizes of their texts, sorted by key, 100 at a time.",
    scopes: MEMORY,
    core: true,
    hints: { readOnly: true },
    takes: {
      ...membersOf("data.list", "prefix"),
      cursor: t.Optional(t.String({ description: "`next_cursor` of the previous page, with the same prefix." })),
    },
    call: asSent("data.list"),
    answer: listOf(object({ key: Key, size: countOf("Bytes of the text as UTF-8.") })),
    shown: ({ data, ...page }) => ({
      data: (data as JsonObject[]).map(({ key, size }) => ({ key, size })) as JsonObject[],
      ...page,
    }),
  },
  {
    name: "memory_delete",
    title: "Delete from memory",
    description: "Deletes one key, or every key with a prefix when confirm_count is how many there are.",
    scopes: MEMORY,
    core: true,
    hints: { destructive: true, idempotent: true },
    takes: {
      key: t.Optional(Key),
      prefix: t.Optional(NonEmptyPrefix),
      ...membersOf("data.delete_prefix", "confirm_count"),
    },
    call: deletionOf,
    answer: routeOf("data.delete").response.schema,
    confirm: confirmDeletion,
  },
  {
    name: "checkpoint_create",
    title: "Make a checkpoint",
    description: "Keeps the present state of the memory under an id, so that it can be restored.",
    scopes: MEMORY,
    hints: {},
    takes: membersOf("checkpoint.create", "label"),
    call: asSent("checkpoint.create"),
    answer: routeOf("checkpoint.create").response.schema,
  },
  {
    name: "checkpoint_list",
    title: "List checkpoints",
    description: "Lists the checkpoints, newest first.",
    scopes: MEMORY,
    hints: { readOnly: true },
    takes: {},
    call: asSent("checkpoint.list"),
    answer: routeOf("checkpoint.list").response.schema,
  },
  {
    name: "checkpoint_restore",
    title: "Restore a checkpoint",
    description: "Replaces the memory by that of a checkpoint, and keeps the present state in another one.",
    scopes: MEMORY,
    hints: { destructive: true },
    takes: { id: t.String({ maxLength: 256, description: "The checkpoint's id: cp_ and 26 characters." }) },
    call: ({ id }) => ({ route: routeOf("checkpoint.restore"), params: { id: id as string }, body: {} }),
    answer: routeOf("checkpoint.restore").response.schema,
    confirm: ({ id }) => ({ telling: comparisonOf(id as string), asking: restoreQuestion }),
  },
  {
    name: "policy_check",
    title: "Check a text",
    description: "Says whether a write of this text would be stored or what a policy finds in it, and stores nothing.",
    scopes: MEMORY,
    hints: { readOnly: true },
    takes: membersOf("policy.check", "value"),
    call: asSent("policy.check"),
    answer: routeOf("policy.check").response.schema,
  },
  {
    name: "audit_query",
    title: "Query the audit trail",
    description: `Lists recorded events, newest first: those of an agent, without an agent those of the workspace itself.`,
    scopes: AUDIT,
    hints: { readOnly: true },
    agentOptional: true,
    takes: {
      operations: wordsOrText("Only events of these operations, such as data.write or checkpoint.restore."),
      result: wordsOrText(`Only events with these results: ${AUDIT_RESULTS.join(", ")}.`),
      since: TRAIL.start_time as TSchema,
      limit: TRAIL.limit as TSchema,
    },
    call: trailQuery,
    answer: routeOf("audit.query").response.schema,
  },
  {
    name: "audit_verify",
    title: "Verify the audit trail",
    description:
      "Recomputes every hash of the trail and compares what is stored with it: of an agent, without one of the whole workspace.",
    scopes: AUDIT,
    hints: { readOnly: true },
    agentOptional: true,
    takes: {},
    call: (args) => ({
      route: routeOf("audit.verify"),
      body: args.agent_id === undefined ? { scope: "workspace" } : args,
    }),
    answer: routeOf("audit.verify").response.schema,
  },
];

/** The tools of `/v1/mcp`, which take an agent, and those of an agent's endpoint. They are made when first needed. */
let made: Record<"anyAgent" | "oneAgent", readonly Tool[]> | undefined;

export function tools(): NonNullable<typeof made> {
  made ??= { anyAgent: toolsOf(TOOL_ROWS, false), oneAgent: toolsOf(TOOL_ROWS, true) };
  return made;
}
