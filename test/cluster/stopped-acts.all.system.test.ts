/** A process that is stopped in the middle of an act for longer than its turn lasts, while another node goes on. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { namespaceOf } from "../../src/engine-libsql/server-engine.ts";
import { IdSource, RandomPool, systemClock } from "../../src/ids.ts";
import { Administration, type NewKey } from "../../src/ops/directory/administration.ts";
import { ControlDatabase } from "../../src/ops/directory/database.ts";
import { fileJournal, type WorkspaceJournal } from "../../src/ops/directory/journal.ts";
import { governd } from "../cli/governd.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { noteServer, serverOfDirectory } from "../support/engine.ts";
import { LIBSQL_SERVER, type LibsqlServer, texts } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

describe.skipIf(LIBSQL_SERVER === null)("stopped in the middle of an act", () => {
  const elsewhere = temporaryDirectory();
  let daemon: TestDaemon;
  let workspace: TestWorkspace;
  let key: NewKey;

  beforeAll(async () => {
    daemon = await TestDaemon.start({ engine: "libsql-server" });
    noteServer(elsewhere.path, serverOfDirectory(daemon.dataDir));
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    elsewhere[Symbol.dispose]();
  });
  beforeEach(async () => {
    workspace = await daemon.workspace();
    key = await elsewhereDo((one) => one.createKey(wish("stays")));
  });

  const wish = (label: string) => ({
    ...({ workspaceId: workspace.id, label, scope: "full", agents: null, expiresInMs: null } as const),
  });

  /** Does an act as a process of another machine, with its journal changed. */
  async function elsewhereDo<T>(
    work: (administration: Administration) => Promise<T>,
    changed: (journal: WorkspaceJournal) => Partial<WorkspaceJournal> = () => ({}),
  ): Promise<T> {
    const directory = ensureDataDirectory(elsewhere.path, { server: serverOfDirectory(elsewhere.path) });
    using control = await ControlDatabase.openShared(directory, () => {});
    control.shared?.outwaitNodes();
    const files = fileJournal(directory);
    const random = new RandomPool();
    const ids = new IdSource(systemClock, random);
    const journal = { ...files, ...changed(files) };
    const parts = { control, journal, clock: systemClock, ids, random, actor: "cli", permit: () => {} };
    return await work(new Administration(parts));
  }

  /** Its turn ends, as it does after ten seconds. */
  const endTurn = () =>
    (daemon.server as LibsqlServer).execute(
      "governd-control",
      "UPDATE governd_leases SET until = 0 WHERE name = 'acts'",
    );

  /** Stops before or behind the moment when the event is recorded, does something with another node, and goes on. */
  async function stoppedWhileRevoking(when: "before" | "behind", meanwhile: () => Promise<void>): Promise<string> {
    const stop = async () => {
      await endTurn();
      await meanwhile();
    };
    const record =
      (journal: WorkspaceJournal) =>
      async (...event: Parameters<WorkspaceJournal["record"]>) => {
        if (when === "before") await stop();
        const id = await journal.record(...event);
        if (when === "behind") await stop();
        return id;
      };
    const revoking = elsewhereDo(
      (one) => one.revokeKey(key.record.id),
      (journal) => ({ record: record(journal) }),
    );
    return await revoking.then(
      () => "done",
      (error) => (error as { code: string }).code,
    );
  }

  const another = async () => {
    const made = await daemon.clientWith(workspace.id, {});
    expect((await made.get("/v1/agents")).status).toBe(200);
  };
  const uses = async () => (await daemon.client(key.apiKey).get("/v1/agents")).status;
  const revocations = async () => {
    const sql = `SELECT count(*) FROM events WHERE body ->> '$.operation' = 'key.revoke'`;
    return Number(texts(await (daemon.server as LibsqlServer).execute(namespaceOf(workspace.id), sql))[0]?.[0]);
  };

  async function expectAgreement(): Promise<void> {
    const token = (daemon.server as LibsqlServer).token;
    const verified = await governd(["verify", (daemon.server as LibsqlServer).url, "--engine-auth-token", token]);
    expect([verified.code, verified.err]).toEqual([0, ""]);
  }

  test("before it is recorded: the next act drops it, and it never happens", async () => {
    expect(await stoppedWhileRevoking("before", another)).toBe("busy");
    expect([await uses(), await revocations()]).toEqual([200, 0]);
    expect(await stoppedWhileRevoking("before", async () => {})).toBe("done");
    expect([await uses(), await revocations()]).toEqual([401, 1]);
    await expectAgreement();
  });

  test("behind it: the next act finishes it, and it happens once", async () => {
    expect(await stoppedWhileRevoking("behind", another)).toBe("done");
    expect([await uses(), await revocations()]).toEqual([401, 1]);
    await expectAgreement();
  });

  test("and what another node began meanwhile stays its own", async () => {
    const kept: string[] = [];
    await stoppedWhileRevoking("behind", async () => {
      await another();
      kept.push((await daemon.clientWith(workspace.id, { scope: "auditor" })).apiKey);
    });
    expect((await daemon.client(kept[0] as string).get("/v1/audit?scope=all")).status).toBe(200);
    await expectAgreement();
  });
});
