/** What a route is: one operation's method, path, schemas, words, and the way from request to input. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { JsonObject } from "../json.ts";
import { isSuspendable, type OperationInputs, type OperationName, whatGrows } from "../operations.ts";
import type { Principal } from "../workspace/contract.ts";
import { type Explain, Validator } from "./pipeline/validate.ts";
import type { ProblemCode } from "./problem.ts";

export type Method = "GET" | "PUT" | "POST" | "DELETE";

/** The names of the `:parameters` of a path. */
export type ParamsOf<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsOf<`/${Rest}`>
  : P extends `${string}:${infer Name}`
    ? Name
    : never;

/** A request after validation, as a route's `input` sees it. */
export interface RouteRequest<P extends string, Q, B> {
  /** Path parameters, decoded but otherwise as sent: a malformed one is simply not found. */
  params: Record<P, string>;
  query: Q;
  body: B;
  headers: Headers;
  principal: Principal;
}

/** How the API's documentation describes an answer. */
export interface ResponseDoc {
  description: string;
  schema: TSchema;
  /** The media type, where it is not application/json. */
  mediaType?: string;
  /** Media types besides the first. */
  otherTypes?: readonly string[];
  example?: unknown;
  etag?: boolean;
}

/** The parts of a route that only the documentation needs. */
export interface RouteDocs {
  summary: string;
  description: string;
  response: ResponseDoc;
  status?: number;
  /** Error codes besides those of every route, of `unfindable`, of suspension and of quotas. */
  problems?: readonly ProblemCode[];
  requestExample?: JsonObject;
  /** Request headers that this operation honours. */
  headers?: Readonly<Record<string, string>>;
}

/** A route as its feature writes it. */
export interface RouteDefinition<
  N extends OperationName,
  P extends string,
  Q extends TObject | undefined,
  B extends TObject | undefined,
> {
  operation: N;
  method: Method;
  path: P;
  query?: Q;
  body?: B;
  /** The body may be left out; it is `{}` then. */
  bodyOptional?: boolean;
  /** Words for a body that the compiled check refuses, where the general ones would not help. */
  explain?: Explain;
  /** What a path parameter that cannot name anything is answered with. */
  unfindable?: ProblemCode;
  docs: RouteDocs;
  input(request: RouteRequest<ParamsOf<P>, StaticOr<Q>, StaticOr<B>>): OperationInputs[N];
  /** Another operation that a request can turn out to ask for. */
  variant?: {
    operation: OperationName;
    /** Its input; null when the request asks for the route's own operation. */
    input(request: RouteRequest<ParamsOf<P>, StaticOr<Q>, StaticOr<B>>): OperationInputs[OperationName] | null;
  };
}

type StaticOr<T> = T extends TObject ? Static<T> : Record<never, never>;

/** A route with its validators compiled, the same shape for every operation. */
export interface Route {
  operation: OperationName;
  method: Method;
  path: string;
  query: Validator<TObject> | null;
  querySchema: TObject | null;
  body: Validator<TObject> | null;
  bodySchema: TObject | null;
  bodyOptional: boolean;
  explain: Explain | undefined;
  unfindable: ProblemCode;
  docs: RouteDocs;
  input(request: RouteRequest<string, unknown, unknown>): OperationInputs[OperationName];
  variant:
    | {
        operation: OperationName;
        input(request: RouteRequest<string, unknown, unknown>): OperationInputs[OperationName] | null;
      }
    | undefined;
}

/** Compiles a route's schemas. */
export function route<
  N extends OperationName,
  P extends string,
  Q extends TObject | undefined = undefined,
  B extends TObject | undefined = undefined,
>(definition: RouteDefinition<N, P, Q, B>): Route {
  const { query, body } = definition;
  return {
    operation: definition.operation,
    method: definition.method,
    path: definition.path,
    query: query === undefined ? null : new Validator(query, "query parameter"),
    querySchema: query ?? null,
    body: body === undefined ? null : new Validator(body, "member"),
    bodySchema: body ?? null,
    bodyOptional: definition.bodyOptional ?? false,
    explain: definition.explain,
    unfindable: definition.unfindable ?? "not_found",
    docs: { ...definition.docs, problems: problemsOf(definition) },
    // The pipeline hands over exactly what these validators made.
    input: definition.input as Route["input"],
    variant: definition.variant as Route["variant"],
  };
}

/** Returns the problems that the route documents, with those that follow from the list of operations. */
function problemsOf(route: { operation: OperationName; unfindable?: ProblemCode; docs: RouteDocs }): ProblemCode[] {
  const { operation, unfindable, docs } = route;
  return [
    ...new Set<ProblemCode>([
      ...(isSuspendable(operation) ? (["agent_suspended"] as const) : []),
      ...(unfindable === undefined ? [] : [unfindable]),
      ...(docs.problems ?? []),
      ...(whatGrows(operation) === "entries" ? (["quota_exceeded"] as const) : []),
    ]),
  ];
}
