/** The depth at which a walk has reached each position, in pages, so that a long log costs little where nothing is. */

/** A write that was found. */
export interface LineageItem {
  /** Its position. */
  seq: number;
  /** The position of the write from which it was reached: one step less from where the walk began. */
  from: number;
  /** The position of the event that showed the one to the actor of the other. */
  through: number;
  /** The fewest steps between it and where the walk began: 1, 2 … */
  depth: number;
}

/** The positions of a page. */
const PAGE = 1_024;
/** The depth of a position that was not reached. */
const NOWHERE = 255;

interface Page {
  depths: Uint8Array;
  froms: Float64Array;
  throughs: Float64Array;
}

/** How a position was reached. */
export type Reached = Pick<LineageItem, "depth" | "from" | "through">;

export class Depths {
  readonly #pages = new Map<number, Page>();

  /** Returns the smallest depth of a position so far; a number greater than every depth when it was not reached. */
  depthOf(seq: number): number {
    return this.#pages.get(Math.floor(seq / PAGE))?.depths[seq % PAGE] ?? NOWHERE;
  }

  /** Notes how a position was reached, unless it was reached at the same or a smaller depth. */
  reach(seq: number, { depth, from, through }: Reached): void {
    if (this.depthOf(seq) <= depth) return;
    const page = this.#pages.getOrInsertComputed(Math.floor(seq / PAGE), () => ({
      depths: new Uint8Array(PAGE).fill(NOWHERE),
      froms: new Float64Array(PAGE),
      throughs: new Float64Array(PAGE),
    }));
    page.depths[seq % PAGE] = depth;
    page.froms[seq % PAGE] = from;
    page.throughs[seq % PAGE] = through;
  }

  /** Returns the first positions of depth 1 and more, in the order of depth and position, behind an item. */
  list(limit: number, after: Pick<LineageItem, "depth" | "seq"> = { depth: 0, seq: Number.MAX_SAFE_INTEGER }) {
    const pages = [...this.#pages].sort(([one], [other]) => one - other);
    const items: LineageItem[] = [];
    const deepest = Math.max(0, ...pages.map(([, { depths }]) => depths.reduce(deeper, 0)));
    for (let depth = Math.max(1, after.depth); depth <= deepest; depth++) {
      for (const [number, { depths, froms, throughs }] of pages) {
        for (let at = depths.indexOf(depth); at >= 0; at = depths.indexOf(depth, at + 1)) {
          const seq = number * PAGE + at;
          if (depth === after.depth && seq <= after.seq) continue;
          if (items.length === limit) return items;
          items.push({ seq, from: froms[at] as number, through: throughs[at] as number, depth });
        }
      }
    }
    return items;
  }
}

const deeper = (one: number, other: number): number => (other === NOWHERE ? one : Math.max(one, other));
