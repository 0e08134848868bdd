/** Calls tools: converts a call to a request for a route, and the operation's reply to the tool's result. */

import { conditionOf } from "../../../api/precondition.ts";
import { checkScope } from "../../../api/scopes.ts";
import { wholeText } from "../../../core/long-text.ts";
import { type Bytes, limitedTo, type Principal, type Reply } from "../../../core/writer/contract.ts";
import { isJsonObject, type JsonObject } from "../../../json.ts";
import { PROBLEMS, Problem } from "../../../problem.ts";
import type { Exchange } from "../pipeline/exchange.ts";
import { checkParams, type HandleDeps, perform } from "../pipeline/handle.ts";
import { retryKey, retryOf } from "../pipeline/retry.ts";
import { answerIn, type Confirmations, questionResult } from "./confirmations.ts";
import { type Caller, resultOf } from "./generation.ts";
import { invalidParams } from "./message.ts";
import { omitAgent } from "./schemas.ts";
import type { Call, Confirmation, Tool } from "./tool.ts";

/** The target of a request. */
export interface Addressed {
  /** The principal; on an agent's endpoint, limited to that agent. */
  principal: Principal;
  /** The agent of the endpoint; null when tools take an agent. */
  agentId: string | null;
  /** The tools that this endpoint has for this key. */
  tools: readonly Tool[];
}

/** A request to one of the endpoints. */
export interface McpRequest extends Addressed {
  request: Request;
  /** The body. */
  bytes: Uint8Array;
  exchange: Exchange;
  caller: Caller;
  deps: HandleDeps;
  confirmations: Confirmations;
}

/** The statuses of problems that a model can correct. All others are HTTP responses. */
const CORRECTABLE: ReadonlySet<number> = new Set([400, 404, 409, 412]);

/**
 * Returns the result of a call, as JSON.
 * @throws {RpcError} for an unknown tool
 * @throws {Problem} for an HTTP response
 */
export async function callTool(asked: McpRequest, params: JsonObject): Promise<string> {
  const tool = asked.tools.find(({ name }) => name === params.name);
  if (tool === undefined) throw invalidParams("There is no such tool for this key. tools/list lists the tools.");
  const { arguments: given = {} } = params;
  if (!isJsonObject(given)) throw invalidParams('"arguments" must be an object.');
  try {
    const own = tool.arguments.parse(given) as JsonObject;
    const args = asked.agentId === null ? own : { agent_id: asked.agentId, ...own };
    const question = asked.caller.elicits ? (tool.confirm?.(args) ?? null) : null;
    if (question !== null) return await callConfirmed(asked, params, { tool, args, question });
    return shownResult(asked, tool, await performCall(asked, namedIn(args), tool.call(args)));
  } catch (error) {
    if (!(error instanceof Problem) || !isCorrectable(error)) throw error;
    asked.exchange.problem = error.code;
    const { param, extra } = error.options;
    return problemResult(asked, error.code, error.message, { ...(param === undefined ? {} : { param }), ...extra });
  }
}

const isCorrectable = ({ code }: Pick<Problem, "code">): boolean => CORRECTABLE.has(PROBLEMS[code][0]);

/** Returns the agent that a call names; null when it is about the whole workspace. */
const namedIn = ({ agent_id: agentId }: JsonObject): string | null => (typeof agentId === "string" ? agentId : null);

/**
 * Performs a call like a request for its route.
 * @param named the only agent in which the operation finds anything; null for all agents of the key
 * @throws {Problem} when it is refused before the operation
 */
export async function performCall(
  asked: McpRequest,
  named: string | null,
  { route, params = {}, query = {}, body = {} }: Call,
): Promise<Reply<Bytes>> {
  const { exchange, request, bytes, deps } = asked;
  exchange.operation = route.operation;
  exchange.agentId ??= named;
  checkScope(asked.principal, route.operation);
  const principal = named === null ? asked.principal : limitedTo(asked.principal, named);
  checkParams(route, params);
  const key = retryKey(route, request.headers);
  const retry = key === null ? null : retryOf(key, asked, bytes);
  // The preconditions of a call are arguments, but a precondition in a header must not be ignored.
  const condition = route.preconditions === "ignored" ? undefined : conditionOf(request.headers, false);
  const inRoute = { params, query, body, headers: NO_HEADERS, principal, condition };
  return perform(route, inRoute, { request, exchange, retry }, deps);
}

const NO_HEADERS = new Headers();

/** A call that a person must confirm. */
interface Questioned {
  tool: Tool;
  args: JsonObject;
  question: Confirmation;
}

/** Performs the call if a person has confirmed it, and asks otherwise. */
async function callConfirmed(
  asked: McpRequest,
  { requestState, inputResponses }: JsonObject,
  { tool, args, question }: Questioned,
): Promise<string> {
  const { confirmations, principal } = asked;
  const of = { actor: principal.actor, tool: tool.name, args };
  const ask = (text: string, count: number) => questionResult(text, confirmations.begin(of, count));
  const answer = typeof requestState === "string" ? answerIn(inputResponses) : null;
  const count = answer === null ? null : confirmations.accept(requestState as string, of);
  if (answer === "no") return problemResult(asked, "not_confirmed", NOT_CONFIRMED);
  if ("telling" in question) {
    if (answer === "yes") return shownResult(asked, tool, await performCall(asked, namedIn(args), tool.call(args)));
    const told = await performCall(asked, namedIn(args), question.telling);
    if (told.answer.kind !== "json") return shownResult(asked, tool, told);
    return ask(question.asking(JSON.parse(wholeText(told.answer.body)), principal), 0);
  }
  const reply = await performCall(asked, namedIn(args), question.counting(count));
  // Nobody has confirmed this number of entries: it is the first call, or the number has changed.
  const refusal = reply.answer;
  if (refusal.kind !== "problem" || refusal.code !== "count_mismatch") return shownResult(asked, tool, reply);
  const found = refusal.extra?.count as number;
  return ask(question.text(found), found);
}

const NOT_CONFIRMED = "The person did not confirm the call. Nothing was changed.";

/** Returns the result for an operation's reply. @throws {Problem} for an HTTP response */
function shownResult(asked: McpRequest, tool: Tool, { answer, blockedBy }: Reply<Bytes>): string {
  const { shown, name, showsVersion } = tool;
  if (answer.kind === "problem") {
    const { code, detail, extra = {} } = answer;
    if (isCorrectable(answer)) return problemResult(asked, code, detail, extra);
    throw new Problem(code, detail, { extra });
  }
  if (answer.kind !== "json") throw new Error(`${name} has no JSON answer`);
  const tag = showsVersion === true && answer.etag !== undefined ? `,"audit_id":"${answer.etag}"}` : "}";
  const whole = wholeText(answer.body).slice(0, -1) + tag;
  const body = shown === undefined ? whole : JSON.stringify(shown(JSON.parse(whole)));
  return toolResult(asked, asked.agentId === null ? body : omitAgent(body), blockedBy !== undefined);
}

const problemResult = (asked: McpRequest, code: string, detail: string, extra: JsonObject = {}): string =>
  toolResult(asked, JSON.stringify({ code, detail, ...extra }), true);

/** Returns a tool's result: the answer as a value, and also as text for clients that do not support values. */
function toolResult({ caller }: McpRequest, body: string, isError: boolean): string {
  const failed = isError ? ',"isError":true' : "";
  return resultOf(
    caller,
    `"content":[{"type":"text","text":${JSON.stringify(body)}}],"structuredContent":${body}${failed}`,
  );
}
