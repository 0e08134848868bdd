/**
 * The members of a workspace's file, its invitations and workloads, and its own row: each column changed, and rows added, removed,
 * exchanged or put back. Both programs find each.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { cpSync } from "node:fs";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { compared } from "../verify/second-verifier.ts";
import { type Places, placesIn } from "./base.ts";
import { ChangedFiles, exchange } from "./changed-files.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let files: ChangedFiles;
let base: Places;
beforeAll(async () => {
  files = await ChangedFiles.make();
  ({ base } = files);
}, PROCESS_TEST_MS);
afterAll(() => files[Symbol.asyncDispose]());

const OWNER = "role = 'owner'";
const AUDITOR = "role = 'auditor'";
const GROUPED = "issuer IS NOT NULL";
const [USED, OPEN, WITHDRAWN] = ["label = 'used'", "label = 'open'", "label = 'withdrawn'"];
const NOBODY = "usr_01h455vb4pex5vsknk084sn02z";

type Case = [name: string, sql: string, codes: string[]];

const OF_MEMBERS: Case[] = [
  ["an auditor is an owner", `UPDATE members SET role = 'owner' WHERE ${AUDITOR}`, ["row_changed"]],
  ["a role that there is not", `UPDATE members SET role = 'admin' WHERE ${AUDITOR}`, ["row_changed"]],
  [
    "a lowered role is as it was before",
    `UPDATE members SET role = 'owner', role_seq = joined_seq WHERE ${AUDITOR}`,
    ["row_changed"],
  ],
  ["a role is from another event", `UPDATE members SET role_seq = role_seq - 1 WHERE ${AUDITOR}`, ["row_changed"]],
  [
    "somebody joined with another event",
    `UPDATE members SET joined_seq = joined_seq - 1 WHERE ${AUDITOR}`,
    ["row_changed"],
  ],
  ["a role of groups is one for ever", `UPDATE members SET issuer = NULL WHERE ${GROUPED}`, ["row_changed"]],
  ["a role is of another issuer", `UPDATE members SET issuer = issuer || '/' WHERE ${GROUPED}`, ["row_changed"]],
  [
    "a role is one of groups",
    `UPDATE members SET issuer = (SELECT max(issuer) FROM members) WHERE ${OWNER}`,
    ["row_changed"],
  ],
  ["two members exchange their roles", exchange("members", "role", OWNER, AUDITOR), ["row_changed"]],
  [
    "two members exchange everything but the account",
    exchange("members", "role, issuer, joined_seq, role_seq", OWNER, GROUPED),
    ["row_changed"],
  ],
  ["a member is another account", `UPDATE members SET account_id = '${NOBODY}' WHERE ${OWNER}`, ["row_missing"]],
  ["a member is gone", `DELETE FROM members WHERE ${AUDITOR}`, ["row_missing"]],
  ["nobody is a member", "DELETE FROM members", ["row_missing"]],
  [
    "somebody is a member",
    `INSERT INTO members SELECT '${NOBODY}', role, issuer, joined_seq, role_seq FROM members WHERE ${OWNER}`,
    ["row_added"],
  ],
  [
    "somebody who left is back",
    `INSERT INTO members SELECT details ->> '$.account_id', details ->> '$.role', NULL, seq, seq FROM events
     WHERE operation = 'member.join' AND details ->> '$.account_id' NOT IN (SELECT account_id FROM members)`,
    ["row_added"],
  ],
  [
    "a trigger makes owners",
    "CREATE TRIGGER t AFTER INSERT ON members BEGIN UPDATE members SET role = 'owner'; END",
    ["schema_mismatch"],
  ],
  [
    "a view hides members",
    "ALTER TABLE members RENAME TO m; CREATE VIEW members AS SELECT * FROM m",
    ["schema_mismatch"],
  ],
];

const OF_INVITATIONS: Case[] = [
  [
    "a used invitation is open again",
    `UPDATE invitations SET ended_seq = NULL, used_by = NULL WHERE ${USED}`,
    ["row_changed"],
  ],
  ["a withdrawn one is open again", `UPDATE invitations SET ended_seq = NULL WHERE ${WITHDRAWN}`, ["row_changed"]],
  ["an open one is withdrawn without an event", `UPDATE invitations SET ended_seq = 2 WHERE ${OPEN}`, ["row_changed"]],
  [
    "an end is with another event",
    `UPDATE invitations SET ended_seq = ended_seq - 1 WHERE ${WITHDRAWN}`,
    ["row_changed"],
  ],
  ["one was used by somebody else", `UPDATE invitations SET used_by = '${NOBODY}' WHERE ${USED}`, ["row_changed"]],
  ["a withdrawn one was used", `UPDATE invitations SET used_by = '${NOBODY}' WHERE ${WITHDRAWN}`, ["row_changed"]],
  ["an open one gives a higher role", `UPDATE invitations SET role = 'owner' WHERE ${OPEN}`, ["row_changed"]],
  ["one expires later", `UPDATE invitations SET expires_at = expires_at + 1 WHERE ${OPEN}`, ["row_changed"]],
  ["one has another token", `UPDATE invitations SET digest = '${"ab".repeat(32)}' WHERE ${OPEN}`, ["row_changed"]],
  ["a digest is in capitals", `UPDATE invitations SET digest = upper(digest) WHERE ${OPEN}`, ["row_changed"]],
  ["one is for somebody else", `UPDATE invitations SET label = 'you' WHERE ${OPEN}`, ["row_changed"]],
  ["one is for nobody", `UPDATE invitations SET label = NULL WHERE ${OPEN}`, ["row_changed"]],
  ["two exchange their tokens", exchange("invitations", "digest", OPEN, WITHDRAWN), ["row_changed"]],
  ["two exchange their ends", exchange("invitations", "ended_seq, used_by", OPEN, USED), ["row_changed"]],
  ["one has another id", `UPDATE invitations SET id = 'inv_01h455vb4pex5vsknk084sn02q' WHERE ${OPEN}`, ["row_missing"]],
  ["one is gone", `DELETE FROM invitations WHERE ${OPEN}`, ["row_missing"]],
  ["one that was used is gone", `DELETE FROM invitations WHERE ${USED}`, ["row_missing"]],
  ["all are gone", "DELETE FROM invitations", ["row_missing"]],
  [
    "one is added",
    `INSERT INTO invitations SELECT 'inv_01h455vb4pex5vsknk084sn02q', '${"cd".repeat(32)}', role, label, expires_at,
      created_seq, ended_seq, used_by FROM invitations WHERE ${OPEN}`,
    ["row_added"],
  ],
  ["the index of tokens is missing", "DROP INDEX invitations_by_digest", ["schema_mismatch"]],
  ["the index of open ones is missing", "DROP INDEX invitations_open", ["schema_mismatch"]],
];

const [CI, OPS] = ["subject = 'ci'", "subject = 'ops'"];

const OF_WORKLOADS: Case[] = [
  ["one is somebody else", `UPDATE workloads SET subject = 'admin' WHERE ${CI}`, ["row_changed"]],
  ["one is of another issuer", `UPDATE workloads SET issuer = issuer || '/' WHERE ${CI}`, ["row_changed"]],
  ["two exchange their ids", exchange("workloads", "id", CI, OPS), ["row_changed"]],
  ["one is gone", `DELETE FROM workloads WHERE ${CI}`, ["row_missing"]],
  [
    "one is added",
    `INSERT INTO workloads SELECT 'wid_01h455vb4pex5vsknk084sn02q', issuer, 'admin', salt FROM workloads WHERE ${CI}`,
    ["row_added"],
  ],
  ["the index of subjects is missing", "DROP INDEX workloads_by_subject", ["schema_mismatch"]],
];

const OF_WORKSPACE: Case[] = [
  ["nobody needs a second factor", "UPDATE workspace SET second_factor_since = NULL", ["row_changed"]],
  [
    "a second factor is needed a moment later",
    "UPDATE workspace SET second_factor_since = second_factor_since + 1",
    ["row_changed"],
  ],
  ["the row is of another workspace", "UPDATE workspace SET id = 'ws_01h455vb4pex5vsknk084sn02z'", ["row_missing"]],
  ["the row is gone", "DELETE FROM workspace", ["row_missing"]],
  ["people sign in by an issuer only", "UPDATE workspace SET issuer_only = 1", ["row_changed"]],
  [
    "there is a second row",
    "INSERT INTO workspace VALUES ('ws_01h455vb4pex5vsknk084sn02z', NULL, NULL)",
    ["row_added"],
  ],
];

describe.each([
  ["members", OF_MEMBERS],
  ["invitations", OF_INVITATIONS],
  ["workloads", OF_WORKLOADS],
  ["the workspace itself", OF_WORKSPACE],
] as const)("%s", (_name, cases) => {
  compared.each([...cases])("%s", async (_what, sql, expected) => {
    await files.requireFound(sql, expected);
  });
});

compared("the file is intact as it is", async () => {
  expect(await files.verified(base.database)).toMatchObject({ exits: [0, 0], codes: [] });
});

describe.each(["members", "invitations", "workloads", "workspace"])("%s: each column of each row", (table) => {
  compared("changed to another value of its type", async () => {
    using connection = openConnection(base.database, { readOnly: true });
    const columns = connection.all<[string, string, number]>("SELECT name, type, pk FROM pragma_table_info(?)", [
      table,
    ]);
    const rows = connection.all<[number]>(`SELECT rowid FROM ${table}`).flat();
    expect(Math.min(rows.length, columns.length)).toBeGreaterThan(0);
    for (const [column, type, pk] of columns) {
      const other = type === "TEXT" ? `coalesce(${column}, '') || '0'` : `coalesce(${column}, 0) + 1`;
      for (const [at, rowid] of rows.entries()) {
        const change = `UPDATE ${table} SET ${column} = ${other} WHERE rowid = ${rowid}`;
        // Every second change is in the write-ahead log alone.
        using copy = files.changed((one) => one.exec(change), at % 2 === 1);
        const { exits, codes } = await files.verified(copy.path);
        expect({ change, exits, codes }).toEqual({
          change,
          exits: [1, 1],
          codes: [pk ? "row_missing" : "row_changed"],
        });
      }
    }
  });
});

compared("a problem names the row and the event that says otherwise, and no digest", async () => {
  using connection = openConnection(base.database, { readOnly: true });
  const [account, role] =
    connection.get<[string, number]>(`SELECT account_id, role_seq FROM members WHERE ${AUDITOR}`) ?? [];
  const [invitation, digest, ended] =
    connection.get<[string, string, number]>(`SELECT id, digest, ended_seq FROM invitations WHERE ${WITHDRAWN}`) ?? [];
  const found = async (sql: string) => {
    using copy = files.changed((one) => one.exec(sql), false);
    return (await files.verified(copy.path)).problems;
  };
  expect(await found(`UPDATE members SET role = 'owner' WHERE ${AUDITOR}`)).toMatchObject([
    { seq: role, operation: "member.change", table: "members", keys: [account] },
  ]);
  const problems = await found(`UPDATE invitations SET ended_seq = NULL WHERE ${WITHDRAWN}`);
  expect(problems).toMatchObject([
    { seq: ended, operation: "member.uninvite", table: "invitations", keys: [invitation] },
  ]);
  expect(JSON.stringify(problems)).not.toContain(digest as string);
  expect(await found("DELETE FROM workspace")).toMatchObject([{ operation: "workspace.change", table: "workspace" }]);
});

compared("what is moved to another workspace is missing there and added here", async () => {
  for (const [table, where] of [
    ["members", OWNER],
    ["invitations", OPEN],
  ] as const) {
    const root = files.directory.join(`moved-${table}`);
    cpSync(base.root, root, { recursive: true });
    const places = placesIn(root);
    using from = openConnection(places.database);
    const row = from.get<(string | number | null)[]>(`SELECT * FROM ${table} WHERE ${where}`) ?? [];
    from.run(`DELETE FROM ${table} WHERE ${where}`);
    from.truncateLog();
    using to = openConnection(places.otherDatabase);
    to.run(`INSERT INTO ${table} VALUES (${row.map(() => "?").join()})`, row);
    to.truncateLog();
    expect(await files.verified(places.database)).toMatchObject({ exits: [1, 1], codes: ["row_missing"] });
    expect(await files.verified(places.otherDatabase)).toMatchObject({ exits: [1, 1], codes: ["row_added"] });
  }
});

compared("the rows as they were before each of their events are found", async () => {
  using connection = openConnection(base.database, { readOnly: true });
  const changes = connection.all<[number, string, string]>(
    "SELECT seq, operation, details FROM events WHERE operation GLOB 'member.*' OR operation = 'workspace.change' ORDER BY seq",
  );
  expect(new Set(changes.map(([, operation]) => operation)).size).toBe(6);
  for (const [seq, operation, text] of changes) {
    const details = JSON.parse(text) as Record<string, string>;
    const before = BEFORE[operation]?.(details, seq) ?? [];
    using copy = files.changed((copied: Connection) => before.forEach((sql) => void copied.exec(sql)), true);
    const { exits } = await files.verified(copy.path);
    expect({ seq, operation, exits }).toEqual({ seq, operation, exits: [1, 1] });
  }
});

/** SQL: undoes what an event of each operation did, as far as its details say what was there. */
const BEFORE: Record<string, (details: Record<string, string>, seq: number) => string[]> = {
  "member.invite": ({ invitation_id: id }) => [`DELETE FROM invitations WHERE id = '${id}'`],
  "member.uninvite": ({ invitation_id: id }) => [`UPDATE invitations SET ended_seq = NULL WHERE id = '${id}'`],
  "member.join": ({ account_id: account }, seq) => [
    `DELETE FROM members WHERE account_id = '${account}'`,
    `UPDATE invitations SET ended_seq = NULL, used_by = NULL WHERE ended_seq = ${seq}`,
  ],
  "member.change": ({ account_id: account, role_before: role }) => [
    `UPDATE members SET role = '${role}', role_seq = joined_seq WHERE account_id = '${account}'`,
  ],
  "member.remove": ({ account_id: account, role }) => [
    `INSERT INTO members SELECT '${account}', '${role}', NULL, seq, seq FROM events
     WHERE operation = 'member.join' AND details ->> '$.account_id' = '${account}'`,
  ],
  "workspace.change": () => ["UPDATE workspace SET second_factor_since = NULL"],
};
