/** `POST /v1/audit/verify` compares the keys and members of a workspace with its log, while they change. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { systemClock } from "../../src/ids.ts";
import { insertAccount } from "../../src/ops/accounts/accounts.ts";
import { acceptInvitation, changeRole, invite, removeMember } from "../../src/ops/accounts/membership.ts";
import { Administration } from "../../src/ops/directory/administration.ts";
import type { WorkspaceJournal } from "../../src/ops/directory/journal.ts";
import { openConnection } from "../../src/store/connection.ts";
import { withParts } from "../corpus/control-base.ts";
import { effort } from "../effort.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { serverOfDirectory } from "../support/engine.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const ROUNDS = effort({ usual: 5, long: 100 });

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { rate_limit: "1000" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface Verified {
  valid: boolean;
  first_invalid: unknown;
  control: { verdict: string; rows: number; problems: { code: string; seq: number | null; message: string }[] } | null;
}

async function verify(client: Client, scope: object = { scope: "workspace" }): Promise<Verified> {
  const { status, json } = await client.post("/v1/audit/verify", scope);
  expect(status).toBe(200);
  return json;
}

const key = (workspaceId: string) =>
  ({ workspaceId, label: null, scope: "agent", agents: null, expiresInMs: 3_600_000 }) as const;

const GOOD = {
  valid: true,
  first_invalid: null,
  control: expect.objectContaining({ verdict: "verified", problems: [] }),
};

test("nothing is accused while acts are decided, recorded and applied", async () => {
  const { id, client } = await daemon.workspace();
  const directory = dataDirectory(daemon.dataDir, null, serverOfDirectory(daemon.dataDir));
  // Verifies at each of the moments of an act.
  const watched = (journal: WorkspaceJournal): WorkspaceJournal => ({
    ...journal,
    async record(workspaceId, event) {
      expect(await verify(client)).toMatchObject(GOOD);
      const id = await journal.record(workspaceId, event);
      expect(await verify(client)).toMatchObject(GOOD);
      return id;
    },
  });
  let done = false;
  const verifying = (async () => {
    let count = 0;
    for (; !done; count++) expect(await verify(client)).toMatchObject(GOOD);
    return count;
  })();
  for (const wrap of [watched, (journal: WorkspaceJournal) => journal]) {
    for (let round = 0; round < (wrap === watched ? 1 : ROUNDS); round++) {
      await withParts(
        directory,
        async (parts) => {
          const [owner, guest] = ["owner", "guest"].map(() => parts.ids.next("usr")) as [string, string];
          const secrets = { password: "", totpSecret: null, totpSince: null, totpStep: 0, createdAt: systemClock() };
          await parts.control.change((connection) => {
            for (const id of [owner, guest]) insertAccount(connection, { id, email: id, name: id, ...secrets });
          });
          const administration = new Administration({ ...parts, actor: "cli", permit: () => {} });
          const { record } = await administration.createKey(key(id));
          const { record: successor } = await administration.rotateKey(record.id, 1_000);
          await administration.revokeKey(successor.id);
          const { workspace } = await administration.createWorkspace("another", (made) => ({
            changes: [
              ["addMember", { workspaceId: made.id, accountId: owner, role: "owner", joinedAt: made.createdAt }],
            ],
          }));
          const wish = { workspaceId: workspace.id, role: "owner", label: null, expiresInDays: 1 } as const;
          const { token } = await invite(parts, owner, wish);
          await acceptInvitation(parts, guest, token);
          await changeRole(parts, owner, { workspaceId: workspace.id, accountId: guest, role: "auditor" });
          await removeMember(parts, owner, { workspaceId: workspace.id, accountId: guest });
        },
        wrap,
      );
    }
  }
  done = true;
  expect(await verifying).toBeGreaterThan(0);
  expect((await verify(client)).control?.rows).toBe(2 + 2 * (ROUNDS + 1));
});

test("a changed key is found, with the event that says otherwise and no secret", async () => {
  const { id, client } = await daemon.workspace();
  const limited = await daemon.clientWith(id, { scope: "agent" });
  const other = await daemon.workspace();
  const change = (sql: string, ...parameters: string[]) => {
    using connection = openConnection(dataDirectory(daemon.dataDir).control);
    expect(connection.change(sql, parameters)).toBe(1);
  };
  change("UPDATE api_keys SET scope = 'full' WHERE workspace_id = ? AND scope = 'agent'", id);
  const { valid, control, first_invalid } = await verify(client);
  expect([valid, first_invalid, control?.verdict]).toEqual([false, null, "tampered"]);
  expect(control?.problems).toEqual([
    expect.objectContaining({ code: "key_changed", seq: 2, message: expect.stringContaining("scope is changed") }),
  ]);
  // The log of an agent and that of another workspace say nothing about it.
  expect(await verify(other.client)).toMatchObject(GOOD);
  await client.post("/v1/data/write", { agent_id: "a", key: "k", value: "v" });
  expect((await verify(client, { agent_id: "a" })).control).toBeNull();
  change(
    "UPDATE api_keys SET scope = 'agent', workspace_id = ? WHERE workspace_id = ? AND id <> ?",
    other.id,
    id,
    await firstKey(id),
  );
  expect((await verify(client)).control?.problems.map(({ code }) => code)).toEqual(["key_moved"]);
  expect((await verify(other.client)).control?.problems.map(({ code }) => code)).toEqual(["key_added"]);
  expect(JSON.stringify(await verify(other.client))).not.toContain(limited.apiKey);
});

async function firstKey(workspaceId: string): Promise<string> {
  using connection = openConnection(dataDirectory(daemon.dataDir).control, { readOnly: true });
  const sql = "SELECT id FROM api_keys WHERE workspace_id = ? ORDER BY created_at, id";
  return connection.get<[string]>(sql, [workspaceId])?.[0] ?? "";
}
