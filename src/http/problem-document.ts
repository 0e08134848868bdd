/**
 * Errors as the client sees them: RFC 9457 problem documents, the same for a {@link Problem} that refused a request
 * before its operation and for the problem that an operation replies with.
 */
import { PROBLEMS, Problem, type ProblemCode } from "../problem.ts";

/** Seconds of `Retry-After` when the cause gives none. */
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

/** The codes that end by themselves. */
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

/** The answer to a path that nothing has. */
export const NO_SUCH_PATH = new Problem("not_found", "There is no such path. /v1/docs lists all paths.");
