/** What a tool is: a row of the table (tools.ts), and from it the schemas that clients see and the request for a route. */
import { type TObject, type TProperties, type TSchema, Type as t } from "@sinclair/typebox";
import type { JsonObject } from "../../json.ts";
import type { Scope } from "../../operation-facts.ts";
import { AgentId } from "../fields.ts";
import { Validator } from "../pipeline/validate.ts";
import type { Route } from "../route.ts";
import { object } from "../shapes.ts";
import { answerSchema, inputSchema } from "./schemas.ts";

/** A request for a route: what its query, its body and its path would bring. */
export interface Call {
  route: Route;
  params?: Record<string, string>;
  query?: JsonObject;
  body?: JsonObject;
}

/** What a tool does to the data, as clients show it to people. */
interface Hints {
  readOnly?: true;
  /** It can end or replace what is stored. */
  destructive?: true;
  /** A second call with the same arguments changes nothing more. */
  idempotent?: true;
}

export interface ToolRow {
  name: string;
  title: string;
  /** One sentence for the model. */
  description: string;
  /** The scopes of the keys that see it. Its operation may allow more. */
  scopes: readonly Scope[];
  /** It is one of those of `?tools=core`. */
  core?: true;
  hints: Hints;
  /** The arguments, without the agent. */
  takes: TProperties;
  /** Without an agent it is about the whole workspace. */
  agentOptional?: true;
  /** Returns the request. `args` are valid, and have `agent_id` unless it was left out. @throws {Problem} */
  call(args: JsonObject): Call;
  /** What the route answers, in the form of {@link ToolRow.shown}. */
  answer: TSchema;
  /** The entity tag of the answer is a member of it, `audit_id`: the version that a later write can name. */
  showsVersion?: true;
  /** Returns what the model sees of the answer of the route; all of it when absent. */
  shown?(body: JsonObject): JsonObject;
  /** Returns what a person is asked before a call; null for nothing. */
  confirm?(args: JsonObject): Confirmation | null;
}

/** What a person is asked before a call. */
export interface Confirmation {
  /** Returns the question. `count`: of the entries that the call ends; 0 when it does not count them. */
  text(count: number): string;
  /** Returns the call that is refused, saying the count, unless `confirmed` is how many entries it ends. */
  counting?(confirmed: number | null): Call;
}

/** A tool as one of the two endpoints serves it. */
export interface Tool extends ToolRow {
  arguments: Validator<TObject>;
  /** Its entry in the list, as JSON. */
  listed: string;
}

/** Makes the tools of `/v1/mcp`, or with `ofAgent` of an agent's endpoint, whose tools have no `agent_id`. */
export const toolsOf = (rows: readonly ToolRow[], ofAgent: boolean): readonly Tool[] =>
  rows.map((row) => toolOf(row, ofAgent));

function toolOf(row: ToolRow, ofAgent: boolean): Tool {
  const agent = row.agentOptional ? t.Optional(AgentId) : AgentId;
  const schema = object(ofAgent ? row.takes : { agent_id: agent, ...row.takes });
  const listed = {
    name: row.name,
    title: row.title,
    description: row.description,
    inputSchema: inputSchema(schema),
    outputSchema: answerSchema(row.answer, ofAgent),
    annotations: {
      readOnlyHint: row.hints.readOnly === true,
      destructiveHint: row.hints.destructive === true,
      idempotentHint: row.hints.readOnly === true || row.hints.idempotent === true,
      openWorldHint: false,
    },
  };
  return { ...row, arguments: new Validator(schema, "argument"), listed: JSON.stringify(listed) };
}
