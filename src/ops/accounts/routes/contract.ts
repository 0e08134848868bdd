/** What the routes of `/account` are given and return, and who may send their requests. */

import type { StoredSession } from "../../../core/rows/access/sessions.ts";
import type { Principal } from "../../../core/writer/contract.ts";
import type { JsonObject } from "../../../json.ts";
import type { RoleRules } from "../../../oidc/group-roles.ts";
import type { Issuer, WaitingFlow } from "../../../oidc/issuer.ts";
import type { IssuerTrouble } from "../../../oidc/refused.ts";
import type { ActivityInterval } from "../../../operation-facts.ts";
import type { MaybePromise } from "../../../store/transaction.ts";
import type { Membership } from "../memberships.ts";
import type { AccountParts, Origin } from "../parts.ts";
import type { PasskeyChallenge } from "../passkeys.ts";
import type { SignedIn } from "../session-keeper.ts";
import type { Waiting } from "../waiting.ts";
import type { BegunSignIns } from "./begun-sign-ins.ts";

/** The dependencies of the routes of `/account`. */
export interface AccountDeps {
  sessions: { find(token: string, how?: { use: boolean }): MaybePromise<SignedIn | null> };
  parts: AccountParts;
  /** Returns the bytes of a workspace on disk. */
  storageBytes(workspaceId: string): Promise<number>;
  /** Counts the findings of the policies over time, in the principal's workspace. */
  findings(principal: Principal, interval: ActivityInterval): Promise<{ body: JsonObject; auditId: string | null }>;
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

/** What a route knows about the sender of a request, by who that may be. */
interface Senders {
  /** Needs no session. */
  anyone: unknown;
  /** The issuer, or a browser that it sends here: with any query, a form as body, and no Origin. */
  issuer: {
    query: URLSearchParams;
    /** Of a POST. */
    form: URLSearchParams;
  };
  /** Whoever is signed in. */
  session: { signedIn: SignedIn };
  /** A member of the workspace in the path. */
  member: Member;
  /** A member who may lack a second factor that the workspace requires. */
  locked_member: Member;
  owner: Member;
}

/** Who may send the requests of a route of `/account`. */
export type Sender = keyof Senders;

/** An account, and its membership in the path's `workspace_id`. */
interface Member {
  accountId: string;
  workspace: Membership;
  session: StoredSession;
}

/** A request after validation. */
export type AccountRequest<S extends Sender, P extends string, B> = Senders[S] & {
  params: Record<P, string>;
  body: B;
  origin: Origin;
  /** `https://` and the host of the request. */
  base: string;
  /** The sign-ins at the issuer that this browser has begun. */
  signIns: BegunSignIns;
};

/** What a route of `/account` returns. */
export interface AccountReply {
  /** The address of a redirection, instead of a body. */
  location?: string;
  /** Absent for 204. */
  body?: JsonObject;
  cookies?: readonly string[];
  /** The id of the event that recorded it, in the log of its workspace or of the installation. */
  auditId?: string | null;
}
