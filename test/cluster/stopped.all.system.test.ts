/**
 * A process stops while it makes a workspace, or the log of the installation. Its turn ends, and another node takes the
 * next one.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { IdSource, RandomPool, systemClock } from "../../src/ids.ts";
import { createWorkspace, type FoundingParts } from "../../src/ops/directory/administration.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { fileJournal, type WorkspaceJournal } from "../../src/ops/directory/journal.ts";
import { listWorkspaces } from "../../src/ops/directory/workspaces.ts";
import { signUp, tokenOf } from "../account/browser.ts";
import { governd } from "../cli/governd.ts";
import { eventually } from "../eventually.ts";
import { TestDaemon } from "../support/daemon.ts";
import { noteServer, serverOfDirectory } from "../support/engine.ts";
import { LIBSQL_SERVER, LibsqlServer } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

/** Does something as a process with its own directory, as on another machine, with its journal changed. */
async function nodeDoes<T>(
  path: string,
  work: (parts: FoundingParts) => Promise<T>,
  changed: (journal: WorkspaceJournal) => Partial<WorkspaceJournal> = () => ({}),
): Promise<T> {
  const directory = ensureDataDirectory(path, { server: serverOfDirectory(path) });
  using installation = await Installation.open(directory);
  const files = fileJournal(directory);
  const random = new RandomPool();
  const ids = new IdSource(systemClock, random);
  return await work({ installation, journal: { ...files, ...changed(files) }, clock: systemClock, ids, random });
}

/** Its turn ends, as it does after ten seconds. */
const endTurn = (server: LibsqlServer) =>
  server.execute("governd-nodes", "UPDATE governd_leases SET until = 0 WHERE name = 'workspaces'");

async function expectAgreement({ token, url }: LibsqlServer): Promise<void> {
  const verified = await governd(["verify", url, "--engine-auth-token", token]);
  expect([verified.code, verified.err]).toEqual([0, ""]);
}

describe.skipIf(LIBSQL_SERVER === null)("stopped in the middle of making a workspace", () => {
  const [stopped, other] = [temporaryDirectory(), temporaryDirectory()];
  let daemon: TestDaemon;
  let second: TestDaemon;
  let server: LibsqlServer;

  beforeAll(async () => {
    daemon = await TestDaemon.start({ engine: "libsql-server" });
    second = await daemon.anotherNode();
    server = daemon.server as LibsqlServer;
    for (const { path } of [stopped, other]) noteServer(path, serverOfDirectory(daemon.dataDir));
  });
  afterAll(async () => {
    for (const node of [second, daemon]) await node[Symbol.asyncDispose]();
    for (const directory of [stopped, other]) directory[Symbol.dispose]();
  });

  const make = (path: string, name: string, changed?: (journal: WorkspaceJournal) => Partial<WorkspaceJournal>) =>
    nodeDoes(path, (parts) => createWorkspace(parts, "cli", name), changed);
  const names = () =>
    nodeDoes(other.path, ({ installation }) =>
      installation.read((log) => listWorkspaces(log).map(({ name }) => name), []),
    );

  /** Both daemons serve a workspace with its key. */
  async function expectServed(apiKey: string): Promise<void> {
    for (const node of [daemon, second]) {
      await eventually("the node knows the workspace", async () => {
        return (await node.client(apiKey).get("/v1/agents")).status === 200;
      });
    }
  }

  const STEPS: Record<string, (stop: () => Promise<void>) => (journal: WorkspaceJournal) => Partial<WorkspaceJournal>> =
    {
      "before its file": (stop) => (journal) => ({
        create: async (...given) => {
          await stop();
          return await journal.create(...given);
        },
      }),
      "behind its file": (stop) => (journal) => ({
        create: async (...given) => {
          const id = await journal.create(...given);
          await stop();
          return id;
        },
      }),
      "behind its event": (stop) => (journal) => ({
        record: async (...given) => {
          const id = await journal.record(...given);
          if (given[1].operation === "installation.add_workspace") await stop();
          return id;
        },
      }),
    };

  test.each(Object.entries(STEPS))("%s: both its workspace and that of the other node are made", async (step, at) => {
    let meanwhile = "";
    const stop = async () => {
      await endTurn(server);
      meanwhile = (await make(other.path, `other, ${step}`)).apiKey;
    };
    const { apiKey } = await make(stopped.path, step, at(stop));
    expect(await names()).toEqual(expect.arrayContaining([step, `other, ${step}`]));
    for (const key of [apiKey, meanwhile]) await expectServed(key);
    await expectAgreement(server);
  });

  test("that dies behind its file, it has made nothing, and nothing is in the way of others", async () => {
    const dies = (): Promise<never> => Promise.reject(new Error("killed"));
    const killed = make(stopped.path, "cut off", (journal) => ({
      record: (id, event) => (event.operation === "installation.add_workspace" ? dies() : journal.record(id, event)),
      discard: dies,
    }));
    await expect(killed).rejects.toThrow("killed");
    expect(await names()).not.toContain("cut off");
    await expectAgreement(server);
    await expectServed((await make(stopped.path, "again")).apiKey);
    await expectAgreement(server);
  });

  test("the nodes see each other's accounts and workspaces", async () => {
    const person = await signUp(daemon, tokenOf(second.signUpUrl));
    const elsewhere = person.browser.at(second);
    expect((await elsewhere.get("/account")).json.account.id).toBe(person.accountId);
    const made = await elsewhere.post("/account/workspaces", { name: "made on the second node" });
    expect(made.status).toBe(201);
    const listed = (await person.browser.get("/account/workspaces")).json.data as { name: string }[];
    expect(listed.map(({ name }) => name)).toContain("made on the second node");
    await expectServed(made.json.api_key);
    await expectAgreement(server);
  });
});

test.skipIf(LIBSQL_SERVER === null)(
  "two nodes that make the log of the installation at once use the same",
  async () => {
    await using server = await LibsqlServer.start();
    const [first, second] = [temporaryDirectory(), temporaryDirectory()];
    const { url, token: authToken, adminUrl, adminToken } = server;
    for (const { path } of [first, second]) noteServer(path, { url, authToken, adminUrl, adminToken, replicaUrls: [] });
    let other = "";
    const late = await nodeDoes(
      first.path,
      (parts) => parts.installation.ensure(parts),
      (journal) => ({
        create: async (...given) => {
          const id = await journal.create(...given);
          await endTurn(server);
          other = await nodeDoes(second.path, (parts) => parts.installation.ensure(parts));
          return id;
        },
      }),
    );
    expect(late).toBe(other);
    for (const { path } of [first, second]) await nodeDoes(path, (parts) => createWorkspace(parts, "cli", "one"));
    await expectAgreement(server);
    for (const directory of [first, second]) directory[Symbol.dispose]();
  },
);
