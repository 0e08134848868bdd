/**
 * Decides whether people sign in by the issuer only: by the setting, unless the operator chose otherwise at the command
 * line. An owner with a second factor can always sign in with a password, so that a broken issuer does not lock
 * everybody out.
 */
import { chosenIssuerOnly, hasSecondFactor, type StoredAccount } from "../../core/rows/access/accounts.ts";
import type { AccountParts } from "./parts.ts";

/** Reports whether passwords are off. */
export const isIssuerOnly = async ({ installation, issuerOnly }: AccountParts): Promise<boolean> =>
  (await chosenIssuerOnly(installation.connection)) ?? issuerOnly;

/** Reports whether an account may sign in with its password although passwords are off. */
export const mayBreakGlass = async (
  { installation, memberships }: AccountParts,
  account: StoredAccount,
): Promise<boolean> =>
  (await hasSecondFactor(installation.connection, account)) && (await memberships.ownsAny(account.id));
