/** The direction of a list, as SQL. */
export interface Direction {
  /** The direction in ORDER BY. */
  order: "ASC" | "DESC";
  /** The operator that compares a row of the list with an earlier one. */
  behind: ">" | "<";
}

const ASCENDING: Direction = { order: "ASC", behind: ">" };
const DESCENDING: Direction = { order: "DESC", behind: "<" };

/** Returns the direction of a list. The newest, or largest, comes first by default. */
export const directionOf = (order: "asc" | undefined): Direction => (order === "asc" ? ASCENDING : DESCENDING);
