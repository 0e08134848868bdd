/** A daemon on a disk that fails, and what its users see. */
import { expect } from "bun:test";
import { governd, type MadeWorkspace, makeWorkspace } from "../cli/governd.ts";
import { type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { ERRNO, type Failing, type FailingDisk, type FailingLibrary } from "./failing-disk.ts";

/** A data directory on a disk that can fail. */
export class Place implements Disposable {
  readonly #directory: TemporaryDirectory = temporaryDirectory();
  readonly disk: FailingDisk;
  readonly data: string;

  constructor(library: FailingLibrary) {
    this.disk = library.disk(this.#directory.join("control"));
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
export class User {
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

export const isReady = (daemon: RunningDaemon, wanted: number) =>
  eventually(`/readyz answers ${wanted}`, async () => (await statusOf(daemon, "/readyz")) === wanted);

export async function expectUnavailable(response: Response, code = "unavailable"): Promise<void> {
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(await response.json()).toMatchObject({ code });
}

/** Longer than a daemon in trouble has to be left alone until it gives back memory, and what hangs on that. */
export const LASTING_MS = 3_500;

export const FAILURES: readonly (readonly [string, Failing])[] = [
  ["a full disk", { write: ERRNO.ENOSPC }],
  ["a full disk that takes no new files either", { write: ERRNO.ENOSPC, open: ERRNO.ENOSPC }],
  ["a disk that became read-only", { write: ERRNO.EROFS, open: ERRNO.EROFS, sync: ERRNO.EROFS }],
  ["a failing fsync", { sync: ERRNO.EIO }],
  ["writes that fail", { write: ERRNO.EIO }],
  ["a disk that fails altogether", { write: ERRNO.EIO, sync: ERRNO.EIO, read: ERRNO.EIO, open: ERRNO.EIO }],
];

/** The disk fails for a time, after the first refused writes in ms: nothing acknowledged is lost, and writes resume. */
export async function expectRecovery(library: FailingLibrary, failing: Failing, lastsMs: number): Promise<void> {
  using place = new Place(library);
  const { disk } = place;
  const [one, two] = [await place.made("one"), await place.made("two")];
  await using daemon = await place.start();
  const [user, other] = [new User(daemon, one.api_key), new User(daemon, two.api_key)];
  for (let i = 0; i < 5; i++) for (const each of [user, other]) expect((await each.write()).status).toBe(200);

  disk.fail(failing, "/workspaces/");
  // Of a transaction that was written and whose fsync failed, nobody knows whether it will be there.
  const first = failing.sync !== undefined && failing.write === undefined ? "outcome_unknown" : "unavailable";
  for (let i = 0; i < 8; i++) {
    for (const each of [user, other]) await expectUnavailable(await each.write(), i === 0 ? first : "unavailable");
  }
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
}
