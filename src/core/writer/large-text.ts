/** Which texts are screened on another thread before the transaction: those that take long. */
import type { JsonObject } from "../../json.ts";

/** Their least length, UTF-16 units or bytes. The slowest texts take about 1 ms per 1,000 units. */
export const LARGE_TEXT = 8 * 1024;

/** Returns the length of the text of some content that policies screen, UTF-16 units. */
export const screenedCharacters = ({ value, metadata }: { value: string; metadata: JsonObject }): number =>
  value.length + (Object.keys(metadata).length === 0 ? 0 : JSON.stringify(metadata).length);

/** Reports whether some content is screened on another thread. */
export const isLargeText = (content: { value: string; metadata: JsonObject }): boolean =>
  screenedCharacters(content) >= LARGE_TEXT;
