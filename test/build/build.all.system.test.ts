import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Version } from "@cyclonedx/cyclonedx-library/Spec";
import { JsonStrictValidator } from "@cyclonedx/cyclonedx-library/Validation";
import manifest from "../../package.json" with { type: "json" };
import { replaceLoader } from "../../scripts/build/libsql-plugin.ts";
import { hostTarget, lockedFiles, TARGETS } from "../../scripts/build/targets.ts";
import { governdProcess, startGovernd } from "../cli/governd-process.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { hasChromium, Stage } from "../web/support/browser.ts";
import { signUp } from "../web/support/people.ts";
import { platformOf } from "./binary-format.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const ROOT = join(import.meta.dir, "../..");
/** Building for every platform fetches each one's runtime, so that is done only when asked for. */
const ALL_TARGETS = process.env.TEST_TARGETS === "all";
/** What the build made for all tests of this run. */
const { TESTED_BINARY } = process.env;

const temporary = temporaryDirectory();
afterAll(() => temporary[Symbol.dispose]());

async function build(...words: string[]): Promise<void> {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "scripts/build.ts", ...words], {
    cwd: ROOT,
    stderr: "pipe",
    stdout: "ignore",
  });
  if (exitCode !== 0) throw new Error(stderr.toString());
}

describe("the binary, in an empty directory with an empty environment", () => {
  const home = temporary.join("elsewhere");
  const binary = join(home, "renamed");
  const program = [binary];
  const bill =
    TESTED_BINARY === undefined ? temporary.join("governd.cdx.json") : join(ROOT, `${TESTED_BINARY}.cdx.json`);

  beforeAll(async () => {
    mkdirSync(home);
    if (TESTED_BINARY !== undefined) return copyFileSync(join(ROOT, TESTED_BINARY), binary);
    await build("--outfile", temporary.join("governd"));
    renameSync(temporary.join("governd"), binary);
  }, PROCESS_TEST_MS);

  test("is one file", () => {
    expect(readdirSync(temporary.path).filter((name) => join(temporary.path, name) !== bill)).toEqual(["elsewhere"]);
    expect(readdirSync(home)).toEqual(["renamed"]);
  });

  test("has a bill of materials that is CycloneDX, and lists every dependency of the program", async () => {
    const text = readFileSync(bill, "utf8");
    expect(await new JsonStrictValidator(Version.v1dot6).validate(text)).toBeNull();
    const { components } = JSON.parse(text) as { components: { purl: string; licenses: unknown[] }[] };
    const purls = components.map(({ purl }) => purl);
    for (const [name, version] of Object.entries(manifest.dependencies)) {
      expect(purls).toContain(`pkg:npm/${name.replace("@", "%40")}@${version}`);
    }
    expect(purls.filter((purl) => purl.startsWith("pkg:npm/%40oven/"))).toHaveLength(1);
    expect(components.filter(({ licenses }) => licenses === undefined)).toEqual([]);
    expect(text).toMatch(/"cpe": "cpe:2\.3:a:sqlite:sqlite:3\.\d+\.\d+:/);
    for (const name of Object.keys(manifest.devDependencies).filter((one) => one.includes("playwright"))) {
      expect(text).not.toContain(name);
    }
  });

  test.skipIf(!hasChromium)("serves the dashboard, from the one-time link to the workspace", async () => {
    await using stage = await Stage.open({ program, cwd: home });
    const page = await (await stage.person()).newPage();
    const kept = await signUp(page, stage.daemon.ready.sign_up_url as string);
    await page.goto(`/workspaces/${kept.workspaceId}/proof`);
    await page.getByRole("button", { name: "Verify the whole workspace" }).click();
    await page.getByText("Everything holds.").waitFor();
  });

  test("governs from the first workspace to the stop", async () => {
    const made = await governdProcess(["workspace", "create", "--name", "One", "--json"], { program, cwd: home });
    expect(made.err).toBe("");
    const { workspace_id, api_key: apiKey } = made.json<{ workspace_id: string; api_key: string }>();
    const data = join(home, "governd-data");
    await using daemon = await startGovernd(data, [], { program, cwd: home });
    const ask = async (path: string, method = "GET", body?: unknown) => {
      const answer = await daemon.ask(path, { apiKey, method, ...(body ? { body: JSON.stringify(body) } : {}) });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const config = await ask("/v1/config/a", "PUT", { policies: { block_secrets: true } });
    expect(config).toMatchObject({ status: 200, body: { version: "v1" } });
    const entry = { agent_id: "a", key: "greeting", value: "good morning to everybody" };
    expect(await ask("/v1/data/write", "POST", entry)).toMatchObject({ status: 200, body: { allowed: true } });
    const secret = {
      agent_id: "a",
      key: "k",
      value: `-----BEGIN PRIVATE KEY-----\n${"MIIE".repeat(20)}\n-----END PRIVATE KEY-----`,
    };
    expect(await ask("/v1/data/write", "POST", secret)).toMatchObject({
      status: 200,
      body: { allowed: false, blocked_by: "policy:block_secrets" },
    });
    const found = await ask("/v1/data/search", "POST", { agent_id: "a", query: "morning" });
    expect(found).toMatchObject({ status: 200, body: { data: [{ key: "greeting" }] } });
    const checkpoint = await ask("/v1/checkpoints", "POST", { agent_id: "a", label: "l" });
    expect(checkpoint.status).toBe(201);
    expect((await ask(`/v1/checkpoints/${checkpoint.body.id}`)).status).toBe(200);
    expect(await ask("/v1/audit/verify", "POST", { agent_id: "a" })).toMatchObject({ body: { valid: true } });
    const exported = await ask("/v1/audit/export", "POST", { scope: "workspace", format: "json" });
    expect(exported.body.format).toBe("governd.audit-export/1");
    expect((await daemon.ask("/v1/openapi.json")).status).toBe(200);
    expect((await daemon.ask("/v1/docs")).status).toBe(200);

    const verified = await governdProcess(["verify", join(data, "workspaces", `${workspace_id}.db`)], {
      program,
      cwd: home,
    });
    expect({ code: verified.code, err: verified.err }).toEqual({ code: 0, err: "" });
    const { code, err } = await daemon.stop();
    expect({ code, troubled: err.includes('"level":"error"') }).toEqual({ code: 0, troubled: false });
  });

  test("heeds no file of the directory that it is started in, but its own settings", async () => {
    const place = temporary.join("hostile");
    mkdirSync(join(place, "serve", "threads"), { recursive: true });
    writeFileSync(join(place, ".env"), "GOVERND_LISTEN=nonsense\n");
    writeFileSync(join(place, "bunfig.toml"), 'preload = ["./preload.js"]\n');
    for (const name of ["preload.js", "serve/threads/worker.js", "serve/threads/worker.ts"]) {
      writeFileSync(join(place, name), 'throw new Error("hijacked");');
    }
    await using daemon = await startGovernd(join(place, "data"), [], { program, cwd: place });
    expect((await daemon.ask("/v1/audit")).status).toBe(401);
    expect((await daemon.stop()).code).toBe(0);
  });

  test("says so when it cannot unpack libSQL's native part", async () => {
    const { code, out, err } = await governdProcess(["version"], { program, env: { TMPDIR: temporary.join("none") } });
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("Set TMPDIR to a directory");
    expect(err.trimEnd().split("\n")).toHaveLength(1);
  });

  test("starts where it can write nothing but its data directory", async () => {
    const place = temporary.join("read-only");
    mkdirSync(place);
    chmodSync(place, 0o555);
    await using daemon = await startGovernd(temporary.join("data"), [], { program, cwd: place });
    expect(daemon.url).toStartWith("https://");
  });
});

describe("the build", () => {
  test("knows this machine's platform", () => {
    expect(Object.keys(TARGETS)).toContain(hostTarget());
  });

  test("refuses a loader of libSQL that it does not know", () => {
    for (const name of ["index.js", "promise.js"]) {
      const loader = readFileSync(join(ROOT, "node_modules/libsql", name), "utf8");
      expect(replaceLoader(loader, "/native.node")).toContain('return require("/native.node");');
      for (const changed of [loader.replace("familySync()", "family()"), loader.replace("@libsql/", "@turso/"), ""]) {
        expect(() => replaceLoader(changed, "/native.node")).toThrow("adapt it to the new one");
      }
    }
  });

  test("refuses a target that there is not", async () => {
    await expect(build("--target", "vax")).rejects.toThrow("no target vax: choose among linux-x64,");
  });

  const platforms: Record<string, string> = {
    "linux-x64": "linux x64 glibc",
    "linux-x64-musl": "linux x64 musl",
    "linux-arm64": "linux arm64 glibc",
    "linux-arm64-musl": "linux arm64 musl",
    "darwin-x64": "darwin x64",
    "darwin-arm64": "darwin arm64",
  };
  for (const [name, target] of Object.entries(TARGETS)) {
    test.skipIf(!ALL_TARGETS)(
      `puts the right runtime and native file together for ${name}`,
      async () => {
        const outfile = temporary.join(`governd-${name}`);
        await build("--target", name, "--outfile", outfile);
        const program = readFileSync(outfile);
        const native = readFileSync(lockedFiles(target).native);
        expect(platformOf(program.subarray(0, 64 * 1024))).toBe(platforms[name] as string);
        expect(platformOf(native)).toBe(platforms[name] as string);
        expect(program.includes(native)).toBe(true);
      },
      PROCESS_TEST_MS,
    );
  }
});
