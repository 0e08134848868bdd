/** The rows that a namespace has for its commits: each has a number, which is its key, and names the keys that changed. */

/** The table of commits. */
export const COMMITS_TABLE = "governd_commits";

export const CREATE_COMMITS = `CREATE TABLE IF NOT EXISTS ${COMMITS_TABLE} (
  number   INTEGER PRIMARY KEY,
  token    TEXT    NOT NULL,
  format   INTEGER NOT NULL,
  changed  TEXT    NOT NULL
) STRICT`;

/** Of a commit, in place of the keys that changed: copies are made again from all rows. */
export const EVERYTHING = "null";

/** How far a namespace is. */
export interface CommitState {
  /** The newest commit. */
  number: number;
  /** Tells it from every other commit with the number. */
  token: string;
  /** The oldest one whose changed keys are known. */
  oldest: number;
  format: number;
}
