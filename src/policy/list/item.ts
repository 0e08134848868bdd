/** An item of a list. */
import type { Place } from "../near.ts";

/** An item, without quotes and bullets. */
export interface Item extends Place {
  /** It is the value of a name in the list. */
  isNamed: boolean;
}
