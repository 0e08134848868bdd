/** Only the workspace whose file is damaged is down, and metrics and logs name it. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../eventually.ts";
import { assertMatchesOpenApi } from "../http/support/openapi.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { Scrape } from "./scrape.ts";

setDefaultTimeout(PROCESS_TEST_MS);

test("a damaged workspace is named to the operator, counted in the metrics, and up again once its file is restored", async () => {
  await using daemon = await TestDaemon.start({ flags: { metrics_listen: "127.0.0.1:0" } });
  const [whole, damaged] = [await daemon.workspace("whole"), await daemon.workspace("damaged")];
  await damaged.client.write("a", "k", "v");
  await daemon.restart();
  const file = join(daemon.dataDir, "workspaces", `${damaged.id}.db`);
  for (const beside of [`${file}-wal`, `${file}-shm`]) rmSync(beside, { force: true });
  const before = readFileSync(file);
  writeFileSync(file, "this is no database, and long enough that nobody takes it for an empty one");

  const broken = daemon.client(damaged.client.apiKey);
  const fine = daemon.client(whole.client.apiKey);
  expect((await broken.write("a", "k", "v")).status).toBe(503);
  expect((await fine.write("a", "k", "v")).status).toBe(200);

  const detail = await fetch(new URL("/readyz", daemon.metricsUrl as string));
  expect(detail.status).toBe(200);
  expect(await detail.json()).toMatchObject({
    status: "ready",
    workspaces_down: [{ workspace_id: damaged.id, reason: expect.stringMatching(/./), since: expect.any(String) }],
  });
  const brief = await fine.send({ path: "/readyz", key: null });
  expect(brief.json).toEqual({ status: "ready", workspaces_down: 1 });
  assertMatchesOpenApi("GET", "/readyz", 200, brief.json);
  expect(brief.text).not.toContain(damaged.id);
  const down = await Scrape.of(daemon.metricsUrl as string);
  expect(down.value("governd_workspaces_down")).toBe(1);
  expect(down.value(`governd_workspace_down{workspace_id="${damaged.id}"}`)).toBe(1);
  expect(await daemon.log()).toContain("a workspace is down");

  // Renamed into place: the daemon reads it every second.
  writeFileSync(`${file}.good`, before);
  renameSync(`${file}.good`, file);
  expect((await broken.write("a", "k", "v")).status).toBe(200);
  expect((await Scrape.of(daemon.metricsUrl as string)).value("governd_workspaces_down")).toBe(0);
  expect(await daemon.log()).toContain("a workspace recovered");
});

test("what cannot be written is not ready", async () => {
  await using daemon = await TestDaemon.start({ flags: { metrics_listen: "127.0.0.1:0" } });
  const readyz = async () => fetch(new URL("/readyz", daemon.metricsUrl as string));
  expect((await readyz()).status).toBe(200);
  // The probe's own name is taken by a directory: the file cannot be written.
  const probe = join(daemon.dataDir, `.ready-${process.pid}`);
  await Bun.$`mkdir ${probe}`.quiet();
  // It is looked once a second.
  await eventually("it is not ready", async () => (await readyz()).status === 503);
  const { checks } = (await (await readyz()).json()) as { checks: { storage: string } };
  expect(checks.storage).toBe("not writable");
  rmSync(probe, { recursive: true });
  await eventually("it is ready again", async () => (await readyz()).status === 200);
});
