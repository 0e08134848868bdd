/** Where the writes of a lineage stand in a drawing: in columns by their depth, the earlier ones to the left. */
import type { LineageItem } from "../../api/types.ts";

/** The size of a write, and the distances between columns and rows, in units of the drawing. */
export const BOX = { width: 176, height: 44 } as const;
const [COLUMN, ROW] = [BOX.width + 64, BOX.height + 12];

/** The most writes that are drawn. */
export const MOST_DRAWN = 60;

/** A write in the drawing; `item` is null for the one where it begins. */
export interface Box {
  item: LineageItem | null;
  x: number;
  y: number;
}

/** A step between two writes, from the right side of the earlier one to the left side of the later one. */
interface Step {
  id: string;
  path: string;
}

interface Layout {
  boxes: readonly Box[];
  steps: readonly Step[];
  width: number;
  height: number;
}

/**
 * Returns the places of the first items and of the write where they begin.
 * @param items in the order of the API, by depth
 */
export function layoutOf(start: string, items: readonly LineageItem[], direction: "causes" | "effects"): Layout {
  const drawn = items.slice(0, MOST_DRAWN);
  const columns = [...Map.groupBy(drawn, ({ depth }) => depth).values()];
  const rows = Math.max(1, ...columns.map(({ length }) => length));
  const [width, height] = [COLUMN * columns.length + BOX.width, ROW * rows - (ROW - BOX.height)];
  const xOf = (depth: number) => COLUMN * (direction === "effects" ? depth : columns.length - depth);
  const places = new Map<string, Box>([[start, { item: null, x: xOf(0), y: (height - BOX.height) / 2 }]]);
  const yOf = ({ from }: LineageItem) => places.get(from)?.y ?? 0;
  for (const [at, column] of columns.entries()) {
    // Beside those from which they were reached, so that few steps cross.
    const inOrder = column.map((item) => [yOf(item), item] as const).sort(([one], [other]) => one - other);
    const top = (height - (ROW * column.length - (ROW - BOX.height))) / 2;
    for (const [row, [, item]] of inOrder.entries())
      places.set(item.audit_id, { item, x: xOf(at + 1), y: top + ROW * row });
  }
  const steps = drawn.flatMap((item) => {
    const [near, far] = [places.get(item.from), places.get(item.audit_id)];
    if (near === undefined || far === undefined) return [];
    return [{ id: item.audit_id, path: direction === "effects" ? pathOf(near, far) : pathOf(far, near) }];
  });
  return { boxes: [...places.values()], steps, width, height };
}

function pathOf(earlier: Box, later: Box): string {
  const [x1, y1] = [earlier.x + BOX.width, earlier.y + BOX.height / 2];
  const [x2, y2] = [later.x, later.y + BOX.height / 2];
  const bend = (x2 - x1) / 2;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
