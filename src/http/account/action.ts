/** A route of `/account`: its method, path, schemas, documentation and function. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { AccountParts, Origin } from "../../control/accounts/parts.ts";
import type { SignedIn } from "../../control/accounts/session-keeper.ts";
import type { WorkspaceEvent } from "../../control/journal.ts";
import type { JsonObject } from "../../json.ts";
import { Validator } from "../pipeline/validate.ts";
import type { ProblemCode } from "../problem.ts";
import type { Method, ParamsOf } from "../route.ts";

/** What the routes of `/account` need of the rest of the program. */
export interface AccountDeps {
  sessions: { find(token: string, how?: { use: boolean }): SignedIn | null };
  parts: AccountParts;
  /** Bytes that a workspace occupies on disk. */
  storageBytes(workspaceId: string): Promise<number>;
  /** The quotas of one workspace; null for no limit. */
  quota?: { bytes: number | null; entries: number | null };
}

/** A request after validation. */
export interface ActionRequest<P extends string, B, S> {
  params: Record<P, string>;
  body: B;
  origin: Origin;
  /** `https://` and the host that the request was sent to. */
  base: string;
  signedIn: S;
}

/** The result of an action. */
export interface ActionReply {
  /** 200 unless named, 204 without a body. */
  status?: number;
  body?: JsonObject;
  cookies?: readonly string[];
  /** The event in the workspace's chain that recorded it. */
  auditId?: string | null;
}

export interface ActionDocs {
  tag: "Account" | "Workspaces" | "Keys";
  summary: string;
  description: string;
  /** Absent for a response without a body. */
  response?: { description: string; schema: TSchema };
  status?: number;
  problems?: readonly ProblemCode[];
  requestExample?: JsonObject;
  /** Its operations in the chain of a workspace; absent when it is not recorded. */
  recordedAs?: readonly WorkspaceEvent["operation"][];
}

interface ActionDefinition<P extends string, B extends TObject | undefined, S> {
  /** Names the operation in the documentation. */
  name: string;
  method: Method;
  path: P;
  body?: B;
  /** The body may be left out; it is `{}` then. */
  bodyOptional?: boolean;
  docs: ActionDocs;
  run(
    request: ActionRequest<ParamsOf<P>, B extends TObject ? Static<B> : Record<never, never>, S>,
    deps: AccountDeps,
  ): Promise<ActionReply> | ActionReply;
}

/** A route of `/account` with its validator compiled. */
export interface Action {
  name: string;
  method: Method;
  path: string;
  /** Needs no session. */
  isPublic: boolean;
  query: null;
  body: Validator<TObject> | null;
  bodySchema: TObject | null;
  bodyOptional: boolean;
  explain: undefined;
  unfindable: ProblemCode;
  docs: ActionDocs;
  run(request: ActionRequest<string, unknown, SignedIn | null>, deps: AccountDeps): Promise<ActionReply> | ActionReply;
}

function compile(definition: ActionDefinition<string, TObject | undefined, never>, isPublic: boolean): Action {
  const { name, method, path, body, docs, run } = definition;
  return {
    name,
    method,
    path,
    isPublic,
    query: null,
    body: body === undefined ? null : new Validator(body, "member"),
    bodySchema: body ?? null,
    bodyOptional: definition.bodyOptional ?? false,
    explain: undefined,
    unfindable: "not_found",
    docs,
    // The caller passes exactly what the validator and the session check returned.
    run: run as unknown as Action["run"],
  };
}

/** Defines a route that needs no session. */
export function publicAction<P extends string, B extends TObject | undefined = undefined>(
  definition: ActionDefinition<P, B, null>,
): Action {
  return compile(definition as unknown as ActionDefinition<string, TObject | undefined, never>, true);
}

/** Defines a route that needs a session. */
export function action<P extends string, B extends TObject | undefined = undefined>(
  definition: ActionDefinition<P, B, SignedIn>,
): Action {
  return compile(definition as unknown as ActionDefinition<string, TObject | undefined, never>, false);
}
