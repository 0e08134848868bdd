/**
 * Whether people sign in by the issuer only. The setting says so, and the operator's choice at the command line replaces
 * it. An owner with a second factor can always sign in with a password, so that a broken issuer locks nobody out.
 */
import type { Connection } from "../../store/connection.ts";
import { type ActParts, act, INSTALLATION } from "../acts.ts";
import type { AccountRecord } from "./accounts.ts";
import { countOwned } from "./members.ts";
import { hasSecondFactor } from "./second-factor.ts";

/** Returns what the operator chose; null when the setting applies. */
function chosen(connection: Connection): boolean | null {
  const value = connection.value<number | null>("SELECT chosen FROM issuer_only") ?? null;
  return value === null ? null : value === 1;
}

/** Reports whether passwords are off, given the setting. */
export const isIssuerOnly = (connection: Connection, setting: boolean): boolean => chosen(connection) ?? setting;

/** Reports whether an account may sign in with its password although passwords are off. */
export const mayBreakGlass = (connection: Connection, account: AccountRecord): boolean =>
  hasSecondFactor(connection, account) && countOwned(connection, account.id) > 0;

/** Stores the operator's choice. Nothing is recorded when it is so already. @throws {Failure} `busy` */
export function chooseIssuerOnly(parts: ActParts, only: boolean, actor: string) {
  return act(parts, INSTALLATION, () => {
    if (chosen(parts.control.connection) === only) return { event: null };
    return {
      event: { operation: "account.require_issuer", actor, details: { only } },
      changes: [["chooseIssuerOnly", { only }]],
    };
  });
}
