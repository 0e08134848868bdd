/** Path parameters that no client library would send: authentication is decided first, and nothing fails inside. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { exampleOf } from "../../src/api/example.ts";
import { accountRoutes, routes } from "../../src/serve/http/app.ts";
import { DOWNLOAD_PATH } from "../../src/serve/http/pipeline/download.ts";
import { signUp, tokenOf } from "../account/browser.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { TestDaemon } from "../support/daemon.ts";
import { requestOf } from "../support/route-requests.ts";
import { exchangeRaw } from "./support/raw.ts";

/** What stands where a path has a parameter: percent-encodings and bytes, by what is wrong with them. */
const HOSTILE: Readonly<Record<string, string>> = {
  "a null": "%00",
  "a null inside": "a%00b",
  "a line break": "x%0d%0aset-cookie:%20a=b",
  "a slash": "a%2Fb",
  "a path upwards": "%2e%2e%2f%2e%2e%2finstallation.json",
  "a backslash": "..%5c",
  "no UTF-8": "%FF",
  "an unfinished sequence": "%E2%82",
  "a long form of a slash": "%C0%AF",
  "a lone surrogate": "%ED%A0%80",
  "a pair of surrogates": "%ED%A0%BD%ED%B8%80",
  "beyond Unicode": "%F4%90%80%80",
  "an unfinished encoding": "%",
  "half an encoding": "%2",
  "no encoding": "%zz",
  "a question mark": "%3F",
  "a hash": "%23",
  "characters beyond Latin-1": "%E6%97%A5%E6%9C%AC",
  "a character beyond the first plane": "%F0%9F%99%82",
  "spaces only": "%20%20",
  "a byte order mark": "%EF%BB%BF",
  "a delete": "%7F",
  "a C1 control character": "%C2%85",
  "a quote": "%27%20OR%201=1--",
  "the name of a prototype": "__proto__",
  "raw bytes": "\u00ff\u00fe",
  "257 characters": "a".repeat(257),
  "8,000 characters": "a".repeat(8_000),
  "8,000 encoded characters": "%41".repeat(2_600),
  "more than a request line may have": "a".repeat(40_000),
};

interface Target {
  method: string;
  path: string;
  /** Where credentials are needed, the headers with them. */
  headers: Record<string, string>;
  body: string;
}

let daemon: TestDaemon;
let credentials: { key: Record<string, string>; session: Record<string, string> };
let workspaceId: string;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  const { client } = await daemon.workspace();
  const person = await signUp(daemon, tokenOf(daemon.signUpUrl));
  const cookies = [...person.browser.cookies].map(([name, value]) => `${name}=${value}`);
  workspaceId = person.workspaceId;
  credentials = { key: { "x-api-key": client.apiKey }, session: { cookie: cookies.join("; "), origin: daemon.url } };
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Every route whose path has a parameter, and a body that it would accept. */
const TARGETS: readonly (Omit<Target, "headers"> & { with: keyof typeof credentials })[] = [
  ...routes.map((route) => {
    const { body } = requestOf(route, { agent: "a", checkpoint: "x", event: "x" });
    return { method: route.method, path: route.path, with: "key", body: body ? JSON.stringify(body) : "" } as const;
  }),
  ...accountRoutes.map(({ method, path, body }) => {
    const example = body === null ? "" : JSON.stringify(exampleOf(body.schema));
    return { method, path, with: "session", body: example } as const;
  }),
  { method: "POST", path: DOWNLOAD_PATH, with: "session", body: "" } as const,
].filter(({ path }) => path.includes(":"));

/** The path with each of its parameters in turn hostile, and with all. */
function hostilePaths(path: string, hostile: string): string[] {
  const names = path.match(/:[a-z_]+/g) ?? [];
  const filled = (name: string) => (name === ":workspace_id" ? workspaceId : "x");
  const one = names.map((bad) => path.replace(/:[a-z_]+/g, (name) => (name === bad ? hostile : filled(name))));
  return [...new Set([...one, path.replace(/:[a-z_]+/g, hostile)])];
}

async function statusOf({ method, path, headers, body }: Target): Promise<number> {
  const { host, port } = new URL(daemon.url);
  const type = body === "" ? {} : { "content-type": "application/json", "content-length": `${body.length}` };
  const lines = Object.entries({ host, connection: "close", ...type, ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const bytes = Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`, "latin1");
  const answer = await exchangeRaw(Number(port), bytes, { tls: true });
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
}

/** Each path is tried with one in so many of them, the next path with others, and in each run with others. */
const EVERY = effort({ usual: 3, long: 1 });
const FIRST = SEED % EVERY;

describe("a parameter of any path that is hostile", () => {
  for (const [number, { method, path, with: which, body }] of TARGETS.entries()) {
    test(`${method} ${path}`, async () => {
      const chosen = Object.entries(HOSTILE).filter((_, index) => (index + number) % EVERY === FIRST);
      for (const [name, hostile] of chosen) {
        for (const each of hostilePaths(path, hostile)) {
          const target = { method, path: each, body };
          const tooLong = hostile.length > 16_000;
          const unknown = await statusOf({ ...target, headers: {} });
          expect(unknown, `${name}, without credentials`).toBe(tooLong ? 431 : 401);
          const known = await statusOf({ ...target, headers: credentials[which] });
          expect(known, `${name}, with credentials`).toBeGreaterThanOrEqual(200);
          expect(known, `${name}, with credentials`).toBeLessThan(500);
        }
      }
    });
  }

  test("is nothing that the daemon reports as its own failure", async () => {
    expect(await daemon.log()).not.toContain('"internal');
  });
});
