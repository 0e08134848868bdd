/** The requested page of a list. */
import { type CursorPosition, decodeCursor, type ListOperation, listFilters } from "../core/lists.ts";
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
  if (after !== null && isPositionOf(name, input, after)) return withPage({ limit, offset: 0, after });
  throw invalid(
    '"cursor" does not belong to this list. Send next_cursor of the previous page, with the same filters and order.',
    "cursor",
  );
}

/**
 * Positions in sorted lists: the time and position of an entry's last write; a checkpoint's position and its sort
 * value.
 */
const SORTED: Partial<Record<ListOperation, RegExp>> = { "checkpoint.list": /^\d{1,15} / };
const WRITTEN = /^\d{1,15} \d{1,15}$/;

/**
 * Reports whether a cursor, which can be forged, matches a list: data by key or by time, agents by id, others by
 * number.
 */
function isPositionOf(name: ListOperation, input: object, position: CursorPosition): boolean {
  if (!BY_NAME.has(name) && !("sort" in input)) return typeof position === "number";
  if (typeof position !== "string") return false;
  if ("sort" in input) return (SORTED[name] ?? WRITTEN).test(position);
  return position.isWellFormed() && !hasControlCharacter(position);
}

/** Lists that are ordered by a name. */
const BY_NAME: ReadonlySet<ListOperation> = new Set(["data.list", "data.query", "agent.list", "checkpoint.compare"]);
