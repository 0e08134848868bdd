/** What nodes of a libSQL server know of each other's changes of the control database. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { systemClock } from "../../src/ids.ts";
import { createLink } from "../../src/ops/accounts/links.ts";
import { ControlDatabase } from "../../src/ops/directory/database.ts";
import { eventually } from "../eventually.ts";
import { FaultProxy, NO_FAULT } from "../support/fault-proxy.ts";
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

test.skipIf(LIBSQL_SERVER === null)("a change waits for a refresh that the server holds up", async () => {
  await using server = await LibsqlServer.start();
  await using network = await FaultProxy.start(server.url);
  using first = temporaryDirectory();
  using second = temporaryDirectory();
  const { token: authToken, adminUrl, adminToken } = server;
  const open = (path: string, url: string) =>
    ControlDatabase.openShared(
      ensureDataDirectory(path, { server: { url, authToken, adminUrl, adminToken, replicaUrls: [] } }),
      () => {},
    );
  using one = await open(first.path, server.url);
  using two = await open(second.path, network.url);
  await change(one);

  // The first answer lets the refresh begin its transaction. The later ones are delayed, so that it stays open.
  let asked = 0;
  network.faults = () => (asked++ === 0 ? NO_FAULT : { kind: "delay_answer", ms: 200 });
  const refresh = two.refresh();
  await eventually("the refresh has a transaction", () => two.connection.inTransaction);
  expect(two.isReplaced).toBe(false);
  const done = change(two);
  await refresh;
  network.faults = () => NO_FAULT;
  await done;
  await one.refresh();
  const [before, after] = [one, two].map(({ connection }) => connection.value<string>("SELECT number FROM commits"));
  expect(before).toBe(after as string);
});
