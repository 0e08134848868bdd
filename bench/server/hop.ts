/** The least that one more HTTP hop can cost in the same runtime: a server that passes each request on, and does no more. */
import type { Daemon } from "../daemon.ts";

export interface Hop extends AsyncDisposable {
  url: string;
  pid: number;
}

/** Starts it before a daemon, as a process of its own. It has the certificate of the daemon. */
export async function startHop({ url, server, dataDir }: Daemon): Promise<Hop> {
  const child = Bun.spawn([process.execPath, import.meta.path, url, dataDir], {
    env: { ...process.env, AUTHORITY: server.authority },
    stdout: "pipe",
    stderr: "inherit",
  });
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk);
    if (text.includes("\n")) break;
  }
  const stop = async () => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return { url: text.trim(), pid: child.pid, [Symbol.asyncDispose]: stop };
}

if (import.meta.main) {
  const [target, dataDir] = process.argv.slice(2) as [string, string];
  const tls = { ca: process.env.AUTHORITY as string };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: Bun.file(`${dataDir}/tls/server.crt`), key: Bun.file(`${dataDir}/tls/server.key`) },
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const body = request.body === null ? null : await request.arrayBuffer();
      const sent = await fetch(target + pathname + search, {
        method: request.method,
        headers: request.headers,
        ...(body !== null && { body }),
        decompress: false,
        tls,
      });
      return new Response(sent.body, { status: sent.status, headers: sent.headers });
    },
  });
  console.log(`https://127.0.0.1:${server.port}`);
}
