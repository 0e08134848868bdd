/** SIGHUP makes a running daemon read its settings again. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { makeWorkspace } from "./governd.ts";
import { type RunningDaemon, startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const temporary = temporaryDirectory();
const config = temporary.join("governd.toml");
let daemon: RunningDaemon;
let apiKey: string;

beforeAll(async () => {
  const data = temporary.join("data");
  apiKey = (await makeWorkspace(data)).api_key;
  writeFileSync(config, "");
  daemon = await startGovernd(data, ["--config", config]);
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  temporary[Symbol.dispose]();
});

let rounds = 0;

/** Saves other settings, sends the signal, and returns what the daemon logs, up to the line with this message. */
async function reload(lines: readonly string[], message: string): Promise<Record<string, string>[]> {
  const before = daemon.said().length;
  // Each reload changes this setting, so there is always a change to log.
  const marker = `idle_timeout = "${5 + ++rounds}s"`;
  writeFileSync(config, [marker, ...lines].join("\n"));
  daemon.signal("SIGHUP");
  const since = () => daemon.said().slice(before);
  await eventually(`it says: ${message}`, () => since().includes(message) && since().endsWith("\n"));
  return since()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const IN_FORCE = "new settings are in force";

const write = (key: string, value: string) =>
  daemon.ask("/v1/data/write", { method: "POST", apiKey, body: JSON.stringify({ agent_id: "a", key, value }) });

test("limits of requests, quotas and the log apply at once, and back", async () => {
  const large = "x".repeat(100_000);
  expect((await write("large", large)).status).toBe(200);
  const said = await reload(
    ['max_body = "64KiB"', "rate_limit = 7", "quota_entries = 1", 'log_level = "debug"'],
    IN_FORCE,
  );
  expect(said.find(({ message }) => message === IN_FORCE)?.settings).toBe(
    "rate_limit, idle_timeout, max_body, quota_entries, log_level",
  );
  expect((await write("large", large)).status).toBe(413);
  const full = await write("another", "v");
  expect([full.status, full.headers.get("ratelimit-policy")]).toEqual([507, '"key";q=7;w=1']);
  expect((await daemon.ask("/v1/agents", { apiKey })).status).toBe(200);
  await eventually("requests are logged", () => daemon.said().includes('"level":"debug"'));
  await reload([], IN_FORCE);
  const free = await write("another", large);
  expect([free.status, free.headers.get("ratelimit-policy")]).toEqual([200, null]);
});

test("who may sign up, and what the daemon does on schedule", async () => {
  const signup = async () => ((await (await daemon.ask("/account/status")).json()) as { signup: string }).signup;
  expect(await signup()).toBe("invite");
  const backups = temporary.join("backups");
  await reload(['signup = "closed"', `backup_dir = ${JSON.stringify(backups)}`, 'backup_every = "1h"'], IN_FORCE);
  expect(await signup()).toBe("closed");
  await reload(['signup = "open"'], IN_FORCE);
  expect(await signup()).toBe("open");
});

test("what needs a new start is named, and the rest applies", async () => {
  const said = await reload(['listen = "127.0.0.1:1"', "threads = 5", "rate_limit = 9"], "from the next start");
  const waiting = said.find(({ message }) => message === "new settings apply from the next start");
  // A flag sets the address, and takes precedence over the file.
  expect([waiting?.level, waiting?.settings]).toEqual(["warn", "threads"]);
  expect((await write("k", "v")).headers.get("ratelimit-policy")).toBe('"key";q=9;w=1');
});

test("a mistake changes nothing", async () => {
  await reload(["rate_limit = 9"], IN_FORCE);
  const said = await reload(["rate_limit = 3", 'max_body = "many"'], "those in force stay");
  expect(said[0]?.reason).toMatch(/There is a mistake in the settings:\n {2}max_body \(.*governd\.toml\): must be/);
  expect((await write("k", "v")).headers.get("ratelimit-policy")).toBe('"key";q=9;w=1');
});

test("no request is lost while settings change again and again, one after the other", async () => {
  await reload(["rate_limit = 0"], IN_FORCE);
  let ended = false;
  let sent = 0;
  const clients = Array.from({ length: 4 }, async (_, client) => {
    while (!ended) {
      expect((await write(`loop-${client}`, `${sent++}`)).status).toBe(200);
    }
  });
  for (const limit of [100_000, 200_000, 300_000]) await reload([`rate_limit = ${limit}`], IN_FORCE);
  ended = true;
  await Promise.all(clients);
  expect(sent).toBeGreaterThan(10);
  expect((await daemon.stop()).code).toBe(0);
});
