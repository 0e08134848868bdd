/** The texts of the elements of XML. */
import { spend } from "../check.ts";
import type { Span } from "../near.ts";
import { matchAt, matchEnd } from "../text/ascii.ts";
import type { Item } from "./item.ts";

const SKIPPED = /\s+|<!--[^<>]{0,400}-->|<!\[CDATA\[|\]\]>/y;
const TAG = /<(\/?)([\w:.-]{1,40})(?:\s[^<>]{0,160}?)?(\/?)>/y;
const TEXT = /[^<\s][^<]*/y;

/**
 * Returns the texts from `at` on, up to the end of the element in which they are; with `isProperties`, of the next
 * element, in which `key` elements are names (property lists of Apple).
 */
export function tagged(text: string, at: number, isProperties: boolean): Item[] {
  const items: Item[] = [];
  let position = at;
  let depth = isProperties ? 0 : 1;
  let element = "";
  let name: Span | null = null;
  while (position < text.length) {
    const skipped = matchEnd(SKIPPED, text, position);
    if (skipped >= 0) {
      position = skipped;
      continue;
    }
    const tag = matchAt(TAG, text, position);
    if (tag !== null) {
      const [, close, opened = "", isEmpty] = tag;
      if (close === "" && isEmpty === "") {
        depth++;
        element = opened;
        if (!isProperties) name = { start: position + 1, end: position + 1 + opened.length };
      } else if (close !== "" && --depth <= 0) break;
      position = TAG.lastIndex;
      continue;
    }
    const end = matchEnd(TEXT, text, position);
    if (end < 0) break;
    const place = { start: position, end: position + text.slice(position, end).trimEnd().length };
    if (isProperties && element === "key") name = place;
    else items.push({ ...place, name });
    position = end;
  }
  spend(position - at);
  return items;
}
