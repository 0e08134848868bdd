/** The disk fails under a running daemon: what the daemon reports, what it keeps, and that it recovers by itself. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { governd, type MadeWorkspace, makeWorkspace } from "../cli/governd.ts";
import { type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { CAN_FAIL, ERRNO, type Failing, FailingLibrary } from "./failing-disk.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const library = new FailingLibrary();
afterAll(() => library[Symbol.dispose]());

/** A data directory on a disk that can fail. */
class Place implements Disposable {
  readonly #directory: TemporaryDirectory = temporaryDirectory();
  readonly disk = library.disk(this.#directory.join("control"));
  readonly data: string;

  constructor() {
    this.data = this.#directory.join("data");
  }

  made(name: string): Promise<MadeWorkspace> {
    return makeWorkspace(this.data, name);
  }

  start(): Promise<RunningDaemon> {
    return startGovernd(this.data, ["--threads", "1"], { env: this.disk.env });
  }

  [Symbol.dispose](): void {
    this.#directory[Symbol.dispose]();
  }
}

/** Asks the daemon on behalf of one workspace, and remembers what it acknowledged. */
class User {
  readonly acknowledged = new Map<string, string>();
  readonly refused = new Set<string>();
  #count = 0;

  constructor(
    readonly daemon: RunningDaemon,
    readonly apiKey: string,
  ) {}

  async write(size = 10): Promise<Response> {
    const key = `k${this.#count++}`;
    const value = `${key} `.repeat(size);
    const body = JSON.stringify({ agent_id: "a", key, value });
    const response = await this.daemon.ask("/v1/data/write", { method: "POST", body, apiKey: this.apiKey });
    if (response.status === 200) this.acknowledged.set(key, value);
    else this.refused.add(key);
    return response;
  }

  read(key: string): Promise<Response> {
    return this.daemon.ask(`/v1/data/read?agent_id=a&key=${key}`, { apiKey: this.apiKey });
  }

  /** Everything that was acknowledged is there, and nothing else. */
  async check(): Promise<void> {
    for (const [key, value] of this.acknowledged) {
      expect(await (await this.read(key)).json()).toMatchObject({ key, value });
    }
    for (const key of this.refused) expect((await this.read(key)).status).toBe(404);
  }

  recovered(): Promise<void> {
    return eventually("writes resume", async () => (await this.write()).status === 200);
  }
}

const statusOf = async (daemon: RunningDaemon, path: string) => (await daemon.ask(path)).status;

const isReady = (daemon: RunningDaemon, wanted: number) =>
  eventually(`/readyz answers ${wanted}`, async () => (await statusOf(daemon, "/readyz")) === wanted);

async function expectUnavailable(response: Response): Promise<void> {
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(await response.json()).toMatchObject({ code: "unavailable" });
}

/** Longer than a daemon in trouble has to be left alone until it gives back memory, and what hangs on that. */
const LASTING_MS = 3_500;

const FAILURES: readonly (readonly [string, Failing])[] = [
  ["a full disk", { write: ERRNO.ENOSPC }],
  ["a full disk that takes no new files either", { write: ERRNO.ENOSPC, open: ERRNO.ENOSPC }],
  ["a disk that became read-only", { write: ERRNO.EROFS, open: ERRNO.EROFS, sync: ERRNO.EROFS }],
  ["a failing fsync", { sync: ERRNO.EIO }],
  ["writes that fail", { write: ERRNO.EIO }],
  ["a disk that fails altogether", { write: ERRNO.EIO, sync: ERRNO.EIO, read: ERRNO.EIO, open: ERRNO.EIO }],
];

describe
  .skipIf(!CAN_FAIL)
  .each(
    FAILURES.flatMap(([name, failing]) => [
      [name, failing, 0] as const,
      [`${name}, for a while in which nobody asks`, failing, LASTING_MS] as const,
    ]),
  )("%s", (_, failing, lastsMs) => {
  test("writes are refused, nothing acknowledged is lost, and they resume by themselves", async () => {
    using place = new Place();
    const { disk } = place;
    const [one, two] = [await place.made("one"), await place.made("two")];
    await using daemon = await place.start();
    const [user, other] = [new User(daemon, one.api_key), new User(daemon, two.api_key)];
    for (let i = 0; i < 5; i++) for (const each of [user, other]) expect((await each.write()).status).toBe(200);

    disk.fail(failing, "/workspaces/");
    for (let i = 0; i < 8; i++) for (const each of [user, other]) await expectUnavailable(await each.write());
    await isReady(daemon, 503);
    expect(await statusOf(daemon, "/healthz")).toBe(200);
    await Bun.sleep(lastsMs);
    // What leaves no trace needs no disk to write to.
    const key = await daemon.ask("/v1/audit/key", { apiKey: one.api_key });
    if (!("read" in failing)) expect(key.status).toBe(200);

    disk.heal();
    // Known without anybody asking.
    await isReady(daemon, 200);
    await user.recovered();
    await other.recovered();
    await user.check();
    await other.check();
    const { err } = await daemon.stop();
    expect(err.split("\n").filter((line) => line.includes("unexpected failure")).length).toBeLessThan(30);
    expect(await governd(["verify", place.data])).toMatchObject({ code: 0 });
  });
});

test.skipIf(!CAN_FAIL).each([
  ["read-only", { write: ERRNO.EROFS, open: ERRNO.EROFS, sync: ERRNO.EROFS }],
  ["failing", { write: ERRNO.EIO, open: ERRNO.EIO, sync: ERRNO.EIO }],
])("a workspace is first used while its disk is %s: it is used when that is over", async (_, failing) => {
  using place = new Place();
  const { disk } = place;
  const { api_key: apiKey } = await place.made("one");
  await using daemon = await place.start();
  const user = new User(daemon, apiKey);
  disk.fail(failing, "/workspaces/");
  await expectUnavailable(await user.write());
  // Reading must not prevent that the file is reopened.
  const look = () => daemon.ask("/v1/audit?agent_id=a", { apiKey });
  await expectUnavailable(await look());
  await Bun.sleep(LASTING_MS);
  await expectUnavailable(await user.write());
  await expectUnavailable(await look());
  disk.heal();
  await isReady(daemon, 200);
  await user.recovered();
  await user.check();
});

test.skipIf(!CAN_FAIL)("one workspace's files fail: the others do not notice", async () => {
  using place = new Place();
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
    using place = new Place();
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
  using place = new Place();
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
