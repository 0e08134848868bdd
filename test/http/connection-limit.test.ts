/** More connections than there may be: counted by the kernel, so only where it says. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { canCountConnections, countConnections } from "../../src/http/connection-limit.ts";
import { eventually } from "../eventually.ts";
import { serveTls } from "./support/serve.ts";
import { HEAD, type SlowClient, slowClient } from "./support/slow-client.ts";

setDefaultTimeout(60_000);

const MAX = 5;
const PATIENCE_MS = 30_000;

test.if(canCountConnections())("past the bound nothing is accepted until there is room", async () => {
  const told: string[] = [];
  const connections = {
    // What the process has open besides counts as nothing once it is looked closely.
    maxConnections: MAX,
    onFull: (count: number) => void told.push(`full ${count}`),
    onRoom: () => void told.push("room"),
    onTrouble: (error: unknown) => void told.push(String(error)),
  };
  await using server = await serveTls({}, { connections });
  const { port } = server.running;
  const ask = `GET /v1/config/a HTTP/1.1\r\n${HEAD}`;
  const clients: SlowClient[] = [];
  for (let count = 0; count < MAX; count++) clients.push(await slowClient(port, { begin: ask }));
  expect(countConnections(port)).toBe(MAX);
  await Bun.sleep(2_500);
  expect(told).toEqual([]);
  clients.push(await slowClient(port, { begin: ask }));
  await eventually("it is full", () => told.length > 0);
  expect(told).toEqual([`full ${MAX + 1}`]);
  await expect(slowClient(port)).rejects.toThrow();
  // What was accepted is served.
  clients[0]?.send("\r\n");
  expect(await clients[0]?.closed(PATIENCE_MS)).toBeNumber();
  expect(clients[0]?.received).toStartWith("HTTP/1.1 200");
  for (const client of clients.slice(1, 3)) client[Symbol.dispose]();
  await eventually("there is room", () => told.length > 1);
  expect(told).toEqual([`full ${MAX + 1}`, "room"]);
  using again = await slowClient(port, { begin: `${ask}\r\n` });
  await eventually("it is answered", () => again.received.startsWith("HTTP/1.1 200"));
  for (const client of clients) client[Symbol.dispose]();
});
