/** The dependencies of the functions about accounts. */
import type { RandomPool } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { ActParts } from "../directory/acts.ts";
import { Administration } from "../directory/administration.ts";
import type { WorkspaceEvent } from "../directory/journal.ts";
import type { Attempts } from "./attempts.ts";
import type { FactorKey } from "./factor-key.ts";
import type { FailedSignIns } from "./failed-sign-ins.ts";
import { requireOwner } from "./members.ts";
import type { Passwords } from "./passwords.ts";

/** Who may create an account: people with an invitation, anybody, or nobody. */
type SignupMode = "invite" | "open" | "closed";

export interface AccountParts extends ActParts {
  random: RandomPool;
  failures: FailedSignIns;
  passwords: Passwords;
  attempts: Attempts;
  factorKey: FactorKey;
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

/** Returns the event of an act of an account on itself. */
export const ownEvent = (operation: WorkspaceEvent["operation"], accountId: string, details: JsonObject = {}) => ({
  operation,
  actor: accountId,
  details: { account_id: accountId, ...details },
});

/** Returns the administration of keys and workspaces on behalf of an account, for owners. */
export function administrationOf(parts: AccountParts, actor: string): Administration {
  return new Administration({ ...parts, actor, permit: (workspaceId) => void requireOwner(parts, actor, workspaceId) });
}
