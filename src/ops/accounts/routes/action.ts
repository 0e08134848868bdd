/** Defines routes of `/account`, each with the function that carries it out. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import {
  type CompiledEndpoint,
  compileEndpoint,
  type Endpoint,
  type NoMembers,
  type ParamsOf,
} from "../../../api/route.ts";
import type { JsonObject } from "../../../json.ts";
import type { RoleRules } from "../../../oidc/group-roles.ts";
import type { Issuer, WaitingFlow } from "../../../oidc/issuer.ts";
import type { IssuerTrouble } from "../../../oidc/refused.ts";
import type { ActivityInterval } from "../../../operation-facts.ts";
import type { EventName } from "../../../operations.ts";
import { findMembership, type Membership, requireMembership, requireOwner } from "../members.ts";
import type { AccountParts, Origin } from "../parts.ts";
import type { PasskeyChallenge } from "../passkeys.ts";
import type { SignedIn } from "../session-keeper.ts";
import type { Waiting } from "../waiting.ts";
import type { BegunSignIns } from "./begun-sign-ins.ts";

/** The dependencies of the routes of `/account`. */
export interface AccountDeps {
  sessions: { find(token: string, how?: { use: boolean }): SignedIn | null };
  parts: AccountParts;
  /** Returns the bytes of a workspace on disk. */
  storageBytes(workspaceId: string): Promise<number>;
  /** Counts the findings of a workspace's policies over time. The account is the actor of the event. */
  findings(
    of: { workspaceId: string; accountId: string },
    interval: ActivityInterval,
  ): Promise<{ body: JsonObject; auditId: string | null }>;
  /** The state of the disk, the certificates and the backups. */
  upkeep(): Promise<JsonObject>;
  /** The quotas of one workspace; null for no limit. */
  quota?: { bytes: number | null; entries: number | null };
  /** The pending challenges for passkeys. */
  passkeys: Waiting<PasskeyChallenge>;
  /** The issuer by which people can sign in; null without one. */
  oidc: {
    issuer: Issuer;
    rules: RoleRules;
    flows: Waiting<WaitingFlow>;
    /** Called when a sign-in did not succeed, and when a logout token was refused. */
    onTrouble(of: "sign-in" | "logout", error: IssuerTrouble): void;
    /** Called when some of many roles could not be given after a sign-in. The next sign-in gives them. */
    onRolesLeft(error: unknown): void;
  } | null;
}

/** What the issuer sends, or has a browser send. */
interface FromIssuer {
  query: URLSearchParams;
  /** Of a POST. */
  form: URLSearchParams;
}

/** A request after validation. */
interface ActionRequest<P extends string, B> {
  params: Record<P, string>;
  body: B;
  origin: Origin;
  /** `https://` and the host of the request. */
  base: string;
  /** The sign-ins at the issuer that this browser has begun. */
  signIns: BegunSignIns;
}

/** The result of an action. */
export interface ActionReply {
  /** The address of a redirection, instead of a body. */
  location?: string;
  /** Absent for 204. */
  body?: JsonObject;
  cookies?: readonly string[];
  /** The id of the event that recorded the action, in the log of its workspace or of the installation. */
  auditId?: string | null;
}

type Run<Request> = (request: Request, deps: AccountDeps) => Promise<ActionReply> | ActionReply;

interface ActionDocs {
  /** Names the operation in the documentation. */
  name: string;
  /** Absent for a response without a body. */
  response?: { description: string; schema: TSchema };
  /** Its operations in the logs of a workspace and of the installation; absent when it is not recorded. */
  recordedAs?: readonly EventName[];
  /** Set when its response may set or clear the session's cookie. */
  setsCookies?: true;
  /** Set when it redirects. */
  redirects?: true;
}

/** The definition of an action. `Who`: the members of its requests about the sender. */
interface ActionDefinition<At extends string, B extends TObject, Who> extends Endpoint<At, NoMembers, B>, ActionDocs {
  run: Run<ActionRequest<ParamsOf<At>, Static<B>> & Who>;
}

/** A route of `/account` with its validator compiled. */
export interface Action extends CompiledEndpoint, ActionDocs {
  /** Whether it needs no session. */
  isPublic: boolean;
  /**
   * Whether the issuer sends the request, or makes a browser send it: with any query, a form as body, and no Origin.
   */
  isFromIssuer: boolean;
  run: Run<ActionRequest<string, unknown> & FromIssuer & { signedIn: SignedIn | null }>;
}

const defining =
  <Who>(isPublic: boolean, isFromIssuer = false) =>
  <At extends string, B extends TObject = NoMembers>(definition: ActionDefinition<At, B, Who>): Action => ({
    ...definition,
    ...compileEndpoint(definition),
    isPublic,
    isFromIssuer,
    run: definition.run as unknown as Action["run"],
  });

/** Defines a route that needs no session, one for the issuer's requests, and one that needs a session. */
export const publicAction = defining<unknown>(true);
export const issuerAction = defining<FromIssuer>(true, true);
export const action = defining<{ signedIn: SignedIn }>(false);

/** The sender of a request about a workspace: an account, and its membership in the path's `workspace_id`. */
interface Member {
  accountId: string;
  workspace: Membership;
}

function workspaceAction(require: typeof requireMembership, mayBeLocked = false) {
  return <At extends string, B extends TObject = NoMembers>({
    run,
    problems = [],
    ...definition
  }: ActionDefinition<At, B, Member>): Action =>
    action({
      ...definition,
      problems: ["workspace_not_found", ...(mayBeLocked ? [] : ["second_factor_missing" as const]), ...problems],
      run({ signedIn, ...request }, deps) {
        const { accountId } = signedIn;
        const { workspace_id } = request.params as unknown as { workspace_id: string };
        return run({ ...request, accountId, workspace: require(deps.parts, accountId, workspace_id) } as never, deps);
      },
    });
}

/**
 * Defines a route for the members of a workspace, one that they can use without a required second factor, and one for
 * its owners.
 */
export const memberAction = workspaceAction(requireMembership);
export const anyMemberAction = workspaceAction(findMembership, true);
export const ownerAction = workspaceAction(requireOwner);
