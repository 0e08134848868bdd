/** Long lists, of which only the visible rows are in the document. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** The most rows of a list that is shown whole. */
const WHOLE = 60;

/** The rows that are kept above and below the visible ones. */
const AROUND = 20;

/** The assumed height of a row until one is rendered, pixels. */
const GUESS = 32;

interface Range {
  from: number;
  to: number;
}

interface Windowed<E extends HTMLElement> extends Range {
  /** The reference of the element whose children are the rows. */
  element: RefObject<E | null>;
  /** The height of the rows that are left out, pixels. */
  before: number;
  after: number;
}

/** Returns which rows are visible, as the page is scrolled. All rows are about equally high. */
export function useWindow<E extends HTMLElement>(total: number): Windowed<E> {
  const element = useRef<E>(null);
  const height = useRef(GUESS);
  const [range, setRange] = useState<Range>({ from: 0, to: WHOLE });
  const isWhole = total <= WHOLE;
  useLayoutEffect(() => {
    if (isWhole) return;
    const look = () => {
      const { current } = element;
      if (current === null) return;
      const row = current.querySelector<HTMLElement>(":scope > :not(.space)");
      if (row !== null && row.offsetHeight > 0) height.current = row.offsetHeight;
      const above = -current.getBoundingClientRect().top / height.current;
      // In steps, so that not every pixel renders rows.
      const from = Math.max(0, Math.floor(above / AROUND - 1) * AROUND);
      const to = Math.ceil((above + innerHeight / height.current) / AROUND + 1) * AROUND;
      setRange((old) => (old.from === from && old.to === to ? old : { from, to }));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look, { passive: true });
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [isWhole, total]);
  if (isWhole) return { element, from: 0, to: total, before: 0, after: 0 };
  const from = Math.min(range.from, Math.max(0, total - AROUND));
  const to = Math.min(Math.max(range.to, from + AROUND), total);
  return { element, from, to, before: from * height.current, after: (total - to) * height.current };
}
