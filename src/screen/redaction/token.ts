/** The parts of a text that has a syntax, such as JSON: what stands between its names, quotes and separators. */
import type { Span } from "../near.ts";

/**
 * A part of a text, without its quotes. `text`: whatever stands in quotes, in a cell, behind a name, or outside any
 * syntax. `number`: of JSON, which becomes a string when it is replaced. `name`: of a member or a column.
 */
export interface Token extends Span {
  kind: "text" | "number" | "name";
  /** How the text is escaped: as in JSON, or with two quotes for one, as in CSV. */
  escapes?: "backslash" | "doubled";
}

/** The tokens of a text, in order. */
export interface Syntax {
  tokens: readonly Token[];
  /** A name may be replaced where nothing else is in a match: in the first line of a table, which may be no header. */
  hasFixedNames: boolean;
  /** Each line is a row, which is about something of its own. */
  isTable: boolean;
}
