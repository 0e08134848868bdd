/** The requested page of a list. */
import { type CursorPosition, decodeCursor, type ListOperation, listFilters } from "../lists.ts";
import type { Page } from "../operation-facts.ts";
import type { OperationInputs } from "../operations.ts";
import { invalid } from "../problem.ts";
import { DEFAULT_LIMIT, hasControlCharacter } from "./fields.ts";

/**
 * Returns the input of a list: `input` with the page that the query asks for.
 * @throws {Problem} `invalid_request` for a cursor of another list, or together with an offset
 */
export function listInput<N extends ListOperation>(
  name: N,
  input: Omit<OperationInputs[N], "page">,
  { limit = DEFAULT_LIMIT, offset, cursor }: { limit?: number; offset?: number; cursor?: string },
): OperationInputs[N] {
  const withPage = (page: Page) => ({ ...input, page }) as OperationInputs[N];
  if (cursor === undefined) return withPage({ limit, offset: offset ?? 0 });
  if (offset !== undefined) throw invalid('Send either "cursor" or "offset", not both.', "cursor");
  const after = decodeCursor(listFilters(name, input), cursor);
  if (after !== null && isPositionOf(name, after)) return withPage({ limit, offset: 0, after });
  throw invalid(
    'The query parameter "cursor" does not belong to this list. Send next_cursor of the previous page, with the same filters.',
    "cursor",
  );
}

/** Reports whether a cursor, which can be forged, fits a list. Data is ordered by key, agents by id, all else by number. */
function isPositionOf(name: ListOperation, position: CursorPosition): boolean {
  if (name !== "data.list" && name !== "agent.list") return typeof position === "number";
  return typeof position === "string" && position.isWellFormed() && !hasControlCharacter(position);
}
