/** Names that no registrar sells are in the daemon's certificate, and clients accept them there. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "node:tls";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const NAMES = ["agent_memory", "BUILD_01.corp_net.example", "x.under_scored.example"];

test("clients accept names with underscores, also those that a wildcard covers", async () => {
  const hostnames = "agent_memory,BUILD_01.corp_net.example,*.under_scored.example";
  await using daemon = await TestDaemon.start({ flags: { hostnames } });
  const { port } = new URL(daemon.url);
  for (const name of NAMES) {
    const { promise, resolve } = Promise.withResolvers<string | Error>();
    const socket = connect({ host: "127.0.0.1", port: Number(port), servername: name, ca: daemon.ca }, () => {
      resolve(socket.authorized ? "accepted" : (socket.authorizationError as Error));
      socket.destroy();
    });
    socket.on("error", resolve);
    expect([name, await promise]).toEqual([name, "accepted"]);
    const url = `https://${name}:${port}/healthz`;
    const authority = `${daemon.dataDir}/tls/ca.crt`;
    const curl = Bun.spawn(["curl", "-sS", "--cacert", authority, "--resolve", `${name}:${port}:127.0.0.1`, url]);
    expect([name, JSON.parse(await new Response(curl.stdout).text())]).toMatchObject([name, { status: "ok" }]);
  }
});
