/** `POST /v1/audit/verify` compares what a log states with the rows of its file, while these change. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { acceptInvitation, foundWorkspace } from "../../src/ops/accounts/membership.ts";
import type { WorkspaceJournal } from "../../src/ops/directory/journal.ts";
import { openConnection } from "../../src/store/connection.ts";
import { Accounts, makePasskey, withParts } from "../corpus/installation-base.ts";
import { effort } from "../effort.ts";
import { Administration, makeLink } from "../support/administration.ts";
import type { Answered } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { serverOfDirectory } from "../support/engine.ts";
import { changeRole, invite, removeMember, setOperator } from "../support/members.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { signUp, tokenOf } from "./browser.ts";

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
  problems: { code: string; seq: number | null; message: string }[];
}

type Posts = { post(path: string, body: unknown): Promise<Answered> };

async function verify(client: Posts, scope: object = { scope: "workspace" }): Promise<Verified> {
  const { status, json } = await client.post("/v1/audit/verify", scope);
  expect(status).toBe(200);
  return json;
}

const key = (workspaceId: string) =>
  ({ workspaceId, label: null, scope: "agent", agents: null, expiresInMs: 3_600_000 }) as const;

const OF_INSTALLATION = { scope: "installation" } as const;

const GOOD = { valid: true, first_invalid: null, problems: [] };

test("nothing is accused while workspaces are made, and accounts, keys and members change", async () => {
  const { id, client } = await daemon.workspace();
  const directory = dataDirectory(daemon.dataDir, null, serverOfDirectory(daemon.dataDir));
  const operator = await signUp(daemon, tokenOf(daemon.signUpUrl));
  await withParts(directory, (parts) => setOperator(parts, operator.accountId, true));
  const inLog = { "x-workspace-id": "installation" };
  const log = { post: (path: string, body: unknown) => operator.browser.post(path, body, inLog) };
  /** Of the workspace and of the log of the installation, which states accounts. */
  const verifyBoth = async () => {
    expect(await verify(client)).toMatchObject(GOOD);
    expect(await verify(log, OF_INSTALLATION)).toMatchObject(GOOD);
  };
  // Verifies before and after each event about a workspace that is made.
  const watched = (journal: WorkspaceJournal): WorkspaceJournal => ({
    ...journal,
    async record(workspaceId, event) {
      await verifyBoth();
      const id = await journal.record(workspaceId, event);
      await verifyBoth();
      return id;
    },
  });
  let done = false;
  const verifying = (async () => {
    let count = 0;
    for (; !done; count++) await verifyBoth();
    return count;
  })();
  for (const wrap of [watched, (journal: WorkspaceJournal) => journal]) {
    for (let round = 0; round < (wrap === watched ? 1 : ROUNDS); round++) {
      await withParts(
        directory,
        async (parts) => {
          const accounts = new Accounts(parts, parts.installation.id);
          const name = `${wrap === watched ? "watched" : "free"}-${round}`;
          const owner = await accounts.make(`owner-${name}`);
          const guest = await accounts.make(`guest-${name}`);
          const sessions = { owner: await accounts.signIn(owner), guest: await accounts.signIn(guest) };
          const administration = new Administration(parts, directory);
          const { record } = await administration.createKey(key(id));
          const { record: successor } = await administration.rotateKey(record.id, 1_000);
          await administration.revokeKey(successor.id);
          const wish = { workspaceId: id, role: "owner", label: null, expiresInDays: 1 } as const;
          await acceptInvitation(parts, sessions.owner, (await invite(parts, "cli", wish)).token);
          await acceptInvitation(parts, sessions.guest, (await invite(parts, owner, wish)).token);
          await changeRole(parts, owner, { workspaceId: id, accountId: guest, role: "auditor" });
          await removeMember(parts, owner, { workspaceId: id, accountId: guest });
          await foundWorkspace(parts, guest, "founded");
          await makePasskey(parts, owner);
          const passkeyId = await makePasskey(parts, guest);
          await accounts.by(guest, "account.remove_passkey", { accountId: guest, passkeyId });
          await accounts.by(guest, "account.end_sessions", { accountId: guest, which: { allBut: null } });
        },
        wrap,
      );
    }
  }
  done = true;
  expect(await verifying).toBeGreaterThan(0);
});

test("a changed key is found, with the event that says otherwise and no secret", async () => {
  const { id, client } = await daemon.workspace();
  const limited = await daemon.clientWith(id, { scope: "agent" });
  const other = await daemon.workspace();
  {
    using connection = openConnection(workspaceFile(dataDirectory(daemon.dataDir), id));
    expect(connection.change("UPDATE keys SET scope = 'full' WHERE scope = 'agent'")).toBe(1);
  }
  const { valid, problems } = await verify(client);
  expect(valid).toBe(false);
  expect(problems).toEqual([
    expect.objectContaining({ code: "row_changed", seq: 2, message: expect.stringContaining("scope") }),
  ]);
  // The log of an agent and that of another workspace say nothing about it.
  expect(await verify(other.client)).toMatchObject(GOOD);
  expect(JSON.stringify(await verify(client))).not.toContain(limited.apiKey);
});

test("a changed account is found in the log of the installation, with the event that says otherwise", async () => {
  const { installation, accountId } = await withParts(dataDirectory(daemon.dataDir), async (parts) => {
    const accounts = new Accounts(parts, parts.installation.id);
    return { installation: parts.installation.id, accountId: await accounts.make("changed") };
  });
  const operator = await signUp(daemon, await makeLink(daemon.dataDir, { kind: "setup" }));
  await withParts(dataDirectory(daemon.dataDir), (parts) => setOperator(parts, operator.accountId, true));
  const log = {
    post: (path: string, body: unknown) => operator.browser.post(path, body, { "x-workspace-id": "installation" }),
  };
  expect(await verify(log, OF_INSTALLATION)).toMatchObject(GOOD);
  {
    using connection = openConnection(workspaceFile(dataDirectory(daemon.dataDir), installation));
    expect(connection.change("UPDATE accounts SET password = 'x' WHERE id = ?", [accountId])).toBe(1);
  }
  const { valid, problems } = await verify(log, OF_INSTALLATION);
  expect(valid).toBe(false);
  expect(problems).toEqual([expect.objectContaining({ code: "row_changed", operation: "account.create" })]);
});
