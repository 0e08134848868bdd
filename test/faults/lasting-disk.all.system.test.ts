/** The disk fails under a running daemon for a while in which nobody asks: it recovers by itself. */
import { afterAll, setDefaultTimeout, test } from "bun:test";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import {
  expectRecovery,
  expectUnavailable,
  FAILURES,
  isReady,
  LASTING_MS,
  Place,
  User,
} from "./daemon-on-failing-disk.ts";
import { CAN_FAIL, ERRNO, FailingLibrary } from "./failing-disk.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const library = new FailingLibrary();
afterAll(() => library[Symbol.dispose]());

/** One in so many of the failures, others in each run: disk.system.test.ts has all of them for a shorter time. */
const EVERY = effort({ usual: 3, long: 1 });
const FIRST = SEED % EVERY;

test.skipIf(!CAN_FAIL).each(FAILURES.filter((_, index) => index % EVERY === FIRST))(
  "%s: writes are refused, nothing acknowledged is lost, and they resume by themselves",
  (_, failing) => expectRecovery(library, failing, LASTING_MS),
);

test.skipIf(!CAN_FAIL).each([
  ["read-only", { write: ERRNO.EROFS, open: ERRNO.EROFS, sync: ERRNO.EROFS }],
  ["failing", { write: ERRNO.EIO, open: ERRNO.EIO, sync: ERRNO.EIO }],
])("a workspace is first used while its disk is %s: it is used when that is over", async (_, failing) => {
  using place = new Place(library);
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
