/** Bodies that are sent in pieces. */
import { expect, test } from "bun:test";
import { inPieces } from "../../src/http/pipeline/large-body.ts";

test("a short body is a text", () => {
  expect(inPieces('{"a":1}')).toBe('{"a":1}');
});

test("a long body arrives as it is, whichever characters lie between two pieces", async () => {
  for (const unit of ["a", "é", "😀", "a😀", "\u{10FFFF}é"]) {
    const text = unit.repeat(200_000);
    const body = inPieces(text);
    expect(body).toBeInstanceOf(ReadableStream);
    expect((await new Response(body).text()) === text).toBe(true);
  }
});
