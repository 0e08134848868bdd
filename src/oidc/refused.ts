/** Errors of tokens and of signing in by an issuer. A reason is for the log, and repeats nothing that was sent. */
import type { Cause } from "./causes.ts";

/** The issuer cannot be used now. */
export class IssuerUnavailable extends Error {
  readonly why: Cause = "unavailable";

  constructor(
    readonly reason: string,
    options: ErrorOptions = {},
  ) {
    super("the issuer is not available", options);
  }
}

/** What came does not prove an identity, or the person may not sign in. */
export class IssuerRefused extends Error {
  constructor(
    readonly reason: string,
    readonly why: Cause = "invalid_answer",
    options: ErrorOptions = {},
  ) {
    super("what came from the issuer is refused", options);
  }
}

export type IssuerTrouble = IssuerUnavailable | IssuerRefused;

export const isIssuerTrouble = (error: unknown): error is IssuerTrouble =>
  error instanceof IssuerUnavailable || error instanceof IssuerRefused;
