/** Why nobody is signed in by the issuer. A reason is a word for the log, and repeats nothing that was sent. */

/** The issuer cannot be used now. */
export class IssuerUnavailable extends Error {
  constructor(
    readonly reason: string,
    options: ErrorOptions = {},
  ) {
    super("the issuer is not available", options);
  }
}

/** What came back does not prove who somebody is. */
export class IssuerRefused extends Error {
  constructor(
    readonly reason: string,
    options: ErrorOptions = {},
  ) {
    super("what came from the issuer is refused", options);
  }
}
