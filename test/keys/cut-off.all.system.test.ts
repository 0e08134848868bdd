/** Changes of keys that are cut off: the daemon is killed at any moment, or the disk is full. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import type { StoredKey } from "../../src/core/rows/access/keys.ts";
import { governd } from "../cli/governd.ts";
import { governdProcess, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { isReady } from "../faults/daemon-on-failing-disk.ts";
import { CAN_MOUNT, SmallDisk } from "../faults/small-disk.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { keysIn } from "../support/administration.ts";
import { killedAfter, Session } from "../support/killed-daemon.ts";
import { WorkspaceView } from "../support/workspace-view.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const KILLS = effort({ usual: 3, long: 40 });
/** The daemon is killed after at most this many answers. */
const MOST_ANSWERS = 40;

let directory: TemporaryDirectory;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => directory[Symbol.dispose]());

/** What the log says of keys, by their ids: made, limited, replaced and ended by which events. */
function replayed(view: WorkspaceView): Map<string, Pick<StoredKey, "networks" | "replacedBy"> & { ended: boolean }> {
  const keys = new Map<string, Pick<StoredKey, "networks" | "replacedBy"> & { ended: boolean }>();
  for (const { operation, details } of view.eventsAfter(-1)) {
    const said = details as { key_id: string; networks: string[] | null; replaces: string };
    const { key_id: id, networks } = said;
    const known = keys.get(id);
    if (operation === "key.create" || operation === "key.rotate") {
      keys.set(id, { networks, replacedBy: null, ended: false });
    }
    if (operation === "key.rotate") Object.assign(keys.get(said.replaces) as object, { replacedBy: id });
    if (operation === "key.change") Object.assign(known as object, { networks });
    if (operation === "key.revoke") Object.assign(known as object, { ended: true });
  }
  return keys;
}

test("a daemon that is killed at any moment leaves a change of a key whole or not at all", async () => {
  const data = directory.join("data");
  const random = new Seeded(SEED);
  await using python = new SecondVerifier();
  let owner: Session | null = null;
  /** What was answered, by the id of the key: none of it may be gone. */
  const revoked = new Set<string>();
  const made = new Set<string>();
  for (let kill = 0; kill < KILLS; kill++) {
    await using daemon = await startGovernd(data);
    owner ??= await Session.first(daemon);
    const by = owner;
    const known = [...made].filter((id) => !revoked.has(id));
    // A command that runs beside the daemon must survive its end.
    const beside = Bun.sleep(random.below(200)).then(() =>
      governdProcess(["key", "create", "--workspace", by.workspaceId, "--data-dir", data]),
    );
    const keys = (method: string, rest = "", body?: object) => by.ask(daemon, method, `/keys${rest}`, body);
    const request: Parameters<typeof killedAfter>[2] = async (answered) => {
      const id = known.length === 0 ? null : random.pick(known);
      const lot = random.below(5);
      if (id === null || lot < 2) {
        const { isDone, json } = await answered(await keys("POST", "", { label: "cut off" }));
        if (!isDone) return;
        made.add(json?.id as string);
        known.push(json?.id as string);
      } else if (lot === 2) {
        await answered(await keys("PUT", `/${id}`, { networks: [`192.0.2.${random.below(250)}`] }));
      } else if (lot === 3) {
        const { isDone, json } = await answered(await keys("POST", `/${id}/rotate`, { overlap_hours: 1 }));
        if (isDone) made.add(json?.id as string);
      } else if ((await answered(await keys("DELETE", `/${id}`))).isDone) revoked.add(id);
    };
    await killedAfter(daemon, random.between(1, MOST_ANSWERS), request, beside);
    using view = new WorkspaceView(`${data}/workspaces/${by.workspaceId}.db`);
    const said = replayed(view);
    const stored = await keysIn(dataDirectory(data), by.workspaceId);
    expect(
      new Map(
        stored.map(({ id, networks, replacedBy, revokedAt }) => [
          id,
          { networks, replacedBy, ended: revokedAt !== null },
        ]),
      ),
    ).toEqual(said as never);
    for (const id of made) expect(said.has(id)).toBe(true);
    for (const id of revoked) expect(said.get(id)?.ended).toBe(true);
    const { code, out } = await governd(["verify", data]);
    expect([code, out]).toEqual([0, expect.stringContaining("Verified")]);
    if (HAS_PYTHON) expect(await python.run(data)).toMatchObject({ code: 0, codes: [] });
  }
});

test.skipIf(!CAN_MOUNT)("on a full disk a key is revoked, and no new one is made", async () => {
  using disk = new SmallDisk("24m");
  const data = `${disk.path}/data`;
  await using daemon = await startGovernd(data);
  const owner = await Session.first(daemon);
  const made = async () =>
    (await owner.ask(daemon, "POST", "/keys", { label: "full" })).json() as Promise<{ id: string; api_key: string }>;
  const [one, other] = [await made(), await made()];
  const read = ({ api_key: apiKey }: { api_key: string }) => daemon.ask("/v1/agents", { apiKey });
  for (const key of [one, other]) expect((await read(key)).status).toBe(200);
  await eventually("space is set aside", () => Bun.file(`${data}/disk.reserve`).exists());
  Bun.spawnSync(["dd", "if=/dev/zero", `of=${disk.path}/filler`, "bs=4096"], { stderr: "ignore" });
  await isReady(daemon, 503);
  expect((await owner.ask(daemon, "POST", "/keys", { label: "one more" })).status).toBe(503);
  expect((await owner.ask(daemon, "DELETE", `/keys/${one.id}`)).status).toBeLessThan(300);
  expect([(await read(one)).status, (await read(other)).status]).toEqual([401, 200]);
  // Also by the command line, beside it.
  const { code, err } = await governdProcess(["key", "revoke", other.id, "--data-dir", data]);
  expect([code, err]).toEqual([0, ""]);
  expect((await read(other)).status).toBe(401);
  await daemon.stop();
  expect(await governd(["verify", data])).toMatchObject({ code: 0 });
});
