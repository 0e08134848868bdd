/** More connections than there may be: counted by the kernel, so only where it says. */
import { expect, setDefaultTimeout, test } from "bun:test";
import {
  AddressConnections,
  canCountConnections,
  countConnections,
  peersIn,
} from "../../src/serve/http/connection-limit.ts";
import { DescriptorReserve } from "../../src/serve/http/descriptor-reserve.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { serveTls } from "./support/serve.ts";
import { HEAD, type SlowClient, slowClient } from "./support/slow-client.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const MAX = 5;

/** Expects one report of too many connections. */
function expectTooMany(told: readonly string[], what: string): void {
  const [count = ""] = told.map((text) => text.replace(`${what} `, ""));
  expect(told).toEqual([`${what} ${count}`]);
  expect(Number(count)).toBeGreaterThan(MAX);
}

test.if(canCountConnections())("past the bound nothing is accepted until there is room", async () => {
  const told: string[] = [];
  using reserve = new DescriptorReserve();
  const connections = {
    // What the process has open besides counts as nothing once it is looked closely.
    maxConnections: MAX,
    reserve,
    onFull: (count: number) => void told.push(`full ${count}`),
    onRoom: () => void told.push("room"),
    onTrouble: (error: unknown) => void told.push(String(error)),
  };
  await using server = await serveTls({}, { connections });
  const { port } = server.running;
  const ask = `GET /v1/config/a HTTP/1.1\r\n${HEAD}`;
  const clients: SlowClient[] = [];
  for (let count = 0; count < MAX; count++) clients.push(await slowClient(port, { begin: ask }));
  await eventually("the kernel lists them", () => countConnections(port) === MAX);
  await Bun.sleep(2_500);
  expect(told).toEqual([]);
  clients.push(await slowClient(port, { begin: ask }));
  await eventually("it is full", () => told.length > 0);
  expectTooMany(told, "full");
  await expect(slowClient(port)).rejects.toThrow();
  // What was accepted is served.
  clients[0]?.send("\r\n");
  await clients[0]?.cut();
  expect(clients[0]?.received).toStartWith("HTTP/1.1 200");
  for (const client of clients.slice(1, 3)) client[Symbol.dispose]();
  await eventually("there is room", () => told.length > 1);
  expect(told.slice(1)).toEqual(["room"]);
  using again = await slowClient(port, { begin: `${ask}\r\n` });
  await eventually("it is answered", () => again.received.startsWith("HTTP/1.1 200"));
  for (const client of clients) client[Symbol.dispose]();
});

test("while no address has too many connections, nobody asks for that of a request", () => {
  using addresses = new AddressConnections(() => 0, { most: MAX, isExempt: () => false, onCrowded: () => {} });
  const peer = () => {
    throw new Error("asked");
  };
  expect(addresses.isCrowded(peer)).toBe(false);
});

test("a server asks for the address of a request only where something depends on it", async () => {
  let asked = 0;
  const clientOf = () => {
    asked++;
    return "192.0.2.1";
  };
  const addressConnections = { most: MAX, isExempt: () => false, onCrowded: () => {} };
  await using server = await serveTls({}, { clientOf, addressConnections });
  expect((await server.send({ path: "/v1/config/a" })).status).toBe(200);
  expect(asked).toBe(0);
  const before = async (request: Request) => request;
  await using node = await serveTls({}, { clientOf, addressConnections, before });
  expect((await node.send({ path: "/v1/config/a" })).status).toBe(200);
  expect(asked).toBe(1);
});

test.if(canCountConnections())("while descriptors are needed elsewhere nothing is accepted", async () => {
  const told: string[] = [];
  using reserve = new DescriptorReserve();
  const connections = {
    maxConnections: 1_000,
    reserve,
    onFull: (count: number) => void told.push(`full ${count}`),
    onRoom: () => void told.push("room"),
    onTrouble: (error: unknown) => void told.push(String(error)),
  };
  await using server = await serveTls({}, { connections });
  const { port } = server.running;
  using client = await slowClient(port, { begin: `GET /v1/config/a HTTP/1.1\r\n${HEAD}` });
  reserve.release();
  expect([told, reserve.isWhole]).toEqual([["full 1"], false]);
  client.send("\r\n");
  await eventually("what was accepted is answered", () => client.received.startsWith("HTTP/1.1 200"));
  await eventually("the port is open again", () => told.length > 1);
  expect([told, reserve.isWhole]).toEqual([["full 1", "room"], true]);
  using _ = await slowClient(port);
});

test.if(canCountConnections())("an address with too many connections loses them as they are used", async () => {
  const told: string[] = [];
  const addressConnections = {
    most: MAX,
    isExempt: () => false,
    onCrowded: (network: string, count: number) => void told.push(`${network} ${count}`),
  };
  await using server = await serveTls({}, { addressConnections });
  const { port } = server.running;
  const ask = `GET /v1/config/a HTTP/1.1\r\n${HEAD}`;
  const clients: SlowClient[] = [];
  for (let count = 0; count <= MAX; count++) clients.push(await slowClient(port, { begin: ask }));
  await eventually("it is crowded", () => told.length > 0);
  expectTooMany(told, "127.0.0.1");
  clients[0]?.send("\r\n");
  await clients[0]?.cut();
  expect(clients[0]?.received).toStartWith("HTTP/1.1 429");
  expect(clients[0]?.received).toContain("rate_limited");
  // With one connection less there are not too many.
  await Bun.sleep(2_500);
  clients[1]?.send("\r\n");
  await eventually("it is answered", () => clients[1]?.received.startsWith("HTTP/1.1 200") === true);
  expect(told.length).toBe(1);
  for (const client of clients) client[Symbol.dispose]();
});

test("the peers of connections are read from the tables of the kernel", () => {
  const row = (local: string, peer: string, state: string) =>
    `   0: ${local} ${peer} ${state} 00000000:00000000 00:0000`;
  const four = [
    row("0100007F:20FB", "0702000A:C001", "01"),
    row("0100007F:20FB", "010200C0:C001", "08"),
    // Listed again, and closed by its peer meanwhile.
    row("0100007F:20FB", "0702000A:C001", "08"),
    row("0100007F:20FB", "0302000A:C001", "06"),
    row("0100007F:20FC", "0402000A:C001", "01"),
    row("0100007F:20FB", "00000000:0000", "0A"),
  ].join("\n");
  expect(peersIn(four, 0x20fb)).toEqual(["10.0.2.7", "192.0.2.1"]);
  const local = `${"0".repeat(24)}01000000:20FB`;
  const six = [
    row(local, "B80D0120000000000000000009000000:C001", "01"),
    row(local, "0000000000000000FFFF00000702000A:C001", "01"),
  ].join("\n");
  expect(peersIn(six, 0x20fb)).toEqual(["2001:db8:0:0:0:0:0:9", "10.0.2.7"]);
});
