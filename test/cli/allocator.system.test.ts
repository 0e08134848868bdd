import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { FROM_SOURCE, GOVERND, governdProcess, type RunOptions, startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let temporary: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  temporary = temporaryDirectory();
});
afterEach(() => temporary[Symbol.dispose]());

/** Makes the allocator print its options, each with its value, when a process starts. */
const VERBOSE = { MIMALLOC_VERBOSE: "1" };
const DELAY = "purge_delay";
const INTERVAL = "purge_holes_min_interval";

/** Returns the values of an allocator's option in each start of the program, in order, ms. */
const valuesOf = (option: string, printed: string): number[] =>
  Array.from(printed.matchAll(new RegExp(`option '${option}': (\\d+)`, "g")), ([, value]) => Number(value));

/** Starts a daemon, and returns what its allocator printed. */
async function printedBy(options: RunOptions): Promise<string> {
  await using daemon = await startGovernd(temporary.join("data"), [], {
    ...options,
    env: { ...VERBOSE, ...options.env },
  });
  expect((await daemon.ask("/healthz")).status).toBe(200);
  expect(await daemon.stop()).toMatchObject({ code: 0 });
  return daemon.said();
}

test.each([
  ["the binary, or the source", GOVERND],
  ["the source", FROM_SOURCE],
])("a daemon keeps freed memory for two seconds: %s", async (_name, program) => {
  const printed = await printedBy({ program });
  const [byDefault, kept, ...more] = valuesOf(DELAY, printed);
  expect(byDefault).toBeLessThan(2_000);
  expect({ kept, more }).toEqual({ kept: 2_000, more: [] });
  expect(valuesOf(INTERVAL, printed).at(-1)).toBe(2_000);
});

test("what the environment says stays", async () => {
  const printed = await printedBy({ env: { MIMALLOC_PURGE_DELAY: "70" } });
  expect(valuesOf(DELAY, printed)).toEqual([70, 70]);
  expect(valuesOf(INTERVAL, printed).at(-1)).toBe(2_000);
});

test("a daemon whose environment has both settings starts once, and so does any other command", async () => {
  const env = { MIMALLOC_PURGE_DELAY: "70", MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "80" };
  expect(valuesOf(INTERVAL, await printedBy({ env }))).toEqual([80]);
  const { err } = await governdProcess(["version"], { env: VERBOSE });
  expect(valuesOf(INTERVAL, err)).toHaveLength(1);
});
