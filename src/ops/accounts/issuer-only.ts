/**
 * Decides whether people sign in by the issuer only: by the setting, unless the operator chose otherwise at the command
 * line. An owner with a second factor can always sign in with a password, so that a broken issuer does not lock
 * everybody out.
 */
import type { Connection } from "../../store/connection.ts";
import { type ActParts, act, INSTALLATION } from "../directory/acts.ts";
import type { AccountRecord } from "./accounts.ts";
import { countOwned } from "./members.ts";
import { hasSecondFactor } from "./second-factor.ts";

/** Returns the operator's choice; null when the setting applies. */
function chosen(connection: Connection): boolean | null {
  const value = connection.value<number | null>("SELECT chosen FROM issuer_only") ?? null;
  return value === null ? null : value === 1;
}

/** Reports whether passwords are off, given the setting. */
export const isIssuerOnly = (connection: Connection, setting: boolean): boolean => chosen(connection) ?? setting;

/** Reports whether an account may sign in with its password although passwords are off. */
export const mayBreakGlass = (connection: Connection, account: AccountRecord): boolean =>
  hasSecondFactor(connection, account) && countOwned(connection, account.id) > 0;

/** Stores the operator's choice. Records nothing when nothing changes. @throws {Failure} `busy` */
export function chooseIssuerOnly(parts: ActParts, only: boolean, actor: string) {
  return act(parts, INSTALLATION, () => {
    if (chosen(parts.control.connection) === only) return { event: null };
    return {
      event: { operation: "account.require_issuer", actor, details: { only } },
      changes: [["chooseIssuerOnly", { only }]],
    };
  });
}
