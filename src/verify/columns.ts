/**
 * Reading a file that may have been tampered with. The driver aborts the whole process when a text
 * column holds bytes that are no UTF-8, and cuts a text at U+0000. So nothing of a stored text is
 * read as text: its bytes are, and they are decoded here, strictly.
 */
import { isUtf8 } from "node:buffer";

/** SQL: the bytes of a text column; null when it holds no text. */
export const textBytes = (column: string): string =>
  `CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) END`;

/** SQL: an integer column; null when it holds no integer. */
export const integer = (column: string): string => `CASE typeof(${column}) WHEN 'integer' THEN ${column} END`;

/** SQL: true when an optional column holds something that is neither NULL nor of its type. */
export const isOfWrongType = (column: string, type: "text" | "integer"): string =>
  `(typeof(${column}) NOT IN ('null', '${type}'))`;

/** The text that the bytes are; null for what is no UTF-8 and for null itself. */
export function decodeText(bytes: Buffer | null): string | null {
  if (bytes === null || !isUtf8(bytes)) return null;
  return bytes.toString("utf8");
}
