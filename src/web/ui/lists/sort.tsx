/** Lists that are sorted by a column, which the address names: `?sort=entries`, or `?sort=-entries` with the largest first. */
import { place, withQuery } from "../../state/router.ts";

/** A column by which rows can be sorted. */
export interface SortColumn<Row> {
  id: string;
  name: string;
  by(row: Row): string | number;
  /** A first click shows the largest, newest or worst first. */
  isMostFirst?: boolean;
  isNumber?: boolean;
}

interface Order {
  id: string;
  isDown: boolean;
}

/** Returns the order in the address; without one, the order in which the list arrives, such as `-made`. */
function orderHere(initially = ""): Order {
  const text = place.value.query.get("sort") ?? initially;
  return { id: text.replace(/^-/, ""), isDown: text.startsWith("-") };
}

const compared = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the rows in the order of the address. Without an order, or for an unknown column, they stay as they are. */
export function sorted<Row>(rows: readonly Row[], columns: readonly SortColumn<Row>[]): readonly Row[] {
  const { id, isDown } = orderHere();
  const column = columns.find((one) => one.id === id);
  if (column === undefined) return rows;
  const sign = isDown ? -1 : 1;
  return rows.toSorted((a, b) => sign * compared(column.by(a), column.by(b)));
}

/** A column that the daemon sorts by. */
export type SortedColumn = Omit<SortColumn<never>, "by">;

/**
 * Returns the parameters with which the API sorts a list by the column of the address, whose id is its name there.
 * `initially`: the order when the address has none.
 */
export function sortedByApi(columns: readonly SortedColumn[], initially: string): { sort: string; order: string } {
  const { id, isDown } = orderHere(initially);
  const known = columns.some((column) => column.id === id) ? { id, isDown } : { id: initially.slice(1), isDown: true };
  return { sort: known.id, order: known.isDown ? "desc" : "asc" };
}

interface LinkProps {
  column: SortedColumn;
  /** The order when the address has none. */
  initially?: string | undefined;
}

/** The link that sorts by a column, or reverses the order when the list is already sorted by it. */
function SortLink({ column: { id, name, isMostFirst = false }, initially }: LinkProps) {
  const order = orderHere(initially);
  const isHere = order.id === id;
  const isDown = isHere ? !order.isDown : isMostFirst;
  return (
    <a href={withQuery({ sort: `${isDown ? "-" : ""}${id}` })} data-replace class="sort">
      {name}
      <span aria-hidden="true">{isHere ? (order.isDown ? " ↓" : " ↑") : ""}</span>
    </a>
  );
}

/** The head of a column by which a table can be sorted. */
export function SortHead({ column, initially }: LinkProps) {
  const { id, isDown } = orderHere(initially);
  const order = id !== column.id ? undefined : isDown ? "descending" : "ascending";
  return (
    <th scope="col" aria-sort={order} class={column.isNumber ? "number" : undefined}>
      <SortLink {...{ column, initially }} />
    </th>
  );
}

/** The links that sort a list without columns. */
export function SortLinks({ columns, initially }: { columns: readonly SortedColumn[]; initially?: string }) {
  return (
    <nav class="row sort-links small" aria-label="Order">
      {columns.map((column) => (
        <SortLink key={column.id} {...{ column, initially }} />
      ))}
    </nav>
  );
}
