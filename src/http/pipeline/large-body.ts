/** Bodies that are sent in pieces, so that other requests are served between them. */
import { nextTurn } from "../../timer.ts";

/** Bodies from this length on are sent in pieces of it, UTF-16 units. */
const PIECE = 128 * 1024;

/** Returns a body for a response: the text itself, or a stream of its bytes when it is long. */
export function inPieces(text: string): string | ReadableStream<Uint8Array> {
  if (text.length <= PIECE) return text;
  const encoder = new TextEncoder();
  let at = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await nextTurn();
      const end = endOfPiece(text, at);
      controller.enqueue(encoder.encode(text.slice(at, end)));
      at = end;
      if (at === text.length) controller.close();
    },
  });
}

/** Returns where a piece that begins at `start` ends: not between the two halves of a character. */
function endOfPiece(text: string, start: number): number {
  const end = Math.min(text.length, start + PIECE);
  const isHigh = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHigh ? end - 1 : end;
}
