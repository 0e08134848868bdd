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

/** The statement that reads the {@link stateOf | state} of a namespace. */
export const STATE = {
  sql: `SELECT number, token, (SELECT min(number) FROM ${COMMITS_TABLE}), format FROM ${COMMITS_TABLE}
    WHERE number = (SELECT max(number) FROM ${COMMITS_TABLE})`,
};

/** Returns what {@link STATE} has read. */
export function stateOf([row]: readonly (readonly (string | number | null)[])[]): CommitState {
  const [number, token, oldest, format] = row as [number, string, number, number];
  return { number, token, oldest, format };
}

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
