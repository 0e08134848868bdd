/** Every line that docs/mcp.md, README.md and the dashboard show to connect a client leads to the tools. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { mcpExample } from "../../src/web/ui/examples/examples.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { olderClient } from "./clients.ts";

const ROOT = join(import.meta.dir, "../..");
const SHOWN = /^```(sh|json) client\n([\s\S]*?)^```$/gm;

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** What a client would send: where to, and the one header that it adds. */
interface Connection {
  url: string;
  header: string;
}

/** Puts the key in place of what stands for it in a shell, in Cursor, in VS Code and for mcp-remote. */
const withKey = (text: string) =>
  text.replace(/\$\{(env:|input:)?(GOVERND_API_KEY|governd-key)\}|\$GOVERND_API_KEY/g, workspace.client.apiKey);

function ofCommand(text: string): Connection {
  const [, url = ""] = /claude mcp add --transport http governd (\S+)/.exec(text) ?? [];
  const [, header = ""] = /--header "([^"]+)"/.exec(text) ?? [];
  return { url, header: withKey(header) };
}

function ofFile(text: string): Connection {
  const { mcpServers, servers } = JSON.parse(text);
  const { url, headers, args } = (mcpServers ?? servers).governd;
  if (args !== undefined) return { url: args[2], header: withKey(args[args.indexOf("--header") + 1]) };
  const [[name, value]] = Object.entries(headers) as [[string, string]];
  return { url, header: withKey(`${name}: ${value}`) };
}

async function expectTools({ url, header }: Connection): Promise<void> {
  const { origin, pathname } = new URL(url);
  expect(["https://localhost:8443", "https://dashboard.example"]).toContain(origin);
  const [, name = "", value = ""] = /^([\w-]+): ?(.+)$/.exec(header) ?? [];
  const anonymous = Object.assign(Object.create(workspace.client), { url: daemon.url });
  await using client = await olderClient(anonymous, { path: pathname, only: { [name]: value } });
  expect(await client.tools()).toHaveLength(11);
}

test.each(["docs/mcp.md", "README.md"])("%s", async (page) => {
  const shown = [...readFileSync(join(ROOT, page), "utf8").matchAll(SHOWN)];
  expect(shown.length).toBe(page === "README.md" ? 1 : 4);
  for (const [, language, text = ""] of shown) await expectTools(language === "sh" ? ofCommand(text) : ofFile(text));
});

test("the dashboard", async () => {
  const at = { origin: "https://dashboard.example", caFile: join(daemon.dataDir, "tls/ca.crt") };
  const shown = mcpExample(at, workspace.client.apiKey).replaceAll("\\\n  ", "");
  expect(shown.startsWith(`export NODE_EXTRA_CA_CERTS=${at.caFile}\n`)).toBe(true);
  await expectTools(ofCommand(shown));
});

const NODE = Bun.which("node");

test.skipIf(NODE === null)("Node trusts the daemon's authority by NODE_EXTRA_CA_CERTS", async () => {
  const code = `fetch(${JSON.stringify(`${daemon.url}/healthz`)}).then((r) => r.text()).then(console.log, () => process.exit(3))`;
  const run = (env: Record<string, string>) => Bun.spawn([NODE as string, "-e", code], { env, stdout: "pipe" });
  expect(await run({}).exited).toBe(3);
  const trusting = run({ NODE_EXTRA_CA_CERTS: join(daemon.dataDir, "tls", "ca.crt") });
  expect(await new Response(trusting.stdout).text()).toContain("ok");
});
