/** The disk fails under a running daemon: what the daemon reports, what it keeps, and that it recovers by itself. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { governd, makeWorkspace } from "../cli/governd.ts";
import { startGovernd } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { expectRecovery, expectUnavailable, FAILURES, isReady, Place, User } from "./daemon-on-failing-disk.ts";
import { CAN_FAIL, ERRNO, FailingLibrary } from "./failing-disk.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const library = new FailingLibrary();
afterAll(() => library[Symbol.dispose]());

test.skipIf(!CAN_FAIL).each(FAILURES)(
  "%s: writes are refused, nothing acknowledged is lost, and they resume by themselves",
  (_, failing) => expectRecovery(library, failing, 0),
);

test.skipIf(!CAN_FAIL)("one workspace's files fail: the others do not notice", async () => {
  using place = new Place(library);
  const { disk } = place;
  const [one, two] = [await place.made("one"), await place.made("two")];
  await using daemon = await place.start();
  const [user, other] = [new User(daemon, one.api_key), new User(daemon, two.api_key)];
  await user.write();
  disk.fail({ write: ERRNO.EIO, sync: ERRNO.EIO }, one.workspace_id);
  for (let i = 0; i < 20; i++) {
    await expectUnavailable(await user.write());
    expect((await other.write()).status).toBe(200);
  }
  disk.heal();
  await user.recovered();
  await user.check();
});

test.skipIf(!CAN_FAIL)(
  "killed after an fsync that failed, the log is whole, and nothing acknowledged is lost",
  async () => {
    using place = new Place(library);
    const { disk } = place;
    const { api_key: apiKey } = await place.made("one");
    let user: User;
    {
      await using daemon = await place.start();
      user = new User(daemon, apiKey);
      for (let i = 0; i < 5; i++) await user.write();
      disk.fail({ sync: ERRNO.EIO }, "/workspaces/");
      await expectUnavailable(await user.write());
      await daemon.stop("SIGKILL");
    }
    disk.heal();
    expect(await governd(["verify", place.data])).toMatchObject({ code: 0 });
    await using daemon = await place.start();
    const later = new User(daemon, apiKey);
    for (const [key, value] of user.acknowledged) {
      expect(await (await later.read(key)).json()).toMatchObject({ key, value });
    }
  },
);

/** A disk of its own needs the right to mount one. */
const CAN_MOUNT =
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  (() => {
    using probe = temporaryDirectory();
    const { exitCode } = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=64k", "none", probe.path]);
    if (exitCode === 0) Bun.spawnSync(["umount", probe.path]);
    return exitCode === 0;
  })();

test.skipIf(!CAN_MOUNT)("a small disk that is filled: reads and deletions go on, and are recorded", async () => {
  using directory = temporaryDirectory();
  const disk = directory.join("disk");
  mkdirSync(disk);
  Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=32m", "none", disk]);
  try {
    const data = `${disk}/data`;
    const one = await makeWorkspace(data, "one");
    await using daemon = await startGovernd(data, ["--threads", "1"]);
    const user = new User(daemon, one.api_key);
    for (let i = 0; i < 20; i++) expect((await user.write()).status).toBe(200);
    const reserve = `${data}/disk.reserve`;
    await eventually("space is set aside", () => Bun.file(reserve).exists());
    // All that is left, to the last page.
    Bun.spawnSync(["dd", "if=/dev/zero", `of=${disk}/filler`, "bs=4096"], { stderr: "ignore" });
    let status = 200;
    for (let i = 0; i < 500 && status === 200; i++) status = (await user.write(1_000)).status;
    expect(status).toBe(503);
    await isReady(daemon, 503);
    await expectUnavailable(await user.write());
    await eventually("reads go on", async () => (await user.read("k0")).status === 200);
    for (let i = 0; i < 300; i++) {
      const answer = await user.read(`k${i % 20}`);
      expect([i, answer.status]).toEqual([i, 200]);
      expect(answer.headers.get("x-audit-id")).toStartWith("aud_");
    }
    const deleted = await daemon.ask("/v1/data?agent_id=a&key=k19", { method: "DELETE", apiKey: one.api_key });
    expect(deleted.status).toBe(200);
    user.acknowledged.delete("k19");
    await expectUnavailable(await user.write());
    rmSync(`${disk}/filler`);
    await isReady(daemon, 200);
    await user.recovered();
    await user.check();
    await daemon.stop();
    expect(await governd(["verify", data])).toMatchObject({ code: 0 });
  } finally {
    Bun.spawnSync(["umount", "-l", disk]);
  }
});

test.skipIf(!CAN_FAIL)("the control database cannot be written: people are asked to retry", async () => {
  using place = new Place(library);
  const { disk } = place;
  await using daemon = await place.start();
  const token = daemon.ready.sign_up_url?.split("#token=")[1];
  const signUp = () =>
    daemon.ask("/account/sign-up", {
      method: "POST",
      headers: { origin: new URL(daemon.url).origin },
      body: JSON.stringify({ email: "ada@example.com", password: "a long enough password", token }),
    });
  disk.fail({ write: ERRNO.ENOSPC }, "/control.db");
  await expectUnavailable(await signUp());
  disk.heal();
  expect((await signUp()).status).toBe(201);
});
