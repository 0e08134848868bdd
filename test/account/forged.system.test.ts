/**
 * Logs of an installation in which an event changes a link, a session, a passkey or a workspace that could not be changed so:
 * both verifiers say that it is impossible.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { copyFileSync, cpSync } from "node:fs";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { openWorkspaceFile } from "../../src/core/writer/file.ts";
import type { JsonObject } from "../../src/json.ts";
import { addressDetails } from "../../src/ops/accounts/failed-sign-ins.ts";
import type { AccountParts } from "../../src/ops/accounts/parts.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import { governd } from "../cli/governd.ts";
import {
  Accounts,
  type InstallationBase,
  makeInstallationBase,
  makePasskey,
  withParts,
} from "../corpus/installation-base.ts";
import { restateLast } from "../corpus/rewrite.ts";
import { filesReleased } from "../released.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { compared, SecondVerifier } from "../verify/second-verifier.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const directory = temporaryDirectory();
const second = new SecondVerifier();
let base: InstallationBase;
let copies = 0;
beforeAll(async () => {
  base = await makeInstallationBase(directory.path);
  await filesReleased(base.root);
}, PROCESS_TEST_MS);
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

type Act = (accounts: Accounts, parts: AccountParts) => Promise<unknown>;

/** Performs an act in a copy, and makes its event, and the rows, say something else. Returns what both programs say. */
async function forged(act: Act, change: JsonObject, ...sql: string[]) {
  const root = directory.join(`forged-${copies++}`);
  cpSync(base.root, root, { recursive: true });
  const copy = dataDirectory(root);
  await withParts(copy, (parts) => act(new Accounts(parts, parts.installation.id), parts));
  await filesReleased(root);
  const path = directory.join(`forged-${copies++}.db`);
  copyFileSync(workspaceFile(copy, base.installation), path);
  const connection = openWorkspaceFile(path);
  restateLast(connection, (details) => ({ ...details, ...change }));
  for (const one of sql) connection.exec(one);
  // The seals are of the log as it was.
  connection.run("DELETE FROM seals");
  connection.truncateLog();
  connection.close();
  const ours = await governd(["verify", path, "--json"], { released: false });
  const { sources } = ours.json<{ sources: { problems: { code: string }[] }[] }>();
  const theirs = await second.run(path);
  const codes = (all: readonly string[]) => [...new Set(all)];
  return {
    exits: [ours.code, theirs.code],
    ours: codes(sources.flatMap(({ problems }) => problems.map(({ code }) => code))),
    theirs: codes(theirs.codes),
  };
}

const POSSIBLE = { exits: [0, 0], ours: [] as string[], theirs: [] as string[] };
const IMPOSSIBLE = {
  ...{ exits: [1, 1], ours: expect.arrayContaining(["operation_impossible"]) },
  theirs: expect.arrayContaining(["operation_impossible"]),
};

const ADDRESS = addressDetails("203.0.113.7");
const tokenDigest = ({ body }: { body: JsonObject }) => digestOf(String(body.token)).toHex();

const reset: Act = async (accounts) => {
  const accountId = base.people.removed;
  const link = await accounts.byOperator("account.link", { kind: "reset", accountId, endsSecondFactor: false });
  const input = { digest: tokenDigest(link), password: "$argon2id$", address: ADDRESS };
  await accounts.by(accountId, "account.reset_password", input);
};
const create: Act = (accounts) => accounts.make("forged");
const unlink: Act = async (accounts) => {
  const { body } = await accounts.byOperator("account.link", { kind: "setup" });
  await accounts.byOperator("account.unlink", { linkId: String(body.id) });
};

/** SQL: links by what became of them. */
const LINKS = {
  "was used": "SELECT min(id) FROM links WHERE used_by IS NOT NULL",
  "was ended": "SELECT id FROM links WHERE used_by IS NULL AND ended_seq IS NOT NULL",
  "is to reset somebody else's password": "SELECT id FROM links WHERE kind = 'reset' AND ended_seq IS NULL",
  "is to make an account": "SELECT id FROM links WHERE kind = 'setup' AND ended_seq IS NULL",
};

/** What is possible with each. */
const CAN: Record<keyof typeof LINKS, readonly Act[]> = {
  ...{ "was used": [], "was ended": [], "is to reset somebody else's password": [unlink] },
  "is to make an account": [unlink, create],
};

describe.each(Object.keys(LINKS) as (keyof typeof LINKS)[])("a link that %s", (what) => {
  compared.each([
    ["makes an account", create],
    ["sets a password", reset],
    ["is ended", unlink],
  ] as const)("%s", async (_name, act) => {
    const id = idIn(LINKS[what]);
    const end = "(ended_seq, used_by)";
    const before = "(SELECT id FROM links WHERE ended_seq = (SELECT max(seq) FROM events))";
    const found = await forged(
      act,
      { link_id: id },
      `UPDATE links SET ${end} = (SELECT ended_seq, used_by FROM links WHERE id = ${before}) WHERE id = '${id}'`,
      `UPDATE links SET ${end} = (NULL, NULL) WHERE ended_seq = (SELECT max(seq) FROM events) AND id <> '${id}'`,
      `UPDATE OR IGNORE accounts SET link_id = '${id}' WHERE created_seq = (SELECT max(seq) FROM events)`,
    );
    expect(found).toEqual(CAN[what].includes(act) ? POSSIBLE : IMPOSSIBLE);
  });
});

/** Returns an id of the base. */
function idIn(sql: string): string {
  const connection = openWorkspaceFile(base.database);
  try {
    return connection.value<string>(sql) ?? "";
  } finally {
    connection.close();
  }
}

describe("what belongs to somebody else", () => {
  compared("a session is not ended by another account", async () => {
    const end: Act = async (accounts) => {
      const { id } = await accounts.signIn(base.people.removed);
      const input = { accountId: base.people.removed, which: { id } };
      await accounts.by(base.people.removed, "account.end_sessions", input);
    };
    expect(await forged(end, {})).toEqual(POSSIBLE);
    expect(await forged(end, { account_id: base.people.founder })).toEqual(IMPOSSIBLE);
  });

  compared("a passkey is not removed by another account, nor twice", async () => {
    const remove: Act = async (accounts, parts) => {
      const { member } = base.people;
      const passkeyId = await makePasskey(parts, member);
      await accounts.by(member, "account.remove_passkey", { accountId: member, passkeyId });
    };
    expect(await forged(remove, {})).toEqual(POSSIBLE);
    expect(await forged(remove, { account_id: base.people.founder })).toEqual(IMPOSSIBLE);
    const removed = idIn("SELECT details ->> '$.passkey_id' FROM events WHERE operation = 'account.remove_passkey'");
    expect(await forged(remove, { passkey_id: removed })).toEqual(IMPOSSIBLE);
  });

  compared("a link to the issuer is not ended by another account", async () => {
    const end: Act = (accounts) =>
      accounts.by(base.people.founder, "account.unlink_identity", {
        ...{ accountId: base.people.founder, issuer: "https://id.example.org" },
      });
    expect(await forged(end, {})).toEqual(POSSIBLE);
    expect(await forged(end, { account_id: base.people.member })).toEqual(IMPOSSIBLE);
  });
});
