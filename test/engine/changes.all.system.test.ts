/** What nodes of a libSQL server know of each other's changes. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { LIBSQL_SERVER, LibsqlServer } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

/** What a node does by itself after another node's change. */
const OWN: Record<string, (installation: Installation) => Promise<unknown>> = {
  nothing: async () => {},
  "a change": (installation) => installation.changed(),
  "a turn alone": (installation) => installation.alone(async () => {}),
};

test.skipIf(LIBSQL_SERVER === null).each(Object.keys(OWN))(
  "a refresh tells of what another node changed, also when this node did this before: %s",
  async (when) => {
    await using server = await LibsqlServer.start();
    const { url, token: authToken, adminUrl, adminToken } = server;
    using first = temporaryDirectory();
    using second = temporaryDirectory();
    const open = (path: string) =>
      Installation.open(
        ensureDataDirectory(path, { server: { url, authToken, adminUrl, adminToken, replicaUrls: [] } }),
      );
    using one = await open(first.path);
    using two = await open(second.path);
    await one.nodes?.name(ensureDataDirectory(first.path), "ws_01h455vb4pex5vsknk084sn02q");
    await one.changed();
    await two.refresh();

    const before = two.generation.current;
    await two.refresh();
    expect(two.generation.current).toBe(before);
    await one.changed();
    await OWN[when]?.(two);
    const told = two.generation.current;
    await two.refresh();
    expect(two.generation.current).not.toBe(told);
  },
);
