/** Errors of signing in by the issuer. A reason is a word for the log, and repeats nothing that was sent. */

/** The issuer cannot be used now. */
export class IssuerUnavailable extends Error {
  constructor(
    readonly reason: string,
    options: ErrorOptions = {},
  ) {
    super("the issuer is not available", options);
  }
}

/** The answer does not prove the identity of a person. */
export class IssuerRefused extends Error {
  constructor(
    readonly reason: string,
    options: ErrorOptions = {},
  ) {
    super("what came from the issuer is refused", options);
  }
}
