/**
 * Defines routes: method, path, schemas and descriptions, and what carries a request out. Under `/v1` that is an
 * operation, to whose input the row converts the request; under `/account` it is a function of the row.
 */

import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Principal } from "../core/writer/contract.ts";
import type { VersionCondition } from "../operation-facts.ts";
import {
  changesSomething,
  type EventName,
  isSuspendable,
  type OperationInputs,
  type OperationName,
  partsOf,
  whenOverQuota,
} from "../operations.ts";
import type { AccountDeps, AccountReply, AccountRequest, Sender } from "../ops/accounts/routes/contract.ts";
import type { ProblemCode } from "../problem.ts";
import type { HeaderName } from "./headers.ts";
import { CONDITION_HEADERS, NONE_MATCH } from "./precondition.ts";
import { type Explain, Validator } from "./validate.ts";

type Method = "GET" | "PUT" | "POST" | "PATCH" | "DELETE";

/** The names of the `:parameters` of a path. */
type ParamsOf<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsOf<`/${Rest}`>
  : P extends `${infer Before}/*`
    ? "*" | ParamsOf<Before>
    : P extends `${string}:${infer Name}`
      ? Name
      : never;

/** A validated request, as a route's `input` gets it. */
export interface RouteRequest<P extends string, Q, B> {
  /** Path parameters, decoded but otherwise as sent: a malformed one is simply not found. */
  params: Record<P, string>;
  query: Q;
  body: B;
  headers: Headers;
  principal: Principal;
  /** The condition in its precondition header, if the route is `conditional`. */
  condition: VersionCondition | undefined;
}

/** How the API's documentation describes an answer. */
export interface ResponseDoc {
  description: string;
  /** Absent for an answer without a body. */
  schema?: TSchema;
  /** The media type, if it is not application/json. */
  mediaType?: string;
  /** Media types besides the first. */
  otherTypes?: readonly string[];
  etag?: boolean;
  /** The body is sent as it is made, and never stored. */
  streamed?: true;
  /**
   * The answer may be compressed, since it has no secrets: see `pipeline/compression.ts`. Never together with `etag`.
   */
  compressed?: true;
  /** Headers that only some answers have, besides `ETag`. */
  sends?: readonly HeaderName[];
}

/** How the API's documentation describes a header of a request. */
interface RequestHeader {
  description: string;
  example: string;
}

/** The common part of the definitions of routes. */
interface Endpoint<At extends string, Q extends TObject, B extends TObject> {
  /** The method and path: `GET /v1/agents/:agent_id`. */
  at: At & `${Method} /${string}`;
  query?: Q;
  body?: B;
  /** Whether the body may be left out, in which case it is `{}`. */
  bodyOptional?: boolean;
  /** Explains why the compiled check refuses a body, if the general message would not help. */
  explain?: Explain;
  /** The problem for a path parameter that cannot be an identifier. */
  unfindable?: ProblemCode;
  summary: string;
  description: string;
  /** The status of a response that is not a problem; 200 by default. */
  status?: number;
  /** Error codes besides those that follow from the rest. */
  problems?: readonly ProblemCode[];
}

/** A route with compiled validators. All have the same members. */
export interface CompiledEndpoint
  extends Required<Omit<Endpoint<string, TObject, TObject>, "at" | "query" | "body" | "explain">> {
  /** What it is called in the log and in the API's documents: `data.read`, `account.sign_in`. */
  name: string;
  method: Method;
  path: string;
  query: Validator<TObject> | null;
  body: Validator<TObject> | null;
  explain: Explain | undefined;
  response: ResponseDoc;
  headers: Readonly<Record<string, RequestHeader>>;
  /** Whether the answer to a request with an `Idempotency-Key` is stored. */
  retryable: boolean;
  /** The handling of preconditions in headers. In a request that changes nothing, they concern only the answer. */
  preconditions: "taken" | "refused" | "ignored";
}

/** The schema of an absent query or body. */
type NoMembers = TObject<Record<never, never>>;

/** Compiles the schemas of a route. */
function compiled(endpoint: Endpoint<string, TObject, TObject>) {
  const { at, query, body, bodyOptional = false, explain, unfindable = "not_found" } = endpoint;
  const { summary, description, status = 200, problems = [] } = endpoint;
  const [method, path] = at.split(" ") as [Method, string];
  return {
    method,
    path,
    query: query === undefined ? null : new Validator(query, "query parameter"),
    body: body === undefined ? null : new Validator(body, "member"),
    bodyOptional,
    explain,
    unfindable,
    summary,
    description,
    status,
    problems,
  };
}

/** Whether a route takes conditions from headers: exactly if the operation's input has a condition. */
type Conditional<N extends OperationName> = "condition" extends keyof OperationInputs[N]
  ? { conditional: true }
  : { conditional?: never };

/** The definition of a route of an operation. */
type OperationRow<N extends OperationName, At extends string, Q extends TObject, B extends TObject> = RouteParts<
  N,
  At,
  Q,
  B
> &
  Conditional<N>;

interface RouteParts<N extends OperationName, At extends string, Q extends TObject, B extends TObject>
  extends Endpoint<At, Q, B> {
  operation: N;
  /** What it is called, when its operation has another route, too. */
  name?: string;
  response: WithBody;
  /** Request headers that this operation honours. */
  headers?: Readonly<Record<string, RequestHeader>>;
  input(request: RouteRequest<ParamsOf<At>, Static<Q>, Static<B>>): OperationInputs[N];
  /** False when the route refuses an `Idempotency-Key`, since its answers cannot be stored. */
  retryable?: false;
  /** Another operation that some requests are for. */
  variant?: {
    operation: OperationName;
    /** Returns its input; null when the request is for the route's own operation. */
    input(request: RouteRequest<ParamsOf<At>, Static<Q>, Static<B>>): OperationInputs[OperationName] | null;
  };
}

/** The answer of an operation always has a body. */
type WithBody = ResponseDoc & Required<Pick<ResponseDoc, "schema">>;

/** The definition of a route of `/account`. */
interface AccountRow<S extends Sender, At extends string, B extends TObject> extends Endpoint<At, NoMembers, B> {
  by: S;
  /** What it is called, without `account.` before it. */
  name: string;
  response?: ResponseDoc;
  /** Its operations in the logs of a workspace and of the installation; absent when it is not recorded. */
  recordedAs?: readonly EventName[];
  run(request: AccountRequest<S, ParamsOf<At>, Static<B>>, deps: AccountDeps): Promise<AccountReply> | AccountReply;
}

/** A valid request for the route of an operation. */
export type AskedOfRoute = RouteRequest<string, unknown, unknown>;

/** The route of an operation, whose requests have an API key, a token or a session. */
export interface Route extends CompiledEndpoint {
  by: "key";
  operation: OperationName;
  response: WithBody;
  input(request: AskedOfRoute): OperationInputs[OperationName];
  variant:
    | { operation: OperationName; input(request: AskedOfRoute): OperationInputs[OperationName] | null }
    | undefined;
}

/** A route of `/account`, for people. */
export interface AccountRoute extends CompiledEndpoint {
  by: Sender;
  recordedAs: readonly EventName[];
  run(request: AccountRequest<"anyone", string, unknown>, deps: AccountDeps): Promise<AccountReply> | AccountReply;
}

export type AnyRoute = Route | AccountRoute;

/** Whether a route is one of `/account`. */
export const isForPeople = (route: AnyRoute): route is AccountRoute => route.by !== "key";

/** Defines a route. */
export function route<
  N extends OperationName,
  At extends string,
  Q extends TObject = NoMembers,
  B extends TObject = NoMembers,
>(row: OperationRow<N, At, Q, B>): Route;
export function route<S extends Sender, At extends string, B extends TObject = NoMembers>(
  row: AccountRow<S, At, B>,
): AccountRoute;
export function route(row: object): AnyRoute {
  return "operation" in row ? operationRoute(row as AnyOperationRow) : accountRoute(row as AnyAccountRow);
}

type AnyOperationRow = OperationRow<OperationName, string, TObject, TObject>;
type AnyAccountRow = AccountRow<Sender, string, TObject>;

function operationRoute(row: AnyOperationRow): Route {
  const { operation, unfindable, problems = [], response, conditional, input, variant } = row;
  const readsTag = response.etag === true && row.at.startsWith("GET ");
  const retryable = row.retryable !== false && !row.at.startsWith("GET ");
  const ofOperation: ProblemCode[] = partsOf(operation).some(isSuspendable) ? ["agent_suspended"] : [];
  if (unfindable !== undefined) ofOperation.push(unfindable);
  ofOperation.push(...problems);
  if (conditional === true) ofOperation.push("version_conflict");
  if (partsOf(operation).some((part) => whenOverQuota(part) !== null)) ofOperation.push("quota_exceeded");
  if (retryable) ofOperation.push("idempotency_in_progress", "idempotency_mismatch", "quota_exceeded");
  return {
    ...compiled({ ...row, problems: [...new Set(ofOperation)] }),
    by: "key",
    name: row.name ?? operation,
    operation,
    response,
    headers: { ...row.headers, ...(conditional === true ? CONDITION_HEADERS : readsTag ? NONE_MATCH : {}) },
    retryable,
    preconditions: conditional === true ? "taken" : changesSomething(operation) ? "refused" : "ignored",
    // The pipeline passes exactly what these validators returned.
    input: input as Route["input"],
    variant: variant as Route["variant"],
  };
}

/** No answer of such a route is stored, since it may show a secret, or belongs to one session. */
function accountRoute(row: AnyAccountRow): AccountRoute {
  const { by, name, problems = [], response, recordedAs = [], run } = row;
  const ofSender: ProblemCode[] = by === "member" || by === "owner" ? ["second_factor_missing"] : [];
  if (ofSender.length > 0 || by === "locked_member") ofSender.unshift("workspace_not_found");
  return {
    ...compiled({ status: response?.schema === undefined ? 204 : 200, ...row, problems: [...ofSender, ...problems] }),
    by,
    name: `account.${name}`,
    response: response ?? { description: "Done." },
    headers: {},
    retryable: false,
    preconditions: row.at.startsWith("GET ") ? "ignored" : "refused",
    recordedAs,
    run: run as AccountRoute["run"],
  };
}
