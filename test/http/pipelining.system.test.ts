/**
 * Requests that are sent before the response to the one before. The runtime closes the connection when a second request
 * arrives too early, and says so at once without TLS, but only after the client has reacted with it (docs/upstream.md).
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { signUp, tokenOf } from "../account/browser.ts";
import { effort } from "../effort.ts";
import { ended } from "../ended.ts";
import { eventually } from "../eventually.ts";
import { administer } from "../support/administration.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import type { WorkspaceView } from "../support/workspace-view.ts";
import { exchangeRaw } from "./support/raw.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
/** A daemon behind a TLS proxy. */
let proxied: TestDaemon;
let proxiedKey: string;
let proxiedView: WorkspaceView;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
  proxied = await TestDaemon.start({ flags: { tls: "off", trusted_proxies: "127.0.0.1" } });
  const made = await administer(proxied.dataDir, (administration) => administration.createWorkspace("test"));
  proxiedKey = headerOf(made.apiKey);
  proxiedView = proxied.viewOf(made.workspace.id);
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await proxied[Symbol.asyncDispose]();
});

const portOf = ({ url }: TestDaemon) => Number(new URL(url).port);

/** Sends a text to a daemon from a process of its own. Returns the text of the answers. */
async function sendFromElsewhere(to: TestDaemon, text: string, answers: number): Promise<string> {
  const asked = JSON.stringify({ port: portOf(to), text, tls: to === daemon, answers });
  const program = [process.execPath, join(import.meta.dir, "clients/raw.ts"), asked];
  const { code, out, err } = await ended(Bun.spawn(program, { stdin: "ignore", stdout: "pipe", stderr: "pipe" }));
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out;
}

function request(line: string, headers: string, body?: object): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  const type = body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
  return `${line} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Proto: https\r\n${headers}${type}\r\n${text}`;
}

const headerOf = (apiKey: string) => `X-API-Key: ${apiKey}\r\n`;
const write = (name: string, headers = proxiedKey) =>
  request("POST /v1/data/write", headers, { agent_id: "a", key: name, value: "v" });
const read = (name: string) => request(`GET /v1/data/read?agent_id=a&key=${name}`, proxiedKey);
const search = () => request("POST /v1/data/search", proxiedKey, { agent_id: "a", query: "v" });

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

describe("without TLS", () => {
  test.each(Object.keys(BURSTS))("%s that are sent together: what is recorded is answered", async (name) => {
    const requests = (BURSTS[name] as () => string[])();
    const { head } = proxiedView;
    const answers = await sendFromElsewhere(proxied, requests.join(""), requests.length);
    // The next request is carried out after whatever may have been left of them.
    expect(successes(await exchangeRaw(portOf(proxied), write("next"), { tls: false }))).toBe(1);
    const recorded = proxiedView.eventsAfter(head).length - 1;
    const pages = requests.filter((text) => text.startsWith("GET /healthz")).length;
    expect(recorded).toBeLessThanOrEqual(successes(answers));
    expect(recorded).toBeGreaterThanOrEqual(successes(answers) - pages);
  });
});

describe("with TLS", () => {
  const TRIES = effort({ usual: 4, long: 100 });
  const send = (text: string) => exchangeRaw(portOf(daemon), text, { tls: true });

  test("a request after the response to the one before is answered on the same connection", async () => {
    for (const name of ["s1", "s2"])
      expect(successes(await send(write(name, headerOf(workspace.client.apiKey))))).toBe(1);
  });

  test("what was sent together is sent again with its Idempotency-Key, and is carried out once", async () => {
    for (let count = 0; count < TRIES; count++) {
      const requests = ["one", "two", "three"].map((name) =>
        write(`${name}-${count}`, `${headerOf(workspace.client.apiKey)}Idempotency-Key: ${name}-${count}\r\n`),
      );
      const { head } = workspace.view;
      const answers = await sendFromElsewhere(daemon, requests.join(""), requests.length);
      const recorded = workspace.view.eventsAfter(head).length;
      expect(successes(answers)).toBeLessThanOrEqual(recorded);
      for (const text of requests) {
        await eventually("it is answered", async () => successes(await send(text)) === 1);
      }
      const keys = workspace.view.eventsAfter(head).map(({ details }) => details?.key);
      expect(keys.toSorted()).toEqual([`one-${count}`, `three-${count}`, `two-${count}`]);
    }
  });

  test("two changes of accounts at once, by a client that reacts at once: what is done is answered", async () => {
    const { browser } = await signUp(daemon, tokenOf(daemon.signUpUrl));
    const cookies = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const session = `Cookie: ${cookies}\r\nOrigin: ${daemon.url.replace("127.0.0.1", "localhost")}\r\n`;
    const create = (name: string) => request("POST /account/workspaces", session, { name });
    const list = async () => {
      const answer = await send(request("GET /account/workspaces", session));
      return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))).data.length;
    };
    const before = await list();
    const answers = await exchangeRaw(portOf(daemon), create("one") + create("two"), { tls: true, answers: 2 });
    expect((await list()) - before).toBe(successes(answers));
  });
});
