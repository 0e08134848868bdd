/** The session of a request: a name by which a client marks what belongs together. */
import { isSession } from "../../../details.ts";
import { invalid } from "../../../problem.ts";

/** The header of every request. */
export const SESSION_HEADER = "Governd-Session";

/** Returns the session that a header names; null without the header. @throws {Problem} 400 for another form */
export function sessionIn(headers: Headers, header: string): string | null {
  const session = headers.get(header);
  if (session === null || isSession(session)) return session;
  throw invalid(
    `${header} must be 1 to 128 visible ASCII characters, without spaces. Correct it, or leave it out.`,
    header,
  );
}
