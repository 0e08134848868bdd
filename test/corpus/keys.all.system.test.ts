/** The keys of a workspace's file: each row changed, added, removed, exchanged or put back. Both programs find each. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { cpSync } from "node:fs";
import { openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
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

const ENDED = "label = 'ended' AND ended_seq IS NOT NULL";
const SUCCESSOR = "label = 'ended' AND ended_seq IS NULL";
const COLUMNS = "digest, label, scope, agents, networks, expires_at, created_seq, ended_seq, replaced_by";

type Case = [name: string, sql: string, codes: string[]];

const CASES: Case[] = [
  ["a revoked key is in force again", `UPDATE keys SET ended_seq = NULL WHERE ${ENDED}`, ["row_changed"]],
  ["all keys are in force again", "UPDATE keys SET ended_seq = NULL, expires_at = NULL", ["row_changed"]],
  ["a key is revoked without an event", `UPDATE keys SET ended_seq = 2 WHERE ${SUCCESSOR}`, ["row_changed"]],
  ["a revocation names another event", `UPDATE keys SET ended_seq = ended_seq - 1 WHERE ${ENDED}`, ["row_changed"]],
  ["an expiry is removed", `UPDATE keys SET expires_at = NULL WHERE ${SUCCESSOR}`, ["row_changed"]],
  ["an overlap is extended by one", `UPDATE keys SET expires_at = expires_at + 1 WHERE ${ENDED}`, ["row_changed"]],
  ["a replaced key can be replaced again", `UPDATE keys SET replaced_by = NULL WHERE ${ENDED}`, ["row_changed"]],
  ["a limit to networks is removed", "UPDATE keys SET networks = NULL WHERE label = 'limited'", ["row_changed"]],
  [
    "a limit is what it was before",
    `UPDATE keys SET networks = '["192.0.2.0/24","2001:db8::/32"]' WHERE ${ENDED}`,
    ["row_changed"],
  ],
  [
    "a limit is written in another way",
    "UPDATE keys SET networks = replace(networks, ',', ', ') WHERE label = 'limited'",
    ["row_changed"],
  ],
  [
    "a limit to agents gets one more",
    `UPDATE keys SET agents = '["alpha","beta","gamma"]' WHERE label = 'limited'`,
    ["row_changed"],
  ],
  ["a scope is widened", "UPDATE keys SET scope = 'full' WHERE label = 'limited'", ["row_changed"]],
  ["a scope that there is not", "UPDATE keys SET scope = 'any' WHERE label = 'limited'", ["row_changed"]],
  [
    "a digest is that of another key",
    `UPDATE keys SET digest = '${"ab".repeat(32)}' WHERE label = 'limited'`,
    ["row_changed"],
  ],
  ["a digest is in capitals", "UPDATE keys SET digest = upper(digest) WHERE label = 'limited'", ["row_changed"]],
  [
    "a key has another id",
    `UPDATE keys SET id = 'key_01h455vb4pex5vsknk084sn02q' WHERE label = 'limited'`,
    ["row_missing"],
  ],
  ["a key is removed", "DELETE FROM keys WHERE label = 'limited'", ["row_missing"]],
  ["a revoked key is removed", `DELETE FROM keys WHERE ${ENDED}`, ["row_missing"]],
  [
    "a key is added",
    `INSERT INTO keys SELECT 'key_01h455vb4pex5vsknk084sn02q', '${"cd".repeat(32)}', label, scope, agents, networks,
      expires_at, created_seq, ended_seq, replaced_by FROM keys WHERE label = 'limited'`,
    ["row_added"],
  ],
  ["two keys exchange their digests", exchange("keys", "digest", ENDED, SUCCESSOR), ["row_changed"]],
  ["two keys exchange their ends", exchange("keys", "ended_seq", ENDED, SUCCESSOR), ["row_changed"]],
  ["two keys exchange everything but the id", exchange("keys", COLUMNS, ENDED, "label = 'limited'"), ["row_changed"]],
  ["the table is empty", "DELETE FROM keys", ["row_missing"]],
  ["an index is missing", "DROP INDEX keys_by_digest", ["schema_mismatch"]],
  [
    "a trigger revives keys",
    "CREATE TRIGGER t AFTER UPDATE ON keys BEGIN UPDATE keys SET ended_seq = NULL; END",
    ["schema_mismatch"],
  ],
  ["a view hides keys", "ALTER TABLE keys RENAME TO k; CREATE VIEW keys AS SELECT * FROM k", ["schema_mismatch"]],
];

compared("the file is intact as it is, and says that the times of use are not covered", async () => {
  expect(await files.verified(base.database)).toMatchObject({ exits: [0, 0], codes: [] });
  const said = "key_use";
  expect((await governd(["verify", base.database])).out).toContain(`not covered: ${said}`);
  expect((await files.second.run(base.database)).out).toContain(`Not covered: ${said}`);
  for (const sql of ["UPDATE key_use SET last_used_at = 7", "DELETE FROM key_use"]) {
    using copy = files.changed((connection) => connection.run(sql), false);
    expect(await files.verified(copy.path)).toMatchObject({ exits: [0, 0], codes: [] });
  }
});

compared.each(CASES)("%s", async (_name, sql, expected) => {
  await files.requireFound(sql, expected);
});

compared("a problem names the key and the event that says otherwise, and no digest", async () => {
  using copy = files.changed((connection) => connection.exec(`UPDATE keys SET ended_seq = NULL WHERE ${ENDED}`), false);
  const [problem] = (await files.verified(copy.path)).problems;
  using connection = openConnection(base.database, { readOnly: true });
  const [id, digest, ended] =
    connection.get<[string, string, number]>(`SELECT id, digest, ended_seq FROM keys WHERE ${ENDED}`) ?? [];
  expect(problem).toMatchObject({ seq: ended, operation: "key.revoke", table: "keys", keys: [id] });
  expect(JSON.stringify(problem)).not.toContain(digest as string);
});

compared("a key that is moved to another workspace is missing there and added here", async () => {
  const root = files.directory.join("moved");
  cpSync(base.root, root, { recursive: true });
  const places = placesIn(root);
  using from = openConnection(places.database);
  const row = from.get<(string | number | null)[]>("SELECT * FROM keys WHERE label = 'limited'") ?? [];
  from.run("DELETE FROM keys WHERE label = 'limited'");
  from.truncateLog();
  using to = openConnection(places.otherDatabase);
  to.run(`INSERT INTO keys VALUES (${row.map(() => "?").join()})`, row);
  to.truncateLog();
  expect(await files.verified(places.database)).toMatchObject({ exits: [1, 1], codes: ["row_missing"] });
  expect(await files.verified(places.otherDatabase)).toMatchObject({ exits: [1, 1], codes: ["row_added"] });
});

compared("a key as it was before any of its events is found", async () => {
  using connection = openConnection(base.database, { readOnly: true });
  const [id, ended] = connection.get<[string, number]>(`SELECT id, ended_seq FROM keys WHERE ${ENDED}`) ?? [];
  const events = connection.all<[number, string]>(
    "SELECT seq, details FROM events WHERE operation LIKE 'key.%' AND details LIKE ? AND seq < ? ORDER BY seq",
    [`%${id}%`, ended as number],
  );
  expect(events).toHaveLength(3);
  // The row after each of them: made, limited, replaced.
  const older = [
    `ended_seq = NULL, replaced_by = NULL, networks = '["192.0.2.0/24","2001:db8::/32"]'`,
    "ended_seq = NULL, replaced_by = NULL",
    "ended_seq = NULL",
  ];
  for (const columns of older) {
    using copy = files.changed((copied) => copied.exec(`UPDATE keys SET ${columns} WHERE id = '${id}'`), true);
    expect(await files.verified(copy.path)).toMatchObject({ exits: [1, 1], codes: ["row_changed"] });
  }
});
