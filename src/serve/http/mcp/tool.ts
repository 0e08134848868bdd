/** A tool: a row of the table (tools.ts), from which the schemas for clients and the request for a route are made. */
import { type TObject, type TProperties, type TSchema, Type as t } from "@sinclair/typebox";
import { AgentId } from "../../../api/fields.ts";
import type { Route } from "../../../api/route.ts";
import { object } from "../../../api/shapes.ts";
import { Validator } from "../../../api/validate.ts";
import type { Principal } from "../../../core/writer/contract.ts";
import type { JsonObject } from "../../../json.ts";
import type { Scope } from "../../../operation-facts.ts";
import { AGENT, answerSchema, inputSchema } from "./schemas.ts";

/** A request for a route: its query, its body and its path parameters. */
export interface Call {
  route: Route;
  params?: Record<string, string>;
  query?: JsonObject;
  body?: JsonObject;
}

/** What a tool does to the data, as clients show it to people. */
interface Hints {
  readOnly?: true;
  /** Set when it can end or replace stored data. */
  destructive?: true;
  /** Set when a second call with the same arguments changes nothing. */
  idempotent?: true;
}

export interface ToolRow {
  name: string;
  title: string;
  /** One sentence for the model. */
  description: string;
  /** The scopes of the keys that see the tool. Its operation may allow more. */
  scopes: readonly Scope[];
  /** Set for the tools of `?tools=core`. */
  core?: true;
  hints: Hints;
  /** The arguments, without the agent. */
  takes: TProperties;
  /** Set when a call without an agent is about the whole workspace. */
  agentOptional?: true;
  /** Returns the request. `args` are valid, and have `agent_id` unless it was left out. @throws {Problem} */
  call(args: JsonObject): Call;
  /** The schema of the answer, in the form of {@link ToolRow.shown}. */
  answer: TSchema;
  /** Set when the answer includes its entity tag as `audit_id`: the version that a later write can name. */
  showsVersion?: true;
  /** Returns the part of the route's answer for the model; the whole answer when absent. */
  shown?(body: JsonObject): JsonObject;
  /** Returns the confirmation that a call needs; null for none. */
  confirm?(args: JsonObject): Confirmation | null;
}

/** A confirmation of a call by a person. */
export type Confirmation = CountedConfirmation | ToldConfirmation;

/** The person confirms how many entries the call ends. */
interface CountedConfirmation {
  /** Returns the question. */
  text(count: number): string;
  /** Returns a call that is refused with the count of entries, unless `confirmed` is this count. */
  counting(confirmed: number | null): Call;
}

/** The person confirms what another call, which changes nothing, tells about this one. */
interface ToldConfirmation {
  telling: Call;
  /** Returns the question. `told` is the answer of the other call. */
  asking(told: JsonObject, principal: Principal): string;
}

/** A tool of one of the two endpoints. */
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
  const schema = object(ofAgent ? row.takes : { [AGENT]: agent, ...row.takes });
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
