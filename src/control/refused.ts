/** Why the request of a person is refused, as codes of the API. */

export type RefusalCode =
  | "already_member"
  | "email_taken"
  | "forbidden"
  | "invalid_request"
  | "invitation_not_found"
  | "key_ended"
  | "key_not_found"
  | "last_owner"
  | "link_not_found"
  | "member_not_found"
  | "password_wrong"
  | "rate_limited"
  | "second_factor_failed"
  | "second_factor_required"
  | "session_not_found"
  | "sign_in_failed"
  | "sign_up_closed"
  | "totp_off"
  | "totp_on"
  | "unavailable"
  | "workspace_not_found";

/** Thrown before anything is changed. `detail` says what to do, and repeats nothing that the client sent. */
export class Refused extends Error {
  override readonly name = "Refused";

  constructor(
    readonly code: RefusalCode,
    readonly detail: string,
    readonly extra: { param?: string; retryAfterSeconds?: number } = {},
  ) {
    super(code);
  }
}
