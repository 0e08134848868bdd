/** Bodies that are sent in pieces, so that other requests are served between them. */
import type { LongText } from "../../../core/long-text.ts";
import { ownTurn } from "../../../timer.ts";

/** Longer bodies are sent in pieces of at most this length, UTF-16 code units. */
const PIECE = 128 * 1024;

/** Returns a body for a response: the text itself, or a stream of its bytes when it is long. */
export function inPieces(text: LongText): string | ReadableStream<Uint8Array> {
  if (typeof text === "string" && text.length <= PIECE) return text;
  const encoder = new TextEncoder();
  const pieces = piecesOf(typeof text === "string" ? [text] : text);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await ownTurn();
      const { value, done } = pieces.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
  });
}

function* piecesOf(texts: readonly string[]): Generator<string> {
  for (const text of texts) {
    for (let at = 0; at < text.length; ) {
      const end = endOfPiece(text, at);
      yield text.slice(at, end);
      at = end;
    }
  }
}

/** Returns the end of a piece that begins at `start`: never between the two halves of a surrogate pair. */
function endOfPiece(text: string, start: number): number {
  const end = Math.min(text.length, start + PIECE);
  const isHigh = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHigh ? end - 1 : end;
}
