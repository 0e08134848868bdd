/** The disk fails under a running daemon: what the daemon reports, what it keeps, and that it recovers by itself. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { governd, makeWorkspace } from "../cli/governd.ts";
import { type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { expectRecovery, expectUnavailable, FAILURES, isReady, Place, User } from "./daemon-on-failing-disk.ts";
import { CAN_FAIL, ERRNO, FailingLibrary } from "./failing-disk.ts";
import { CAN_MOUNT, SmallDisk } from "./small-disk.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const library = new FailingLibrary();
afterAll(() => library[Symbol.dispose]());

const PASSWORD = { email: "ada@example.com", password: "a long enough password" };
const tokenOf = ({ ready }: RunningDaemon) => ready.sign_up_url?.split("#token=")[1];

const post = (daemon: RunningDaemon, path: string, body: object) =>
  daemon.ask(path, { method: "POST", headers: { origin: new URL(daemon.url).origin }, body: JSON.stringify(body) });

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
  // Its key is known, and stays known when the file of the installation changes.
  expect((await post(daemon, "/account/sign-up", { ...PASSWORD, token: tokenOf(daemon) })).status).toBe(201);
  for (const endMs = performance.now() + 1_500; performance.now() < endMs; await Bun.sleep(50)) {
    await expectUnavailable(await user.write());
    expect((await daemon.ask("/v1/audit/key", { apiKey: user.apiKey })).status).toBe(200);
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
      await expectUnavailable(await user.write(), "outcome_unknown");
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

/** Expects every kind of operation that reads or frees space to succeed and to be recorded, this many times. */
async function expectRecordedReads({ daemon, apiKey }: User, count: number): Promise<void> {
  const reads = ["data/read?agent_id=a&key=k0", "data/list?agent_id=a&limit=3", "audit?agent_id=a&limit=3"];
  for (let i = 0; i < count; i++) {
    const path = `/v1/${reads[i % reads.length]}`;
    const response = await daemon.ask(path, { apiKey });
    expect([i, path, response.status]).toEqual([i, path, 200]);
    if (path.startsWith("/v1/data")) expect(response.headers.get("x-audit-id")).toStartWith("aud_");
  }
}

test.skipIf(!CAN_MOUNT).each([
  // The reserve of 16 MiB, and the small one.
  ["96m", "busy workspaces fill", 20_000],
  ["24m", "another program fills", 1_000],
])("a disk of %s that %s: reads and deletions go on, and are recorded", async (size, filler, words) => {
  using disk = new SmallDisk(size);
  const data = `${disk.path}/data`;
  const [one, two] = [await makeWorkspace(data, "one"), await makeWorkspace(data, "two")];
  // Space that the workspaces do not use, so that there is some to give back.
  await Bun.write(`${disk.path}/spare`, new Uint8Array(2 ** 20 * Math.floor(Number.parseInt(size, 10) / 2 - 4)));
  await using daemon = await startGovernd(data, ["--threads", "2"]);
  const [user, other] = [new User(daemon, one.api_key), new User(daemon, two.api_key)];
  for (let i = 0; i < 20; i++) for (const each of [user, other]) expect((await each.write()).status).toBe(200);
  const reserve = `${data}/disk.reserve`;
  await eventually("space is set aside", () => Bun.file(reserve).exists());
  // All that is left, to the last page.
  if (filler === "another program fills")
    Bun.spawnSync(["dd", "if=/dev/zero", `of=${disk.path}/filler`, "bs=4096"], { stderr: "ignore" });
  // Large writes at once: those on their way when the disk becomes full must not take the reserve either.
  let refused = 0;
  for (let i = 0; i < 200 && refused === 0; i++) {
    const responses = await Promise.all(
      [user, other].flatMap((each) => Array.from({ length: 6 }, () => each.write(words))),
    );
    refused = responses.filter(({ status }) => status !== 200).length;
    for (const response of responses) if (response.status !== 200) await expectUnavailable(response);
  }
  expect(refused).toBeGreaterThan(0);
  await isReady(daemon, 503);
  await expectUnavailable(await user.write());
  await eventually("reads go on", async () => (await user.read("k0")).status === 200);
  for (const each of [user, other]) await expectRecordedReads(each, 100);
  for (const each of [user, other]) {
    const { apiKey } = each;
    expect((await daemon.ask("/v1/data?agent_id=a&key=k19", { method: "DELETE", apiKey })).status).toBe(200);
    each.acknowledged.delete("k19");
    await expectUnavailable(await each.write());
  }
  for (const file of ["filler", "spare"]) rmSync(`${disk.path}/${file}`, { force: true });
  await isReady(daemon, 200);
  for (const each of [user, other]) {
    await each.recovered();
    await each.check();
  }
  await daemon.stop();
  expect(await governd(["verify", data])).toMatchObject({ code: 0 });
});

describe("people are asked to retry", () => {
  test.skipIf(!CAN_FAIL)("when the file of the installation cannot be written", async () => {
    using place = new Place(library);
    const { disk } = place;
    await using daemon = await place.start();
    const signUp = () => post(daemon, "/account/sign-up", { ...PASSWORD, token: tokenOf(daemon) });
    disk.fail({ write: ERRNO.ENOSPC }, "/workspaces/");
    await expectUnavailable(await signUp());
    disk.heal();
    await isReady(daemon, 200);
    expect((await signUp()).status).toBe(201);
  });
});
