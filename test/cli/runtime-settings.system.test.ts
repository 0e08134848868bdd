import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, copyFileSync, openSync, readFileSync, rmSync } from "node:fs";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { FROM_SOURCE, GOVERND, governdProcess, type RunOptions, startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let temporary: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  temporary = temporaryDirectory();
});
afterEach(() => temporary[Symbol.dispose]());

/** Only Linux shows the environment of a process as a file. */
const onLinux = test.skipIf(process.platform !== "linux");

/** Makes the allocator print its options, each with its value, when a process starts. */
const VERBOSE = { MIMALLOC_VERBOSE: "1" };
const DELAY = "purge_delay";
const INTERVAL = "purge_holes_min_interval";

/** Returns the values of an option of the allocator in each start of the program, in order, ms. */
const valuesOf = (option: string, printed: string): number[] =>
  Array.from(printed.matchAll(new RegExp(`option '${option}': (\\d+)`, "g")), ([, value]) => Number(value));

/** Starts a daemon. Returns its environment, and what its allocator printed. */
async function started(options: RunOptions): Promise<{ environment: string[]; printed: string }> {
  const env = { ...VERBOSE, ...options.env };
  await using daemon = await startGovernd(temporary.join("data"), [], { ...options, env });
  const environment = readFileSync(`/proc/${daemon.pid}/environ`, "utf8").split("\0");
  expect((await daemon.ask("/healthz")).status).toBe(200);
  expect(await daemon.stop()).toMatchObject({ code: 0 });
  return { environment, printed: daemon.said() };
}

onLinux.each([
  ["the binary, or the source", GOVERND],
  ["the source", FROM_SOURCE],
])("a daemon keeps freed memory for two seconds, and sends many requests at once: %s", async (_name, program) => {
  const { environment, printed } = await started({ program });
  const [byDefault, kept, ...more] = valuesOf(DELAY, printed);
  expect(byDefault).toBeLessThan(2_000);
  expect({ kept, more }).toEqual({ kept: 2_000, more: [] });
  expect(valuesOf(INTERVAL, printed).at(-1)).toBe(2_000);
  expect(environment).toContain("BUN_CONFIG_MAX_HTTP_REQUESTS=16384");
  expect(readFileSync("docs/scaling.md", "utf8")).toContain("at most 16,384 requests at the same time");
  expect(environment).toContain("BUN_CONFIG_DNS_TIME_TO_LIVE_SECONDS=1");
  expect(readFileSync("docs/scaling.md", "utf8")).toContain("look a name up again after a second");
  const page = readFileSync("docs/install.md", "utf8");
  const set = environment.filter((line) => /^(MIMALLOC_PURGE|BUN_CONFIG_)/.test(line));
  expect(set.length).toBe(4);
  expect(set.filter((line) => !page.includes(`\`${line}\``))).toEqual([]);
});

onLinux("a setting in the environment is kept", async () => {
  const { environment, printed } = await started({
    env: { MIMALLOC_PURGE_DELAY: "70", BUN_CONFIG_MAX_HTTP_REQUESTS: "300" },
  });
  expect(valuesOf(DELAY, printed)).toEqual([70, 70]);
  expect(valuesOf(INTERVAL, printed).at(-1)).toBe(2_000);
  expect(environment).toContain("BUN_CONFIG_MAX_HTTP_REQUESTS=300");
});

onLinux("a daemon whose environment has all settings starts once, and so does any other command", async () => {
  const env = {
    MIMALLOC_PURGE_DELAY: "70",
    MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "80",
    BUN_CONFIG_MAX_HTTP_REQUESTS: "300",
    BUN_CONFIG_DNS_TIME_TO_LIVE_SECONDS: "5",
  };
  expect(valuesOf(INTERVAL, (await started({ env })).printed)).toEqual([80]);
  const { err } = await governdProcess(["version"], { env: VERBOSE });
  expect(valuesOf(INTERVAL, err)).toHaveLength(1);
});

onLinux.skipIf(process.env.TESTED_BINARY === undefined)(
  "a daemon that cannot start again runs, and says so",
  async () => {
    // A program whose file is gone cannot be started again by its path.
    const copy = temporary.join("governd");
    copyFileSync(GOVERND[0] as string, copy);
    const file = openSync(copy, "r");
    rmSync(copy);
    try {
      const { printed, environment } = await started({ program: [`/proc/${process.pid}/fd/${file}`] });
      expect(printed).toContain("the daemon could not start itself again with the settings of the runtime");
      expect(printed).toContain('"reason":"ENOENT"');
      expect(environment.some((line) => line.startsWith("MIMALLOC_PURGE_DELAY="))).toBe(false);
    } finally {
      closeSync(file);
    }
  },
);
