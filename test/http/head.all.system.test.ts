/** HEAD of every path: the headers of GET at once, and nothing stays open. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:tls";
import { accountRoutes, routes } from "../../src/serve/http/app.ts";
import { publicPages } from "../../src/serve/http/documents/pages.ts";
import { DOWNLOAD_PATH } from "../../src/serve/http/pipeline/download.ts";
import { signUp, tokenOf } from "../account/browser.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { idleSink, requestOf, type Subject } from "../support/route-requests.ts";

/** More than the streams of one workspace that may be open. */
const REPEATED = 40;
/** Far longer than any HEAD takes, and shorter than the silence of a live stream. */
const AT_ONCE_MS = 12_000;
/** Headers whose values may differ between two requests. The trail, for one, grows with each of them. */
const OF_ONE_REQUEST = ["x-request-id", "x-audit-id", "content-length"];

let daemon: TestDaemon;
let workspace: TestWorkspace;
let subject: Subject;
let session: Record<string, string>;
let accountPath: (path: string) => string;

beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { sink_allow: "127.0.0.1" } });
  workspace = await daemon.workspace();
  const { client } = workspace;
  await client.configure("a", {});
  const { audit_id: event } = (await client.write("a", "k", "v")).json;
  const { id: checkpoint } = (await client.checkpoint("a")).json;
  subject = { agent: "a", checkpoint, event, sink: await idleSink(client) };
  await client.get(`/v1/audit/${event}/receipt`);
  const person = await signUp(daemon, tokenOf(daemon.signUpUrl));
  const cookies = [...person.browser.cookies].map(([name, value]) => `${name}=${value}`);
  session = { cookie: cookies.join("; "), origin: daemon.url };
  accountPath = (path) => path.replace(":workspace_id", person.workspaceId).replace(/:[a-z_]+/g, "x");
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface Head {
  status: number;
  headers: Map<string, string>;
}

/** Sends a request on a new connection, and returns the head of its response. */
function headOf(method: string, path: string, headers: Record<string, string>): Promise<Head> {
  const { hostname, port, host } = new URL(daemon.url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    const late = setTimeout(() => fail(new Error(`no answer to ${method} ${path}`)), AT_ONCE_MS);
    const fail = (error: Error) => {
      clearTimeout(late);
      socket.destroy();
      reject(error);
    };
    let received = "";
    socket.on("secureConnect", () => {
      const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
    });
    socket.on("data", (data) => {
      received += data.toString("latin1");
      const end = received.indexOf("\r\n\r\n");
      if (end === -1) return;
      clearTimeout(late);
      socket.destroy();
      resolve(parsed(received.slice(0, end)));
    });
    socket.on("error", fail);
  });
}

function parsed(head: string): Head {
  const [line = "", ...lines] = head.split("\r\n");
  const pairs = lines.map((each): [string, string] => {
    const colon = each.indexOf(":");
    return [each.slice(0, colon).toLowerCase(), each.slice(colon + 1).trim()];
  });
  return { status: Number(line.split(" ")[1]), headers: new Map(pairs) };
}

const comparable = ({ status, headers }: Head) => ({
  status,
  headers: Object.fromEntries(
    [...headers]
      // The runtime adds it, and leaves it out of responses to HEAD.
      .filter(([name]) => name !== "date")
      .map(([name, value]) => [name, OF_ONE_REQUEST.includes(name) ? "" : value])
      .sort(),
  ),
});

/** Every path with its methods, and the request to it. */
function everyPath(): Map<string, { methods: Set<string>; sent: () => [string, Record<string, string>] }> {
  const paths: ReturnType<typeof everyPath> = new Map();
  const add = (method: string, path: string, sent: () => [string, Record<string, string>]) => {
    const known = paths.get(path);
    if (known === undefined) paths.set(path, { methods: new Set([method]), sent });
    else {
      known.methods.add(method);
      if (method === "GET") known.sent = sent;
    }
  };
  for (const route of routes) {
    add(route.method, route.path, () => {
      const { path, query } = requestOf(route, subject);
      const parameters = new URLSearchParams(query as Record<string, string>).toString();
      return [parameters === "" ? path : `${path}?${parameters}`, { "x-api-key": workspace.client.apiKey }];
    });
  }
  for (const { method, path } of accountRoutes) add(method, path, () => [accountPath(path), session]);
  add("POST", DOWNLOAD_PATH, () => [accountPath(DOWNLOAD_PATH), session]);
  const ready = { isReady: () => ({ ready: true, workspacesDown: 0 }) };
  for (const { path } of publicPages(routes, accountRoutes, ready)) add("GET", path, () => [path, {}]);
  return paths;
}

describe("HEAD", () => {
  for (const [path, { methods, sent }] of everyPath()) {
    test(path, async () => {
      const [target, headers] = sent();
      const head = await headOf("HEAD", target, headers);
      if (methods.has("GET")) {
        const full = await headOf("GET", target, headers);
        expect(comparable(head)).toEqual(comparable(full));
      } else {
        expect([head.status, head.headers.get("allow")]).toEqual([405, expect.stringMatching(/OPTIONS/)]);
      }
    });
  }

  test("keeps no stream and no reader, however often", async () => {
    for (const route of routes.filter(({ method }) => method === "GET")) {
      const { path, query } = requestOf(route, subject);
      const target = `${path}?${new URLSearchParams(query as Record<string, string>)}`.replace(/\?$/, "");
      const headers = { "x-api-key": workspace.client.apiKey };
      const { status } = await headOf("GET", target, headers);
      for (let count = 0; count < REPEATED; count++) {
        expect((await headOf("HEAD", target, headers)).status, target).toBe(status);
      }
      expect((await headOf("GET", target, headers)).status, target).toBe(status);
    }
  });
});
