/** The table of a namespace's commits. The key of a row is the commit's number; the row lists the keys that changed. */

export const COMMITS_TABLE = "governd_commits";

export const CREATE_COMMITS = `CREATE TABLE IF NOT EXISTS ${COMMITS_TABLE} (
  number   INTEGER PRIMARY KEY,
  token    TEXT    NOT NULL,
  format   INTEGER NOT NULL,
  changed  TEXT    NOT NULL
) STRICT`;

/** The value of `changed` for a commit that may have changed all rows: copies are filled again. */
export const EVERYTHING = "null";

/** The state of a namespace. */
export interface CommitState {
  /** The number of the newest commit. */
  number: number;
  /** The random token of the newest commit, which tells it from any other commit with the same number. */
  token: string;
  /** The number of the oldest commit whose changed keys are kept. */
  oldest: number;
  /** The version of the schema. */
  format: number;
}
