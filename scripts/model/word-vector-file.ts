import { HEADER_BYTES, LINE_FEED, MAGIC } from "../../src/search/words/word-vectors.ts";

/** Returns a word vector file. The words are ASCII without line feeds; `rows` holds D numbers each. */
export function encodeWordVectors(words: readonly string[], weights: Float32Array, rows: Int8Array): Uint8Array {
  const list = new TextEncoder().encode(words.map((word) => `${word}\n`).join(""));
  const wordBytes = Math.ceil(list.length / 4) * 4;
  const bytes = new Uint8Array(HEADER_BYTES + wordBytes + 4 * words.length + rows.length).fill(
    LINE_FEED,
    HEADER_BYTES,
    HEADER_BYTES + wordBytes,
  );
  bytes.set(new TextEncoder().encode(MAGIC));
  const view = new DataView(bytes.buffer);
  view.setUint32(8, words.length, true);
  view.setUint32(12, rows.length / words.length, true);
  view.setUint32(16, wordBytes, true);
  bytes.set(list, HEADER_BYTES);
  for (let i = 0; i < words.length; i++) view.setFloat32(HEADER_BYTES + wordBytes + 4 * i, weights[i] as number, true);
  bytes.set(new Uint8Array(rows.buffer, rows.byteOffset, rows.length), HEADER_BYTES + wordBytes + 4 * words.length);
  return bytes;
}
