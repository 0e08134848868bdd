/**
 * Requests that are sent before the response to the one before: whatever is carried out is answered. The runtime
 * closes the connection when a second request arrives too early (docs/upstream.md).
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { signUp, tokenOf } from "../account/browser.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { exchangeRaw } from "./support/raw.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
let session: string;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
  const { browser } = await signUp(daemon, tokenOf(daemon.signUpUrl));
  const cookies = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  session = `Cookie: ${cookies}\r\nOrigin: ${daemon.url}\r\n`;
});
afterAll(() => daemon[Symbol.asyncDispose]());

const send = (text: string, answers: number) =>
  exchangeRaw(Number(new URL(daemon.url).port), text, { tls: true, answers });

function request(line: string, headers: string, body?: object): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  const type = body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
  return `${line} HTTP/1.1\r\nHost: ${new URL(daemon.url).host}\r\n${headers}${type}\r\n${text}`;
}

const key = () => `X-API-Key: ${workspace.client.apiKey}\r\n`;
const write = (name: string) => request("POST /v1/data/write", key(), { agent_id: "a", key: name, value: "v" });
const read = (name: string) => request(`GET /v1/data/read?agent_id=a&key=${name}`, key());
const search = () => request("POST /v1/data/search", key(), { agent_id: "a", query: "v" });

/** How many requests a text of answers succeeded. */
const successes = (answers: string) => answers.match(/HTTP\/1\.1 20[01]/g)?.length ?? 0;

const BURSTS: Readonly<Record<string, () => string[]>> = {
  "two writes": () => [write("1"), write("2")],
  "ten writes": () => Array.from({ length: 10 }, (_, i) => write(`w${i}`)),
  "a read and a write": () => [read("1"), write("3")],
  "a write and a read": () => [write("4"), read("4")],
  "a search and a write": () => [search(), write("6")],
  "a write and a page": () => [write("7"), request("GET /healthz", "")],
  "a page and a write": () => [request("GET /healthz", ""), write("8")],
};

test.each(Object.keys(BURSTS))("%s: what is recorded is answered", async (name) => {
  const requests = (BURSTS[name] as () => string[])();
  const { head } = workspace.view;
  const answers = await send(requests.join(""), requests.length);
  // The next request is carried out after whatever may have been left of them.
  expect((await workspace.client.get("/v1/audit", { scope: "workspace", limit: 1 })).status).toBe(200);
  const recorded = workspace.view.eventsAfter(head).length - 1;
  const pages = requests.filter((text) => text.startsWith("GET /healthz")).length;
  expect(recorded).toBeLessThanOrEqual(successes(answers));
  expect(recorded).toBeGreaterThanOrEqual(successes(answers) - pages);
});

test("a request after the response to the one before is answered on the same connection", async () => {
  for (const name of ["s1", "s2"]) expect(await send(write(name), 1)).toStartWith("HTTP/1.1 200");
});

test("two changes of accounts at once: what is done is answered", async () => {
  const create = (name: string) => request("POST /account/workspaces", session, { name });
  const count = async () => {
    const answer = await send(request("GET /account/workspaces", session), 1);
    return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))).data.length;
  };
  const before = await count();
  const answers = await send(create("one") + create("two"), 2);
  await Bun.sleep(200);
  expect((await count()) - before).toBe(successes(answers));
});
