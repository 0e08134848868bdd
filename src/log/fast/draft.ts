/** The canonical text of an event of a known shape, in place: only what differs is written anew. */
import { Bytes, copy } from "./bytes.ts";
import { HASH_CHARS, ID_CHARS, type Shape, TIME_CHARS } from "./shape.ts";

export class Draft {
  /** A zero byte, which the hash of an event begins with, and the text. */
  readonly bytes: Bytes;
  readonly agentSeqAt: number;
  readonly commitmentAt: number;
  readonly idAt: number;
  readonly linkAt: number;
  readonly seqAt: number;
  readonly timeAt: number;

  /** @param agentSeqDigits and `seqDigits`: how long the numbers are */
  constructor(
    shape: Shape,
    readonly agentSeqDigits: number,
    readonly seqDigits: number,
  ) {
    const { bytes, starts, lengths } = shape.canonical;
    const gaps = [agentSeqDigits, HASH_CHARS, ID_CHARS, HASH_CHARS, seqDigits, TIME_CHARS, 0];
    const total = bytes.u8.length + gaps.reduce((a, b) => a + b, 0);
    this.bytes = new Bytes(new Uint8Array(1 + total));
    const places: number[] = [];
    let at = 1;
    for (const [index, gap] of gaps.entries()) {
      copy(this.bytes, at, bytes, starts[index] as number, lengths[index] as number);
      at += lengths[index] as number;
      places.push(at);
      at += gap;
    }
    const place = (index: number): number => places[index] as number;
    this.agentSeqAt = place(0);
    this.commitmentAt = place(1);
    this.idAt = place(2);
    this.linkAt = place(3);
    this.seqAt = place(4);
    this.timeAt = place(5);
  }
}
