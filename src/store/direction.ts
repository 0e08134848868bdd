/** Which end of a list comes first, as SQL. */
export interface Direction {
  /** What follows ORDER BY and the column. */
  order: "ASC" | "DESC";
  /** How a row of the list compares with an earlier one. */
  behind: ">" | "<";
}

const ASCENDING: Direction = { order: "ASC", behind: ">" };
const DESCENDING: Direction = { order: "DESC", behind: "<" };

/** Returns the direction of a list; the newest, or largest, comes first unless `order` says otherwise. */
export const directionOf = (order: "asc" | undefined): Direction => (order === "asc" ? ASCENDING : DESCENDING);
