/** JSON-RPC 2.0 messages, as MCP restricts them: one request or notification a body, and no null as an id. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { JsonProblem, NotAnObject, parseStrictJson } from "../pipeline/strict-json.ts";

/** The error codes of JSON-RPC 2.0 section 5.1 and of MCP 2026-07-28. */
export const RPC = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  /** HeaderMismatch */
  header: -32020,
  /** UnsupportedProtocolVersion */
  version: -32022,
} as const;

/** An error of the protocol. Its message repeats no value of the request. */
export class RpcError extends Error {
  override readonly name = "RpcError";

  /** `status`: of the HTTP response. */
  constructor(
    readonly code: number,
    message: string,
    readonly status: number,
    readonly data?: JsonObject,
  ) {
    super(message);
  }
}

type MessageId = string | number;

/** A request, or a notification, which has no id. */
export interface Message {
  id: MessageId | null;
  method: string;
  params: JsonObject;
}

const NO_PARAMS: JsonObject = {};

/** Returns the object in a body. @throws {RpcError} 400 with -32700, or -32600 for an array and other values */
export function parseMessage(bytes: Uint8Array): JsonObject {
  try {
    return parseStrictJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    if (!(error instanceof NotAnObject)) throw new RpcError(RPC.parse, error.message, 400);
    throw malformed("Send one request in each body: an object, not an array.");
  }
}

/** Returns the id of a message that may be malformed; null when it has none. */
export const idOf = ({ id }: JsonObject): MessageId | null =>
  typeof id === "string" || Number.isSafeInteger(id) ? (id as MessageId) : null;

/**
 * Returns the message. A null member means the same as an absent one: the libraries of some languages send all members.
 * @throws {RpcError} 400 with -32600 when it is neither a request nor a notification
 */
export function messageOf(body: JsonObject): Message {
  const { jsonrpc, method, params = NO_PARAMS } = withoutNulls(body);
  if (jsonrpc !== "2.0") throw malformed('"jsonrpc" must be "2.0".');
  if (typeof method !== "string") throw malformed('A request has a "method". Responses are not accepted.');
  if (!isJsonObject(params)) throw malformed('"params" must be an object.');
  const id = idOf(body);
  // A request with a null id is refused: as a notification it would get no answer, and its sender waits for one.
  const hasNoId = body.id === undefined || (body.id === null && method.startsWith(NOTIFICATION));
  if (id === null && !hasNoId) throw malformed('"id" must be a string or an integer.');
  return { id, method, params };
}

/** What the methods of notifications begin with. */
const NOTIFICATION = "notifications/";

/** The member with the arguments of a tool. Its schema says where null has a meaning. */
const ARGUMENTS = "arguments";

function withoutNulls(object: JsonObject): JsonObject {
  const present = Object.entries(object).filter(([, value]) => value !== null);
  return Object.fromEntries(present.map(([name, value]) => [name, name === ARGUMENTS ? value : presentIn(value)]));
}

const presentIn = (value: JsonValue): JsonValue => (isJsonObject(value) ? withoutNulls(value) : value);

const malformed = (message: string) => new RpcError(RPC.request, message, 400);

/** Returns the error of invalid parameters, with the status that answers of methods have. */
export const invalidParams = (message: string, data?: JsonObject) => new RpcError(RPC.params, message, 200, data);

/** Returns the response with a result, which is JSON text. */
export const resultText = (id: MessageId, result: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;

/** Returns the response with an error. */
export function errorText(id: MessageId | null, { code, message, data }: RpcError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } });
}
