/** The dependencies of the functions about accounts. */

import type { OpenInvitation, StoredMember } from "../../core/rows/access/members.ts";
import type { AuthorisedBy, Principal } from "../../core/writer/contract.ts";
import type { JsonObject } from "../../json.ts";
import type { OperationInputs, RowsOperation } from "../../operations.ts";
import type { FoundingParts } from "../directory/administration.ts";
import type { ShownKey } from "../keys/shown.ts";
import type { FoundMember, ShownInvitation } from "../members/shown.ts";
import type { Attempts } from "./attempts.ts";
import type { FactorKey } from "./factor-key.ts";
import type { FailedSignIns } from "./failed-sign-ins.ts";
import type { Memberships } from "./memberships.ts";
import type { Passwords } from "./passwords.ts";

/** Who may create an account: people with an invitation, anybody, or nobody. */
type SignupMode = "invite" | "open" | "closed";

/** What the files of workspaces say of keys, members and invitations. */
interface AccessAnswers {
  "key.list": { data: ShownKey[] };
  "member.find": FoundMember;
  "member.list": { data: StoredMember[] };
  "workload.find": string | null;
  "invitation.list": { data: ShownInvitation[] };
  "invitation.find": OpenInvitation | null;
}

/** The operations that change accounts, keys, members and invitations, and who needs a second factor. */
export type AccessChange = Extract<
  RowsOperation,
  `account.${string}` | `key.${string}` | `member.${string}` | "workload.begin" | "workspace.change"
>;

/** The workspaces, whose files have the keys, members and invitations; that of the installation has the accounts. */
export interface Workspaces {
  /** @throws {Problem} when the workspace cannot be read */
  ask<N extends keyof AccessAnswers>(
    workspaceId: string,
    name: N,
    input: OperationInputs[N],
  ): Promise<AccessAnswers[N]>;
  /** Performs an operation. Returns its answer. @throws {Problem} when it is refused, or the principal's right has ended */
  change<N extends AccessChange>(
    principal: Principal,
    name: N,
    input: OperationInputs[N],
  ): Promise<{ body: JsonObject; auditId: string | null }>;
}

export interface AccountParts extends FoundingParts {
  failures: FailedSignIns;
  passwords: Passwords;
  attempts: Attempts;
  factorKey: FactorKey;
  workspaces: Workspaces;
  memberships: Memberships;
  signup: SignupMode;
  /** The setting; see `issuer-only.ts`. */
  issuerOnly: boolean;
  /** The file of the daemon's own certificate authority; null when the certificate has another one. */
  caFile: string | null;
}

/** Where a request came from. */
export interface Origin {
  address: string;
  userAgent: string;
  /** The cookie that the browser got when it signed in before. */
  device: string | null;
}

/** Returns the principal of an account to which no row of the workspace gives a right: the operation itself decides. */
export const withoutRow = (accountId: string, workspaceId: string, authorisedBy?: AuthorisedBy): Principal => ({
  ...{ actor: accountId, workspaceId, scope: "full", agents: null },
  ...(authorisedBy && { authorisedBy }),
});

/** Returns the principal of what an account does with itself, which the log of the installation records. */
export const asAccount = (
  { installation, authorisedBy }: Pick<AccountParts, "installation" | "authorisedBy">,
  accountId: string,
): Principal => withoutRow(accountId, installation.id, authorisedBy);
