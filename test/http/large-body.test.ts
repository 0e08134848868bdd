/** Bodies that are sent, and read, in pieces. */
import { expect, test } from "bun:test";
import { readBody } from "../../src/serve/http/pipeline/body.ts";
import { inPieces } from "../../src/serve/http/pipeline/large-body.ts";

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

test("a long body is read as it was sent, with and without a declared length", async () => {
  const sent = Buffer.from(Array.from({ length: 700_000 }, (_, i) => i % 251));
  const sizes = [1, 70_000, 300_000, 0, 329_999];
  const chunked = () => {
    let at = 0;
    const [...left] = sizes;
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        const size = left.shift();
        if (size === undefined) return controller.close();
        controller.enqueue(sent.subarray(at, at + size));
        at += size;
      },
    });
  };
  for (const declared of [{}, { "content-length": String(sent.length) }]) {
    const headers = { "content-type": "application/json", ...declared };
    const request = new Request("https://localhost/", { method: "POST", body: chunked(), headers });
    expect(Buffer.compare(await readBody(request, { maxBodyBytes: sent.length }), sent)).toBe(0);
  }
});
