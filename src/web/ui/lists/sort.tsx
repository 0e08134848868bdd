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

function orderHere(): Order {
  const text = place.value.query.get("sort") ?? "";
  return { id: text.replace(/^-/, ""), isDown: text.startsWith("-") };
}

const compared = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the rows in the order of the address. Without one, or with one of no column, they stay as they are. */
export function sorted<Row>(rows: readonly Row[], columns: readonly SortColumn<Row>[]): readonly Row[] {
  const { id, isDown } = orderHere();
  const column = columns.find((one) => one.id === id);
  if (column === undefined) return rows;
  const sign = isDown ? -1 : 1;
  return rows.toSorted((a, b) => sign * compared(column.by(a), column.by(b)));
}

/** The link that sorts by a column, and turns the order around when it is sorted by it already. */
function SortLink<Row>({ column: { id, name, isMostFirst = false } }: { column: SortColumn<Row> }) {
  const order = orderHere();
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
export function SortHead<Row>({ column }: { column: SortColumn<Row> }) {
  const { id, isDown } = orderHere();
  const order = id !== column.id ? undefined : isDown ? "descending" : "ascending";
  return (
    <th scope="col" aria-sort={order} class={column.isNumber ? "number" : undefined}>
      <SortLink column={column} />
    </th>
  );
}

/** The links that sort a list without columns. */
export function SortLinks<Row>({ columns }: { columns: readonly SortColumn<Row>[] }) {
  return (
    <nav class="row sort-links small" aria-label="Order">
      {columns.map((column) => (
        <SortLink key={column.id} column={column} />
      ))}
    </nav>
  );
}
