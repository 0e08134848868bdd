/**
 * What only the file of the installation has: accounts, passkeys, identities, links, sessions and workspaces. Each column is
 * changed, and rows are added, removed, exchanged or put back. Both programs find each, and neither accuses an honest directory,
 * whatever its pointer to that log says.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { makeBackup } from "../../src/backup/make.ts";
import { dataDirectory, sealFile, workspaceFile } from "../../src/core/datadir/layout.ts";
import { readSealKey, sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { createWorkspaceFile } from "../../src/core/writer/file.ts";
import { systemClock } from "../../src/ids.ts";
import { verifierKey } from "../../src/log/note.ts";
import { asAccount } from "../../src/ops/accounts/parts.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { removeDatabase } from "../../src/store/remove.ts";
import { governd } from "../cli/governd.ts";
import { effort } from "../effort.ts";
import { filesReleased } from "../released.ts";
import { Seeded } from "../seeded.ts";
import { Administration } from "../support/administration.ts";
import { restoreWhole } from "../support/restore.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { codesOf, compared, SecondVerifier } from "../verify/second-verifier.ts";
import { ChangedFiles, exchange } from "./changed-files.ts";
import { contentOf } from "./content.ts";
import { anywhere, inStructure, withFlipped } from "./flips.ts";
import { type InstallationBase, makeInstallationBase, makePasskey, withParts } from "./installation-base.ts";
import { expectRight, Judge } from "./judge.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const directory = temporaryDirectory();
let base: InstallationBase;
let files: ChangedFiles;
let copies = 0;
const second = new SecondVerifier();
let judge: Judge;
beforeAll(async () => {
  base = await makeInstallationBase(directory.path);
  await filesReleased(base.root);
  files = ChangedFiles.of(directory, base.database);
  judge = new Judge(directory.path);
}, PROCESS_TEST_MS);
afterAll(async () => {
  console.table(judge.table());
  await second[Symbol.asyncDispose]();
  await judge[Symbol.asyncDispose]();
  await files[Symbol.asyncDispose]();
});

/** The tables of which only the log of the installation states rows. */
const TABLES = ["accounts", "identities", "links", "passkeys", "sessions", "workspaces"] as const;
/** The number of rows of each table of which each column is changed. */
const ROWS = effort({ usual: 1, long: 1_000 });
const FLIPS = effort({ usual: 8, long: 2_000 });
const SEAL_FLIPS = effort({ usual: 4, long: 1_000 });
/** The bytes between two places where a record is cut off. No line has that length. */
const CUTS = effort({ usual: 23, long: 1 });
const SEED = 20_261_123;
const POINTER_FILE = "installation.json";

function copyOf(original: string): string {
  const root = directory.join(`copy-${copies++}`);
  cpSync(original, root, { recursive: true });
  return root;
}

/** Returns a copy of the directory in which `change` was made. */
function changed(change: (root: string) => void): string {
  const root = copyOf(base.root);
  change(root);
  return root;
}

function withFile(path: string, work: (connection: Connection) => void): void {
  using connection = openConnection(path);
  connection.exec("PRAGMA foreign_keys = OFF");
  work(connection);
  connection.truncateLog();
}

/** Verifies a directory with both programs, which must report the same codes. */
async function verified(root: string) {
  const ours = await governd(["verify", root, "--json"], { released: false });
  const theirs = await second.run(root);
  const { sources } = ours.json<{ sources: { problems: { code: string; message: string }[] }[] }>();
  const problems = sources.flatMap((source) => source.problems);
  const codes = codesOf(problems.map(({ code }) => code));
  expect(codesOf(theirs.codes), theirs.out).toEqual(codes);
  return { exits: [ours.code, theirs.code], codes, problems, said: theirs.out };
}

const GOOD = { exits: [0, 0], codes: [] as string[] };
const found = (...codes: string[]) => ({ exits: [1, 1], codes });

type Case = [name: string, sql: string, codes: string[]];

const FOUNDER = "email = 'founder@example.com'";
const MEMBER = "email = 'member@example.com'";
const OF_FOUNDER = `account_id = (SELECT id FROM accounts WHERE ${FOUNDER})`;
const OF_MEMBER = `account_id = (SELECT id FROM accounts WHERE ${MEMBER})`;
const NOBODY = "usr_01h455vb4pex5vsknk084sn02z";
const HASH = "ab".repeat(32);
const BOUND = "codes, email, name, password, password_changed_at, totp_secret, totp_since, totp_step, salt";

const OF_ACCOUNTS: Case[] = [
  ["a password is another", `UPDATE accounts SET password = '$argon2id$' WHERE ${FOUNDER}`, ["row_changed"]],
  ["there is no password", `UPDATE accounts SET password = '' WHERE ${MEMBER}`, ["row_changed"]],
  [
    "there is no second factor",
    `UPDATE accounts SET totp_secret = NULL, totp_since = NULL WHERE ${FOUNDER}`,
    ["row_changed"],
  ],
  ["a second factor is not asked for", `UPDATE accounts SET totp_since = NULL WHERE ${FOUNDER}`, ["row_changed"]],
  ["a second factor is another", `UPDATE accounts SET totp_secret = 'x' WHERE ${FOUNDER}`, ["row_changed"]],
  ["a used code works again", `UPDATE accounts SET totp_step = totp_step - 1 WHERE ${FOUNDER}`, ["row_changed"]],
  [
    "there is one more recovery code",
    `UPDATE accounts SET codes = json_insert(codes, '$[#]', '${HASH}') WHERE ${FOUNDER}`,
    ["row_changed"],
  ],
  ["there are no recovery codes", `UPDATE accounts SET codes = '[]' WHERE ${FOUNDER}`, ["row_changed"]],
  ["a list is written in another way", "UPDATE accounts SET codes = '[ ]' WHERE codes = '[]'", ["row_changed"]],
  ["an address is another", `UPDATE accounts SET email = 'you@example.com' WHERE ${FOUNDER}`, ["row_changed"]],
  ["a name is another", `UPDATE accounts SET name = 'you' WHERE ${FOUNDER}`, ["row_changed"]],
  ["a salt is another", `UPDATE accounts SET salt = '${"0".repeat(32)}' WHERE ${FOUNDER}`, ["row_changed"]],
  ["a salt is none", `UPDATE accounts SET salt = 'x' WHERE ${FOUNDER}`, ["row_changed"]],
  ["two exchange their passwords", exchange("accounts", "password", FOUNDER, MEMBER), ["row_changed"]],
  ["two exchange all that is bound", exchange("accounts", BOUND, FOUNDER, MEMBER), ["row_changed"]],
  ["one was made with another link", `UPDATE accounts SET link_id = NULL WHERE ${FOUNDER}`, ["row_changed"]],
  ["one is another", `UPDATE accounts SET id = '${NOBODY}' WHERE ${FOUNDER}`, ["row_missing"]],
  ["one is gone", `DELETE FROM accounts WHERE ${MEMBER}`, ["row_missing"]],
  ["nobody has an account", "DELETE FROM accounts", ["row_missing"]],
  [
    "one is added",
    `INSERT INTO accounts (id, created_seq, link_id, ${BOUND})
     SELECT '${NOBODY}', created_seq, NULL, ${BOUND.replace("email", "'x' || email")} FROM accounts WHERE ${FOUNDER}`,
    ["row_added"],
  ],
];

const OF_PASSKEYS: Case[] = [
  [
    "one is that of another account",
    `UPDATE passkeys SET account_id = '${NOBODY}' WHERE ${OF_MEMBER}`,
    ["row_changed"],
  ],
  ["two people exchange theirs", exchange("passkeys", "account_id", OF_FOUNDER, OF_MEMBER), ["row_changed"]],
  ["a public key is another", `UPDATE passkeys SET public_key = 'pQECAyY' WHERE ${OF_MEMBER}`, ["row_changed"]],
  ["a credential is another", `UPDATE passkeys SET credential_id = 'AA' WHERE ${OF_MEMBER}`, ["row_changed"]],
  ["a counter goes back", `UPDATE passkeys SET counter = counter - 1 WHERE ${OF_FOUNDER}`, ["row_changed"]],
  ["one works under another name", "UPDATE passkeys SET host = 'elsewhere.example.org'", ["row_changed"]],
  ["one was never used", "UPDATE passkeys SET used_seq = NULL", ["row_changed"]],
  ["one has another name", "UPDATE passkeys SET name = 'x' || name", ["row_changed"]],
  ["nobody has one", "DELETE FROM passkeys", ["row_missing"]],
  [
    "one is added",
    `INSERT INTO passkeys SELECT 'pky_01h455vb4pex5vsknk084sn02q', account_id, host, created_seq, used_seq, counter,
     credential_id || 'A', name, public_key, salt FROM passkeys WHERE ${OF_FOUNDER}`,
    ["row_added"],
  ],
  [
    "a trigger removes them",
    "CREATE TRIGGER t AFTER INSERT ON passkeys BEGIN DELETE FROM passkeys; END",
    ["schema_mismatch"],
  ],
  [
    "a view hides them",
    "ALTER TABLE passkeys RENAME TO p; CREATE VIEW passkeys AS SELECT * FROM p",
    ["schema_mismatch"],
  ],
  ["an index is missing", "DROP INDEX passkeys_by_account", ["schema_mismatch"]],
];

const OF_IDENTITIES: Case[] = [
  ["a subject is another", `UPDATE identities SET subject = 's-you' WHERE ${OF_FOUNDER}`, ["row_changed"]],
  ["an issuer is another", `UPDATE identities SET issuer = issuer || '/' WHERE ${OF_FOUNDER}`, ["row_changed"]],
  ["one is of another account", `UPDATE identities SET account_id = '${NOBODY}' WHERE ${OF_FOUNDER}`, ["row_changed"]],
  ["two exchange theirs", exchange("identities", "account_id", OF_FOUNDER, "subject = 's-grouped'"), ["row_changed"]],
  [
    "an issuer asked for one factor",
    `UPDATE identities SET multi_factor = 1 - multi_factor WHERE ${OF_FOUNDER}`,
    ["row_changed"],
  ],
  ["one was linked with another event", "UPDATE identities SET linked_seq = linked_seq - 1", ["row_changed"]],
  ["one is gone", `DELETE FROM identities WHERE ${OF_FOUNDER}`, ["row_missing"]],
  [
    "one that was ended is back",
    `INSERT INTO identities SELECT details ->> '$.identity_id', details ->> '$.account_id', seq, 1,
     'https://id.example.org', 's-member', '${"0".repeat(32)}' FROM events WHERE operation = 'account.unlink_identity'`,
    ["row_added"],
  ],
];

const USED = "used_by IS NOT NULL AND kind = 'setup'";
const RESET = "used_by IS NOT NULL AND kind = 'reset'";
const ENDED = "used_by IS NULL AND ended_seq IS NOT NULL";
const OPEN = "ended_seq IS NULL";

const OF_LINKS: Case[] = [
  ["a used one is open again", `UPDATE links SET ended_seq = NULL, used_by = NULL WHERE ${USED}`, ["row_changed"]],
  ["an ended one is open again", `UPDATE links SET ended_seq = NULL WHERE ${ENDED}`, ["row_changed"]],
  ["an open one is ended without an event", `UPDATE links SET ended_seq = 2 WHERE ${OPEN}`, ["row_changed"]],
  ["one was used by somebody else", `UPDATE links SET used_by = '${NOBODY}' WHERE ${RESET}`, ["row_changed"]],
  ["one expires later", `UPDATE links SET expires_at = expires_at + 1 WHERE ${OPEN}`, ["row_changed"]],
  ["one is of another kind", `UPDATE links SET kind = 'setup' WHERE kind = 'reset'`, ["row_changed"]],
  ["one is for another account", `UPDATE links SET account_id = '${NOBODY}' WHERE kind = 'reset'`, ["row_changed"]],
  ["one ends the second factor", "UPDATE links SET second_factor_ends = 1 - second_factor_ends", ["row_changed"]],
  ["one has another token", `UPDATE links SET digest = '${HASH}' WHERE ${ENDED}`, ["row_changed"]],
  ["two exchange their tokens", exchange("links", "digest", ENDED, RESET), ["row_changed"]],
  ["all are gone", "DELETE FROM links", ["row_missing"]],
  [
    "one is added",
    `INSERT INTO links SELECT 'inv_01h455vb4pex5vsknk084sn02q', '${HASH}', 'setup', NULL, 0, expires_at, created_seq, NULL, NULL
     FROM links WHERE ${ENDED}`,
    ["row_added"],
  ],
  ["the index of tokens is missing", "DROP INDEX links_by_digest", ["schema_mismatch"]],
];

const ONE_SESSION = "id = (SELECT min(id) FROM sessions)";
const LAST_SESSION = "id = (SELECT max(id) FROM sessions)";

const OF_SESSIONS: Case[] = [
  ["one is of another account", `UPDATE sessions SET account_id = '${NOBODY}' WHERE ${ONE_SESSION}`, ["row_changed"]],
  ["one has another cookie", `UPDATE sessions SET digest = '${HASH}' WHERE ${ONE_SESSION}`, ["row_changed"]],
  ["two exchange their cookies", exchange("sessions", "digest", ONE_SESSION, LAST_SESSION), ["row_changed"]],
  ["one ends later", `UPDATE sessions SET expires_at = expires_at + 1 WHERE ${ONE_SESSION}`, ["row_changed"]],
  [
    "one began with a second factor",
    "UPDATE sessions SET second_factor = 'passkey' WHERE second_factor IS NULL",
    ["row_changed"],
  ],
  ["one began without", "UPDATE sessions SET second_factor = NULL WHERE second_factor = 'totp'", ["row_changed"]],
  ["one began from elsewhere", `UPDATE sessions SET address = '192.0.2.1' WHERE ${ONE_SESSION}`, ["row_changed"]],
  ["one began with another browser", `UPDATE sessions SET user_agent = 'curl' WHERE ${ONE_SESSION}`, ["row_changed"]],
  ["one began with a password", "UPDATE sessions SET issuer_session = NULL", ["row_changed"]],
  ["all are gone", "DELETE FROM sessions", ["row_missing"]],
  [
    "one that was ended is back",
    `INSERT INTO sessions SELECT (SELECT details ->> '$.sessions[0]' FROM events WHERE operation = 'account.end_sessions' LIMIT 1),
     account_id, created_seq, expires_at, second_factor, address, '${HASH}', issuer_session, user_agent, salt
     FROM sessions WHERE ${ONE_SESSION}`,
    ["row_added"],
  ],
];

const OF_WORKSPACES: Case[] = [
  ["one has another name", "UPDATE workspaces SET name = 'x' WHERE name = 'other'", ["row_changed"]],
  ["one has another founder", `UPDATE workspaces SET founder = '${NOBODY}' WHERE name = 'corpus'`, ["row_changed"]],
  ["nobody founded one", "UPDATE workspaces SET founder = NULL WHERE name = 'corpus'", ["row_changed"]],
  ["one has another first event", `UPDATE workspaces SET genesis = '${HASH}' WHERE name = 'other'`, ["row_changed"]],
  ["one is deleted without an event", "UPDATE workspaces SET deleted_seq = 3 WHERE name = 'other'", ["row_changed"]],
  ["a deleted one is there again", "UPDATE workspaces SET deleted_seq = NULL", ["row_changed"]],
  ["one is gone", "DELETE FROM workspaces WHERE name = 'other'", ["row_missing"]],
  [
    "one is added",
    `INSERT INTO workspaces SELECT 'ws_01h455vb4pex5vsknk084sn02z', name, genesis, founder, added_seq, NULL
     FROM workspaces WHERE name = 'other'`,
    ["row_added"],
  ],
  ["people do not need the issuer", "UPDATE workspace SET issuer_only = 0", ["row_changed"]],
  ["nobody chose whether people need the issuer", "UPDATE workspace SET issuer_only = NULL", ["row_changed"]],
];

describe.each([
  ["accounts", OF_ACCOUNTS],
  ["passkeys", OF_PASSKEYS],
  ["identities", OF_IDENTITIES],
  ["links", OF_LINKS],
  ["sessions", OF_SESSIONS],
  ["workspaces", OF_WORKSPACES],
] as const)("%s", (_name, cases) => {
  compared.each([...cases])("%s", async (_what, sql, expected) => {
    await files.requireFound(sql, expected);
  });
});

describe.each([...TABLES])("%s: each column of a row", (table) => {
  compared("changed to another value of its type", async () => {
    using connection = openConnection(base.database, { readOnly: true });
    const columns = connection.all<[string, string, number]>("SELECT name, type, pk FROM pragma_table_info(?)", [
      table,
    ]);
    const rows = connection.all<[number]>(`SELECT rowid FROM ${table}`).flat();
    expect(Math.min(rows.length, columns.length)).toBeGreaterThan(0);
    const chosen = new Seeded(SEED).shuffled(rows).slice(0, ROWS);
    for (const [column, type, pk] of columns) {
      const other = type === "TEXT" ? `coalesce(${column}, '') || '0'` : `coalesce(${column}, 0) + 1`;
      for (const [at, rowid] of chosen.entries()) {
        const change = `UPDATE ${table} SET ${column} = ${other} WHERE rowid = ${rowid}`;
        // Every second change is in the write-ahead log alone.
        using copy = files.changed((one) => one.exec(change), at % 2 === 1);
        const { exits, codes } = await files.verified(copy.path);
        const code = pk ? "row_missing" : "row_changed";
        expect({ change, exits, codes }).toEqual({ change, ...found(code) });
      }
    }
  });
});

compared("when sessions were last used is no evidence, and the report says so", async () => {
  using copy = files.changed((one) => one.exec("UPDATE session_use SET last_seen_at = 1"), false);
  expect(await files.verified(copy.path)).toMatchObject(GOOD);
  const { out } = await governd(["verify", copy.path]);
  expect(out).toContain("not covered: session_use: when each session was last used");
  expect((await second.run(copy.path)).out).toContain("Not covered: session_use");
});

compared("a problem names the row and the event that says otherwise, and nothing secret", async () => {
  const sql = `UPDATE accounts SET password = '$argon2id$secret', totp_secret = 'hidden' WHERE ${FOUNDER}`;
  using copy = files.changed((one) => one.exec(sql), false);
  const { problems } = await files.verified(copy.path);
  expect(problems).toMatchObject([
    { code: "row_changed", operation: "account.renew_codes", table: "accounts", keys: [base.people.founder] },
  ]);
  const { out } = await second.run(copy.path);
  for (const text of [JSON.stringify(problems), out]) expect(text).not.toMatch(/secret'|hidden|founder@example/);
});

compared("rows that are put back as they were before an event are found", async () => {
  const later = dataDirectory(copyOf(base.root));
  const { founder, member, removed } = base.people;
  const database = workspaceFile(later, base.installation);
  const acts: [table: string, where: string, act: Parameters<typeof withParts>[1]][] = [
    [
      "accounts",
      FOUNDER,
      ({ workspaces, ...parts }) =>
        workspaces.change(asAccount(parts, founder), "account.rename", { accountId: founder, name: "later" }),
    ],
    [
      "passkeys",
      OF_MEMBER,
      ({ workspaces, ...parts }) =>
        workspaces.change(asAccount(parts, member), "account.remove_passkey", {
          ...{ accountId: member, passkeyId: base.passkeys.member },
        }),
    ],
    [
      "sessions",
      `account_id = '${removed}'`,
      ({ workspaces, ...parts }) =>
        workspaces.change(asAccount(parts, removed), "account.end_sessions", {
          ...{ accountId: removed, which: { allBut: null } },
        }),
    ],
    [
      "identities",
      OF_FOUNDER,
      ({ workspaces, ...parts }) =>
        workspaces.change(asAccount(parts, founder), "account.unlink_identity", {
          ...{ accountId: founder, issuer: "https://id.example.org" },
        }),
    ],
    ["workspaces", "name = 'other'", (parts) => new Administration(parts, later).createWorkspace("one more")],
  ];
  for (const [, , act] of acts) await withParts(later, act);
  await filesReleased(later.root);
  expect(await verified(later.root)).toMatchObject(GOOD);
  for (const [table, where] of acts.slice(0, 4)) {
    const path = directory.join(`before-${table}.db`);
    copyFileSync(database, path);
    withFile(path, (connection) => {
      connection.exec(`ATTACH '${base.database}' AS old`);
      const rows = `SELECT rowid FROM old.${table} WHERE ${where.replaceAll("FROM accounts", "FROM old.accounts")}`;
      connection.exec(`DELETE FROM main.${table} WHERE rowid IN (${rows});
        INSERT INTO main.${table} SELECT * FROM old.${table} WHERE rowid IN (${rows}); DETACH old`);
    });
    expect({ table, ...(await files.verified(path)) }).toMatchObject({
      ...{ table, exits: [1, 1], codes: [table === "accounts" ? "row_changed" : "row_added"] },
    });
  }
});

describe("a bit", () => {
  compared("of the file is found if events state what it changes", async () => {
    const path = directory.join("flipped.db");
    copyFileSync(base.database, path);
    const good = contentOf(path);
    expect(good).not.toBeNull();
    const bytes = readFileSync(path);
    const seeded = new Seeded(SEED);
    const wrong: unknown[] = [];
    for (let count = 0; count < 2 * FLIPS; count++) {
      const [at, bit] = (count % 2 === 0 ? anywhere : inStructure)(seeded, bytes);
      for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
      writeFileSync(path, withFlipped(bytes, [at, bit]));
      const said = await judge.flipped("installation", `byte ${at} bit ${bit}`, path, { keys: [] });
      wrong.push(said.wrong);
      if (said.passes && contentOf(path) !== good) wrong.push([at, bit, "passes"]);
    }
    expectRight(wrong);
  });

  compared("of a file of seals is found, in that of the installation, too", async () => {
    const root = copyOf(base.root);
    const seeded = new Seeded(SEED);
    const paths = readdirSync(join(root, "seals")).map((name) => join(root, "seals", name));
    expect(paths.length).toBe(3);
    const words = { keys: [readFileSync(join(root, "keys", "seal.pub"), "utf8")] };
    const wrong: unknown[] = [];
    for (const path of paths) {
      const original = readFileSync(path);
      for (let count = 0; count < SEAL_FLIPS; count++) {
        const [at, bit] = anywhere(seeded, original);
        writeFileSync(path, withFlipped(original, [at, bit]));
        const to = `${path.slice(root.length)} byte ${at} bit ${bit}`;
        const said = await judge.flipped("seals", to, root, words);
        wrong.push(said.wrong);
        // A seal with another signature counts as the stored one, which has its own signature.
        const isSignature = original.lastIndexOf("\n\u2014 ", at) > original.lastIndexOf("\n", at - 1) - 1;
        if (said.passes && !isSignature) wrong.push([to, "passes"]);
      }
      writeFileSync(path, original);
    }
    expectRight(wrong);
  });
});

compared("a file of seals is nothing but records, of which a crash may have cut off the last one", async () => {
  const root = copyOf(base.root);
  const path = join(root, "seals", `${base.otherId}.log`);
  for (const name of readdirSync(join(root, "workspaces"))) {
    if (!name.startsWith(base.otherId)) rmSync(join(root, "workspaces", name));
  }
  rmSync(join(root, POINTER_FILE));
  // The newest record alone, since the others are like it.
  const [last = ""] = /(?:[^\n]+\n){3}\n(?:— [^\n]+\n)+\n$/.exec(readFileSync(path, "utf8")) ?? [];
  const original = Buffer.from(last);
  expect(original.length).toBeGreaterThan(100);
  const lines = original.toString("utf8").split("\n");
  const edits: [string, Buffer, 0 | 1][] = [];
  for (const [number, line] of lines.entries()) {
    const at = Buffer.byteLength(lines.slice(0, number + 1).join("\n"));
    // The end of a line becomes another control character, or a letter.
    if (at < original.length)
      for (const bit of [0, 6]) edits.push([`line ${number}`, withFlipped(original, [at, bit]), 1]);
    const last = number >= lines.length - 2;
    edits.push([`without line ${number}`, Buffer.from(lines.toSpliced(number, 1).join("\n")), last ? 0 : 1]);
    edits.push([
      `twice line ${number}`,
      Buffer.from(lines.toSpliced(number, 0, line).join("\n")),
      line.startsWith("— ") ? 0 : 1,
    ]);
  }
  for (let end = original.length; end > 0; end -= CUTS) edits.push([`cut off at ${end}`, original.subarray(0, end), 0]);
  const wrong: unknown[] = [];
  for (const [to, bytes, exit] of edits) {
    writeFileSync(path, bytes);
    wrong.push(await judge.wrong({ form: "seals", kind: "edited", to, exit }, root, { keys: [] }, true));
  }
  expectRight(wrong);
});

/** Changes members of the pointer. */
const pointTo = (path: string, changes: object) =>
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...changes }));

describe("the pointer to the log of the installation", () => {
  compared("is no evidence: nothing is accused, and nothing is missed, whatever it says", async () => {
    mkdirSync(directory.join("another"));
    const another = await makeInstallationBase(directory.join("another"));
    const whole: [string, (path: string) => void][] = [
      ["missing", (path) => rmSync(path)],
      ["emptied", (path) => truncateSync(path)],
      ["cut off", (path) => truncateSync(path, 50)],
      ["garbage", (path) => writeFileSync(path, Buffer.alloc(40_000, 7))],
      ["a workspace's", (path) => copyFileSync(workspaceFile(base.directory, base.workspaceId), path)],
      ["of another installation", (path) => copyFileSync(another.directory.pointer, path)],
      ["to a workspace", (path) => pointTo(path, { installation_id: base.workspaceId })],
      ["of another form", (path) => pointTo(path, { installation_id: 7 })],
      ["of a later format", (path) => pointTo(path, { format: "governd.installation/2" })],
    ];
    for (const [kind, make] of whole) {
      const root = changed((copy) => make(join(copy, POINTER_FILE)));
      expect({ kind, ...(await verified(root)) }).toMatchObject({ kind, ...GOOD });
      // A workspace that vanished is missed all the same.
      removeDatabase(workspaceFile(dataDirectory(root), base.otherId));
      rmSync(sealFile(dataDirectory(root), base.otherId));
      expect({ kind, ...(await verified(root)) }).toMatchObject({ kind, ...found("workspace_missing") });
    }
  });

  compared("alone is not verified", async () => {
    const { exits, codes } = await verified(base.directory.pointer);
    expect([exits, codes]).toEqual([[2, 2], ["not_evidence"]]);
  });
});

/** Removes the file of the installation, with its seals. */
const withoutInstallation = (root: string) => {
  removeDatabase(workspaceFile(dataDirectory(root), base.installation));
  rmSync(sealFile(dataDirectory(root), base.installation));
};

describe("the log of the installation", () => {
  compared("is missed when it is gone", async () => {
    const root = changed(withoutInstallation);
    expect(await verified(root)).toMatchObject(found("workspace_missing"));
    pointTo(join(root, POINTER_FILE), { installation_id: 7 });
    expect(await verified(root)).toMatchObject(found("workspace_unknown"));
  });

  compared("is not asked for when there are only some of the files, which the report says", async () => {
    const root = changed((copy) => {
      withoutInstallation(copy);
      rmSync(join(copy, POINTER_FILE));
    });
    const { exits, codes, said } = await verified(root);
    expect([exits, codes]).toEqual([[0, 0], []]);
    expect(said).toContain("Not covered: the log of the installation is not part of this");
    const words = "not covered: the log of the installation is not part of this evidence";
    for (const path of [root, workspaceFile(base.directory, base.workspaceId)]) {
      expect(await governd(["verify", path])).toMatchObject({ code: 0, out: expect.stringContaining(words) });
    }
  });

  compared("of another installation proves nothing for it", async () => {
    const another = directory.join("with-another");
    mkdirSync(another);
    const foreign = await makeInstallationBase(another);
    await filesReleased(foreign.root);
    const root = changed((copy) => {
      for (const folder of ["workspaces", "seals"])
        cpSync(join(foreign.root, folder), join(copy, folder), { recursive: true });
    });
    // Its files are younger than the newest event here, so that they may have been made after the log was copied.
    expect(await verified(root)).toMatchObject({ exits: [2, 2], codes: ["copied_while_written"] });
    await withParts(dataDirectory(root), (parts) => makePasskey(parts, base.people.member));
    await filesReleased(root);
    // One of them has nothing but its making.
    expect(await verified(root)).toMatchObject(found("copied_while_written", "workspace_unknown"));
  });

  compared("names the first event of each workspace", async () => {
    const root = copyOf(base.root);
    const there = dataDirectory(root);
    const path = workspaceFile(there, base.otherId);
    removeDatabase(path);
    rmSync(sealFile(there, base.otherId));
    const sealKey = verifierKey(`localhost/${base.otherId}`, readSealKey(sealKeySource(there, null)).publicBytes);
    await createWorkspaceFile(path, { workspaceId: base.otherId, name: "other", actor: "cli", sealKey });
    expect(await verified(root)).toMatchObject(found("workspace_behind_head", "workspace_unknown"));
  });
});

describe("honest", () => {
  compared("is the directory as it is", async () => {
    const { exits, codes, said } = await verified(base.root);
    expect([exits, codes], said).toEqual([[0, 0], []]);
    const { code, out } = await governd(["verify", base.root]);
    expect([code, out]).toEqual([0, expect.not.stringContaining("the log of the installation is not part")]);
  });

  compared("are a node's copies, which alone establish nothing, and of which a changed one is found", async () => {
    // The log of the installation may be newer than the copies of the workspaces, and name some without a copy.
    const root = changed((copy) => pointTo(join(copy, POINTER_FILE), { engine: "libsql-server" }));
    const node = dataDirectory(root);
    removeDatabase(workspaceFile(node, base.otherId));
    const asNode = await verified(root);
    expect([asNode.exits, asNode.codes], asNode.said).toEqual([[2, 2], ["node_copies"]]);
    expect((await governd(["verify", root])).out).toContain("governd verify URL");
    withFile(workspaceFile(node, base.workspaceId), (one) =>
      one.exec("UPDATE agents SET first_seq = first_seq + 1000"),
    );
    const changedCopy = await verified(root);
    expect(changedCopy.exits, changedCopy.said).toEqual([1, 1]);
  });

  compared("is a copy whose log of the installation was copied before a workspace was made", async () => {
    const later = dataDirectory(copyOf(base.root));
    await withParts(later, (parts) => new Administration(parts, later).createWorkspace("later"));
    await filesReleased(later.root);
    expect(await verified(later.root)).toMatchObject(GOOD);
    removeDatabase(workspaceFile(later, base.installation));
    copyFileSync(base.database, workspaceFile(later, base.installation));
    copyFileSync(sealFile(base.directory, base.installation), sealFile(later, base.installation));
    expect(await verified(later.root)).toMatchObject({ exits: [2, 2], codes: ["copied_while_written"] });
  });

  compared("is a backup without a damaged workspace, and what is restored from it", async () => {
    const source = dataDirectory(copyOf(base.root));
    truncateSync(workspaceFile(source, base.otherId), 3 * 4096);
    const destination = directory.join("backups-without");
    const { path } = await makeBackup({ source, destination, keep: null, clock: systemClock });
    const dataDir = directory.join("restored-without");
    await restoreWhole(path, dataDir, { partial: true });
    for (const root of [path, dataDir]) {
      const { exits, codes, problems, said } = await verified(root);
      expect([exits, codes], said).toEqual([[2, 2], ["workspace_left_out"]]);
      expect(problems[0]?.message).toContain("its file is missing: the backup");
      // The backup did not leave out another workspace whose file is gone.
      rmSync(workspaceFile(dataDirectory(root), base.workspaceId));
      expect((await verified(root)).exits).toEqual([1, 1]);
    }
  });
});
