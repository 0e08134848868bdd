/**
 * The image without an engine: the last stage of the Dockerfile is read, and what it says is run in a
 * directory that holds the binary, the C library and nothing else.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chownSync, copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { BINARY, canInstall, librariesOf, runIn, startDaemon } from "./root.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const ROOT = join(import.meta.dir, "../..");
/** Instructions of the Dockerfile, continued lines joined, comments left out. */
const INSTRUCTIONS = readFileSync(join(ROOT, "Dockerfile"), "utf8")
  .replace(/\\\n/g, " ")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => {
    const [, name = "", rest = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
    return { name, rest: rest.trim() };
  });
const LAST_STAGE = INSTRUCTIONS.slice(INSTRUCTIONS.findLastIndex(({ name }) => name === "FROM"));

/** The one instruction of this name in the last stage. */
function the(wanted: string): string {
  const found = LAST_STAGE.filter(({ name }) => name === wanted);
  expect(found).toHaveLength(1);
  return found[0]?.rest as string;
}

const words = (text: string) => JSON.parse(text) as string[];
const environment = () =>
  Object.fromEntries(
    the("ENV")
      .split(/\s+/)
      .map((pair) => pair.split("=") as [string, string]),
  );

describe("the Dockerfile", () => {
  test("builds with the Bun that the project is for", () => {
    const bun = INSTRUCTIONS.find(({ name, rest }) => name === "ARG" && rest.startsWith("BUN_IMAGE="));
    expect(bun?.rest).toBe(`BUN_IMAGE=oven/bun:${manifest.engines.bun}`);
  });

  test("runs as an unprivileged user, on a volume, with a health check and an end by SIGTERM", () => {
    expect(the("USER")).toBe("65532:65532");
    expect(the("VOLUME")).toBe(environment().GOVERND_DATA_DIR as string);
    expect(the("STOPSIGNAL")).toBe("SIGTERM");
    expect(the("HEALTHCHECK")).toEndWith('CMD ["/usr/local/bin/governd", "health"]');
    expect(the("EXPOSE")).toBe(environment().GOVERND_LISTEN?.split(":")[1] as string);
  });

  test("sends no secrets and no built files into the build", () => {
    const ignored = readFileSync(join(ROOT, ".dockerignore"), "utf8").split("\n");
    expect(ignored).toEqual(expect.arrayContaining(["governd-data", "**/node_modules", "dist", ".git"]));
  });
});

describe.skipIf(!canInstall)("what the image holds", () => {
  const temporary = temporaryDirectory();
  const root = temporary.join("root");
  const data = temporary.join("data");

  beforeAll(() => {
    for (const { name, rest } of LAST_STAGE) {
      if (name !== "COPY") continue;
      const [from = "", to = ""] = rest.split(/\s+/).filter((word) => !word.startsWith("--"));
      const target = join(root, to);
      if (from.endsWith("/governd")) put(BINARY as string, target);
      else mkdirSync(target, { recursive: true });
    }
    for (const library of librariesOf(BINARY as string)) put(library, join(root, library));
    mkdirSync(data);
    chownSync(data, 65_532, 65_532);
  });
  afterAll(() => temporary[Symbol.dispose]());

  function put(from: string, to: string): void {
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, to);
  }

  test("serves from a read-only root as a user that has no name, and says that it is healthy", async () => {
    const health = words(the("HEALTHCHECK").slice(the("HEALTHCHECK").indexOf("[")));
    const daemon = [...words(the("ENTRYPOINT")), ...words(the("CMD"))];
    // There is no shell in the image: BusyBox is lent to start two processes of it.
    mkdirSync(temporary.join("tools"));
    copyFileSync(Bun.which("busybox") as string, temporary.join("tools", "busybox"));
    const script = [
      'PATH="" ; b=/tools/busybox',
      "touch_root() { $b touch /touched 2>/dev/null && echo root was written to; }; touch_root || true",
      "$b id -u",
      ...startDaemon(daemon.join(" "), health.join(" "), "$b "),
      `${health.join(" ")} --json`,
      `kill -TERM $daemon; wait $daemon && echo stopped well`,
      `${health.join(" ")} >/dev/null || echo not healthy`,
    ];
    const system = {
      root,
      scratch: temporary.path,
      shows: { "/tools": temporary.join("tools") },
      lends: { [the("VOLUME")]: data },
      readOnly: true,
    };
    const { code, out, err } = await runIn(system, ["/tools/busybox", "sh", "-euc", script.join("\n")], environment());
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const url = "https://localhost:8443";
    expect(out).toBe(
      `65532\n${JSON.stringify({ healthy: true, url, alive: true, ready: true, reason: null })}\nstopped well\nnot healthy\n`,
    );
    expect(readdirSync(data)).toEqual(expect.arrayContaining(["installation.json", "keys", "tls", "workspaces"]));
  });
});
