/** What generators make of the API's document compiles and works, and linters find nothing in the documents. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountRoutes, apiRoutes } from "../../src/serve/http/app.ts";
import { accountJson } from "../../src/serve/http/documents/api/account.ts";
import { openApiJson } from "../../src/serve/http/documents/api/openapi.ts";
import { effort } from "../effort.ts";
import { BLOCKS } from "../integrations/adapters.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { TestDaemon } from "../support/daemon.ts";
import { temporaryDirectory } from "../temporary.ts";
import { minimalProgram } from "./minimal.ts";

const ROOT = join(import.meta.dir, "../..");
const BIN = join(ROOT, "node_modules/.bin");

const folder = temporaryDirectory();
const inFolder = (name: string) => join(folder.path, name);
const DOCUMENTS = [inFolder("api.json"), inFolder("account.json")] as const;

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  writeFileSync(DOCUMENTS[0], await openApiJson(apiRoutes));
  writeFileSync(DOCUMENTS[1], await accountJson(accountRoutes));
  mkdirSync(inFolder("adapters"));
  cpSync(join(import.meta.dir, "programs"), inFolder("programs"), { recursive: true });
  writeFileSync(inFolder("programs/minimal.ts"), minimalProgram());
  for (const [name, code] of BLOCKS) if (name.endsWith(".ts")) writeFileSync(join(inFolder("adapters"), name), code);
  symlinkSync(join(ROOT, "node_modules"), inFolder("node_modules"));
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** Runs a command to its end. Fails with its output unless it succeeds. */
async function run(command: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: folder.path,
    env: { ...process.env, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect({ code, output, errors }, command.join(" ")).toMatchObject({ code: 0 });
  return output + errors;
}

test(
  "generated clients and the adapters compile, and the clients work and send the key in one header",
  async () => {
    const { client } = await daemon.workspace();
    await run([
      process.execPath,
      join(import.meta.dir, "generate.ts"),
      DOCUMENTS[0],
      inFolder("generated"),
      daemon.url,
    ]);
    writeFileSync(inFolder("tsconfig.json"), JSON.stringify(COMPILED));
    await run([process.execPath, join(BIN, "tsc")]);
    writeFileSync(inFolder("ca.crt"), daemon.ca);
    const trusted = { NODE_EXTRA_CA_CERTS: inFolder("ca.crt") };
    const output = await run([process.execPath, inFolder("programs/main.ts"), daemon.url, client.apiKey], trusted);
    const seen = {
      enforced: true,
      stored: true,
      blockedBy: "policy:block_pii",
      detectors: ["phone"],
      value: "one",
      listed: [["a/1", "one"]],
      missing: "entry_not_found",
      refusals: ["data.read", "data.write"],
    };
    expect(JSON.parse(output)).toEqual({ carriers: ["x-api-key"], seen: [seen, seen, seen] });
  },
  PROCESS_TEST_MS,
);

const COMPILED = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "ESNext",
    module: "Preserve",
    moduleResolution: "bundler",
    lib: ["ESNext", "DOM", "DOM.Iterable"],
    types: ["bun"],
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
  include: ["programs", "generated", "adapters"],
};

test(
  "linters find nothing in the documents",
  async () => {
    const redocly = join(ROOT, "node_modules/@redocly/cli/bin/cli.js");
    const quiet = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
    const found = await run([process.execPath, redocly, "lint", "--format=summary", ...DOCUMENTS], quiet);
    expect(found).not.toMatch(/warning|error/i);
    writeFileSync(inFolder("rules.json"), JSON.stringify({ extends: ["spectral:oas"] }));
    const spectral = join(ROOT, "node_modules/@stoplight/spectral-cli/dist/index.js");
    const rules = ["--ruleset", inFolder("rules.json"), "--fail-severity=hint"];
    const most = effort({ usual: 1, long: DOCUMENTS.length });
    expect(await run([process.execPath, spectral, "lint", ...rules, ...DOCUMENTS.slice(0, most)])).toContain(
      "No results",
    );
  },
  PROCESS_TEST_MS,
);
