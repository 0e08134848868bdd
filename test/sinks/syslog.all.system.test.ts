/** Syslog over TLS, with rsyslog as the receiver, and with one that breaks off. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { eventually } from "../eventually.ts";
import { makeCertificate } from "../http/support/certificate.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { HAS_RSYSLOG, Rsyslog } from "./rsyslog.ts";

setDefaultTimeout(PROCESS_TEST_MS);

test.skipIf(!HAS_RSYSLOG)("rsyslog gets every event, also those of the time in which it was away", async () => {
  using directory = temporaryDirectory();
  const own = await makeCertificate();
  await using rsyslog = await Rsyslog.start(directory, own);
  await using daemon = await TestDaemon.start({ flags: { sink_allow: "127.0.0.1" } });
  const { client, view, id } = await daemon.workspace();
  const write = async (count: number) => {
    for (let i = 0; i < count; i++) await client.write("a", `k${i}`, "confidential");
  };
  await write(3);
  const sink = await client.post("/v1/sinks", {
    type: "syslog",
    url: rsyslog.url,
    ca: own.cert,
    client_certificate: own.cert,
    client_key: own.key,
    start: "beginning",
  });
  expect(sink.status).toBe(201);
  // Without the certificate that it asks for, it closes the connection.
  const stranger = await client.post("/v1/sinks", { type: "syslog", url: rsyslog.url, ca: own.cert, enabled: false });
  const tested = await client.send({ method: "POST", path: `/v1/sinks/${stranger.json.id}/test` });
  expect(tested.json).toMatchObject({ delivered: false, message: "the receiver closed the connection" });
  const lines = () => rsyslog.received.map(({ text }) => JSON.parse(text));
  const has = (position: number) => lines().some((line) => line.type === "position" && line.position === position);
  await eventually("all arrived", () => has(view.head));
  const events = () => rsyslog.received.filter(({ msgid }) => msgid !== "position");
  const first = rsyslog.received.find(({ msgid }) => msgid === "data.write");
  const event = JSON.parse(first?.text ?? "");
  expect(first).toMatchObject({ pri: 13 * 8 + 6, app: "governd", procid: id, timestamp: event.timestamp });
  await rsyslog.stop();
  await write(150);
  await eventually("it fails", async () => (await client.get(`/v1/sinks/${sink.json.id}`)).json.state === "failing");
  const before = events().length;
  await rsyslog.start();
  await eventually("the rest arrived", () => has(view.head));
  const seqs = events().map(({ text }) => JSON.parse(text).seq as number);
  expect([...new Set(seqs)]).toEqual(Array.from({ length: view.head + 1 }, (_, seq) => seq));
  // Those before the new connection came a second time, in order.
  const repeated = seqs.slice(before);
  expect(repeated[0]).toBe(0);
  expect(repeated).toEqual(Array.from({ length: repeated.length }, (_, i) => i));
  await rsyslog.stop();
  expect(rsyslog.written.trimEnd().split("\n")).toEqual(rsyslog.received.map(({ text }) => text));
  expect(rsyslog.written).not.toContain("confidential");
});

/** Takes apart what octet counting put together (RFC 6587 section 3.4.1). Returns whole messages. */
function messagesIn(stream: string): string[] {
  const messages: string[] = [];
  for (let rest = stream; ; ) {
    const [head = "", length] = /^(\d+) /.exec(rest) ?? [];
    const end = head.length + Number(length);
    if (length === undefined || rest.length < end) return messages;
    messages.push(rest.slice(head.length, end));
    rest = rest.slice(end);
  }
}

test("a receiver that breaks off in the middle of a message, again and again, gets all of it in order", async () => {
  const { key, cert } = await makeCertificate();
  const connections: string[] = [];
  const server = createServer({ key, cert }, (socket: TLSSocket) => {
    const number = connections.push("") - 1;
    socket.setEncoding("latin1").on("data", (piece: string) => {
      const taken = (connections[number] as string) + piece;
      // The first ones take a part of what is on its way, and die.
      const most = number < 2 ? 20_000 * (number + 1) : taken.length;
      connections[number] = taken.slice(0, most);
      if (taken.length > most) socket.destroy();
    });
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await using daemon = await TestDaemon.start({ flags: { sink_allow: "127.0.0.1" } });
  const { client, view, id } = await daemon.workspace();
  const operations = Array.from({ length: 99 }, (_, i) => ({
    op: "write",
    key: `k${i}`,
    value: "v",
    metadata: { ä: "ö" },
  }));
  expect((await client.post("/v1/data/batch", { agent_id: "a", operations })).status).toBe(200);
  const sink = { type: "syslog", url: `tls://127.0.0.1:${port}`, ca: cert, start: "beginning", format: "cloudevents" };
  expect((await client.post("/v1/sinks", sink)).status).toBe(201);
  const lines = () => connections.flatMap(messagesIn).map((message) => JSON.parse(message.slice(message.indexOf("{"))));
  await eventually("all arrived", () => lines().at(-1)?.data.position === view.head);
  const seqs = lines().flatMap(({ data }) => (data.seq === undefined ? [] : [data.seq as number]));
  expect([...new Set(seqs)]).toEqual(Array.from({ length: view.head + 1 }, (_, seq) => seq));
  expect(connections.length).toBeGreaterThan(2);
  const [first = ""] = messagesIn(connections[0] as string);
  expect(connections.join("")).not.toMatch(/[^\x20-\x7e]/);
  expect(first).toStartWith("<110>1 ");
  expect(first.split(" ").slice(3, 7)).toEqual(["governd", id, "workspace.create", "-"]);
  server.close();
});
