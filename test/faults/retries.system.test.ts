/** A write whose fsync failed is sent again with its idempotency key: it is carried out once, whatever happens in between. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { governd } from "../cli/governd.ts";
import type { RunningDaemon } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import { WorkspaceView } from "../support/workspace-view.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { expectUnavailable, Place } from "./daemon-on-failing-disk.ts";
import { CAN_FAIL, ERRNO, FailingLibrary } from "./failing-disk.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const library = new FailingLibrary();
afterAll(() => library[Symbol.dispose]());

test.skipIf(!CAN_FAIL).each(["heals", "heals after the daemon was killed"])("the disk %s", async (how) => {
  using place = new Place(library);
  const { disk } = place;
  const { api_key: apiKey, workspace_id: id } = await place.made("one");
  const checkpoint = (daemon: RunningDaemon, key: string) =>
    daemon.ask("/v1/checkpoints", {
      ...{ method: "POST", apiKey, body: JSON.stringify({ agent_id: "a" }) },
      headers: { "idempotency-key": key },
    });
  let daemon = await place.start();
  try {
    const body = JSON.stringify({ agent_id: "a", key: "k", value: "v" });
    expect((await daemon.ask("/v1/data/write", { method: "POST", apiKey, body })).status).toBe(200);
    disk.fail({ sync: ERRNO.EIO }, "/workspaces/");
    await expectUnavailable(await checkpoint(daemon, "one"), "outcome_unknown");
    if (how !== "heals") {
      await daemon.stop("SIGKILL");
      daemon = await place.start();
    }
    disk.heal();
    await eventually("it is done", async () => (await checkpoint(daemon, "one")).status === 201);
    expect((await checkpoint(daemon, "one")).headers.get("idempotent-replayed")).toBe("true");
    await daemon.stop();
  } finally {
    await daemon[Symbol.asyncDispose]();
  }
  using view = new WorkspaceView(join(place.data, "workspaces", `${id}.db`));
  const made = view.eventsAfter(-1).filter(({ operation }) => operation === "checkpoint.create");
  expect(made.map(({ result }) => result)).toEqual(["ok"]);
  expect(await governd(["verify", place.data])).toMatchObject({ code: 0 });
});
