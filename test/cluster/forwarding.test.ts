/** A node passes requests on, but not so many that it could not reach its libSQL server any more. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { newSealKey, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { NodeClient } from "../../src/engine-libsql/cluster/forwarding.ts";
import { nodeIdentity } from "../../src/engine-libsql/cluster/identity.ts";
import { eventually } from "../eventually.ts";
import { temporaryDirectory } from "../temporary.ts";

/** The identity of a node on this machine. */
async function identityHere() {
  using directory = temporaryDirectory();
  const path = directory.join("seal.key");
  writeFileSync(path, newSealKey());
  return nodeIdentity(readSealKey({ kind: "file", path }), ["127.0.0.1"], Date.now());
}

/** Another node, each of whose answers is a stream that does not end by itself, or a text for the path `/short`. */
function otherNode({ cert, key, clientCa }: Awaited<ReturnType<typeof identityHere>>) {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    tls: { cert, key, ca: clientCa, requestCert: true, rejectUnauthorized: true },
    fetch: ({ url }) =>
      url.endsWith("/short")
        ? new Response("short")
        : new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([46])) })),
  });
}

test("a stream that is passed on counts until nobody reads it any more", async () => {
  const identity = await identityHere();
  const node = otherNode(identity);
  try {
    const client = new NodeClient(identity, 2);
    const pass = (path: string) => client.forward(node.url.href, new Request(`https://localhost${path}`), null, null);
    const outcome = (path: string) =>
      pass(path).then(
        async ({ status, body }) => {
          await body?.cancel();
          return status;
        },
        ({ code }) => code,
      );
    const readers = (await Promise.all([pass("/stream"), pass("/stream")])).map(({ body }) => body?.getReader());
    for (const reader of readers) expect((await reader?.read())?.value).toEqual(new Uint8Array([46]));
    expect(await outcome("/short")).toBe("unavailable");
    await readers[0]?.cancel();
    expect(await outcome("/short")).toBe(200);
    expect(await outcome("/short")).toBe(200);
    const again = await pass("/stream");
    expect(await outcome("/short")).toBe("unavailable");
    await again.body?.cancel();
    await readers[1]?.cancel();
    await eventually("both have ended", async () => (await outcome("/stream")) === 200);
  } finally {
    await node.stop(true);
  }
});

test("what gets no answer counts no longer", async () => {
  const client = new NodeClient(await identityHere(), 1);
  const pass = () => client.forward("https://127.0.0.1:9", new Request("https://localhost/"), null, null);
  for (let i = 0; i < 3; i++) expect(await pass().catch(({ name }) => name)).toBe("NoNode");
});
