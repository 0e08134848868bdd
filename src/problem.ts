/** Why a request is refused, as codes of the API. `api/problem-document.ts` makes the response. */
import type { JsonObject } from "./json.ts";

/** Status and title of every error code. The codes are stable; clients switch on them. */
export const PROBLEMS = {
  invalid_request: [400, "The request is not valid"],
  unknown_policy: [400, "Unknown policy"],
  unauthenticated: [401, "A valid API key or session is needed"],
  sign_in_failed: [401, "Signing in failed"],
  second_factor_required: [401, "A second factor is needed"],
  second_factor_failed: [403, "The second factor is wrong"],
  password_wrong: [403, "The password is wrong"],
  issuer_only: [403, "Sign in by the issuer"],
  sign_up_closed: [403, "Signing up is not open"],
  second_factor_missing: [403, "A second factor must be turned on"],
  forbidden: [403, "Not allowed"],
  agent_suspended: [403, "The agent is suspended"],
  workspace_mismatch: [403, "The key belongs to another workspace"],
  https_required: [403, "HTTPS is required"],
  not_found: [404, "No such path"],
  agent_not_found: [404, "Agent not found"],
  config_not_found: [404, "Config not found"],
  version_not_found: [404, "Version not found"],
  checkpoint_not_found: [404, "Checkpoint not found"],
  entry_not_found: [404, "Entry not found"],
  audit_event_not_found: [404, "Audit event not found"],
  quarantine_not_found: [404, "Nothing of this is set aside"],
  seal_not_found: [404, "Not sealed yet"],
  workspace_not_found: [404, "Workspace not found"],
  member_not_found: [404, "Member not found"],
  invitation_not_found: [404, "Invitation not found"],
  key_not_found: [404, "API key not found"],
  sink_not_found: [404, "Sink not found"],
  session_not_found: [404, "Session not found"],
  passkey_not_found: [404, "Passkey not found"],
  link_not_found: [404, "The link is not valid"],
  method_not_allowed: [405, "Method not allowed"],
  request_timeout: [408, "The body came too slowly"],
  blocked: [409, "Blocked by a policy"],
  count_mismatch: [409, "Another number of entries"],
  version_present: [409, "The version is present"],
  version_quarantined: [409, "The version is set aside"],
  already_quarantined: [409, "All of it is set aside already"],
  preview_changed: [409, "Another set than in the preview"],
  not_a_write: [409, "Not a stored write"],
  restore_blocked: [409, "Restore blocked by a policy"],
  idempotency_in_progress: [409, "The first request is still running"],
  email_taken: [409, "The mail address has an account"],
  already_member: [409, "Already a member"],
  version_gone: [410, "The version is no longer kept"],
  moment_gone: [410, "The moment is no longer kept"],
  last_owner: [409, "The last owner"],
  key_ended: [409, "The key has ended"],
  totp_on: [409, "There is a second factor"],
  totp_off: [409, "There is no second factor"],
  version_conflict: [412, "Not the version that was expected"],
  payload_too_large: [413, "The body is too large"],
  unsupported_media_type: [415, "The body is not JSON"],
  idempotency_mismatch: [422, "The Idempotency-Key belongs to another request"],
  rate_limited: [429, "Too many requests"],
  internal: [500, "Internal error"],
  unavailable: [503, "Not available right now"],
  outcome_unknown: [503, "Whether it was done is unknown"],
  quota_exceeded: [507, "The workspace is full"],
} as const satisfies Record<string, readonly [status: number, title: string]>;

/** A stable error code. */
export type ProblemCode = keyof typeof PROBLEMS;

/** The optional parts of a problem, besides its code and its detail. */
interface ProblemOptions {
  /** The offending field: a body member (`policies.block_pii`), a query parameter, a header. */
  param?: string;
  headers?: Record<string, string>;
  /** The value of `Retry-After`. */
  retryAfterSeconds?: number;
  /** Further members of the document (RFC 9457 section 3.2). */
  extra?: JsonObject;
}

/**
 * Why a request is refused. It is thrown before anything is changed or recorded. `detail` is for a person: it says what
 * to do, and repeats no value of the request.
 */
export class Problem extends Error {
  override readonly name = "Problem";

  constructor(
    readonly code: ProblemCode,
    detail: string,
    readonly options: ProblemOptions = {},
  ) {
    super(detail);
  }
}

/** Returns a problem with a part of the request, whose name it adds to `param`. */
export function within(name: string, { code, message, options }: Problem): Problem {
  const param = options.param === undefined ? name : `${name}.${options.param}`;
  return new Problem(code, `${name}: ${message}`, { ...options, param });
}

/** Returns a 400 `invalid_request` about one field. */
export function invalid(detail: string, param?: string): Problem {
  return new Problem("invalid_request", detail, param === undefined ? {} : { param });
}

/** Returns the refusal of a workspace that a member without a second factor cannot use. */
export const secondFactorMissing = (): Problem =>
  new Problem(
    "second_factor_missing",
    "This workspace requires a second factor, and your account has none. Turn one on: POST /account/totp, then POST /account/totp/confirm.",
  );
