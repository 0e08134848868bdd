/**
 * Errors for clients: RFC 9457 problem documents, both for a {@link Problem} that refused a request before its
 * operation, and for the problem in an operation's reply.
 */
import { PROBLEMS, Problem, type ProblemCode } from "../problem.ts";

/** The seconds of `Retry-After` when the cause states none. */
const DEFAULT_RETRY_AFTER_SECONDS = 1;

/** Returns the problem document. `type` is a URN, which is stable and needs no web page behind it. */
export function problemBody(problem: Problem, requestId: string): string {
  const [status, title] = PROBLEMS[problem.code];
  const { param, extra } = problem.options;
  return JSON.stringify({
    type: `urn:governd:problem:${problem.code}`,
    title,
    status,
    detail: problem.message,
    code: problem.code,
    ...(param === undefined ? {} : { param }),
    request_id: requestId,
    ...extra,
  });
}

/** The codes of temporary problems. */
const ASKING_LATER: ReadonlySet<ProblemCode> = new Set([
  "rate_limited",
  "unavailable",
  "outcome_unknown",
  "idempotency_in_progress",
]);

/** Returns the response for a problem. `headers` are those of every response. */
export function problemResponse(problem: Problem, requestId: string, headers: Record<string, string>): Response {
  Object.assign(headers, problem.options.headers);
  headers["content-type"] = "application/problem+json";
  const [status] = PROBLEMS[problem.code];
  const { retryAfterSeconds } = problem.options;
  if (retryAfterSeconds !== undefined || ASKING_LATER.has(problem.code)) {
    headers["retry-after"] = String(retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS);
  }
  return new Response(problemBody(problem, requestId), { status, headers });
}

/** The problem for an unknown path. */
export const NO_SUCH_PATH = new Problem("not_found", "There is no such path. /v1/docs lists all paths.");
