/** What a control database that was put back must not bring back with it. */
import type { Connection } from "../store/connection.ts";

/**
 * Ends all sessions and one-time links: those that had been ended or used since the backup would work again.
 * Answers how many there were.
 */
export function endPassingSecrets(
  connection: Connection,
  nowMs: number,
): { sessions: number; links: number } {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const sessions = connection.run("DELETE FROM sessions");
    const links = connection.run(
      "UPDATE links SET revoked_at = ? WHERE used_at IS NULL AND revoked_at IS NULL",
      [nowMs],
    );
    connection.exec("COMMIT");
    return { sessions, links };
  } catch (error) {
    connection.exec("ROLLBACK");
    throw error;
  }
}
