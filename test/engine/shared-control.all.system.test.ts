/** What nodes of a libSQL server know of each other's changes of the control database. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { systemClock } from "../../src/ids.ts";
import { createLink } from "../../src/ops/accounts/links.ts";
import { ControlDatabase } from "../../src/ops/directory/database.ts";
import { LIBSQL_SERVER, LibsqlServer } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const change = (control: ControlDatabase) =>
  control.transaction((connection) => connection.run("UPDATE links SET expires_at = expires_at + 1"));
const alone = (control: ControlDatabase, work: () => Promise<unknown>) =>
  (control.shared as NonNullable<ControlDatabase["shared"]>).alone(10_000, () => new Error("others take long"), work);

/** What a node does by itself, which takes over what another node changed before. */
const OWN: Record<string, (control: ControlDatabase) => Promise<unknown>> = {
  nothing: async () => {},
  "a transaction": change,
  "a turn to act": (control) => alone(control, async () => {}),
  "a transaction in its turn": (control) => alone(control, () => change(control)),
};

test.skipIf(LIBSQL_SERVER === null).each(Object.keys(OWN))(
  "a refresh tells of what another node changed, also when this node did this before: %s",
  async (when) => {
    await using server = await LibsqlServer.start();
    const { url, token: authToken, adminUrl, adminToken } = server;
    using first = temporaryDirectory();
    using second = temporaryDirectory();
    const open = (path: string) =>
      ControlDatabase.openShared(
        ensureDataDirectory(path, { server: { url, authToken, adminUrl, adminToken, replicaUrls: [] } }),
        () => {},
      );
    using one = await open(first.path);
    using two = await open(second.path);
    const link = { kind: "setup", createdBy: "cli" } as const;
    await createLink(one, systemClock, link);
    await two.refresh();

    const before = two.generation.current;
    await createLink(one, systemClock, link);
    await OWN[when]?.(two);
    await two.refresh();
    expect(two.generation.current).not.toBe(before);
  },
);
