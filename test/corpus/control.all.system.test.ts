/**
 * The control database against the logs: every column that events cover changed, every row removed, added and swapped.
 * Both programs must find each. Neither accuses an honest directory.
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
import { restoreBackup } from "../../src/backup/restore.ts";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { systemClock } from "../../src/ids.ts";
import { Administration } from "../../src/ops/directory/administration.ts";
import type { Change } from "../../src/ops/directory/changes.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { COVERED } from "../../src/verify/control/stored.ts";
import { governd } from "../cli/governd.ts";
import { effort } from "../effort.ts";
import { Seeded } from "../seeded.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { codesOf, compared, SecondVerifier } from "../verify/second-verifier.ts";
import { type ControlBase, makeControlBase, withParts } from "./control-base.ts";
import { controlChanges, Oracle, schemaChanges, statedOf, WITHOUT_EVENT } from "./control-changes.ts";
import { Copies, columnsOf, type Change as RowsChange } from "./databases.ts";
import { anywhere, inStructure, withFlipped } from "./flips.ts";
import { expectRight, Judge } from "./judge.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const directory = temporaryDirectory();
let base: ControlBase;
let copies = 0;
const second = new SecondVerifier();
let judge: Judge;
beforeAll(async () => {
  base = await makeControlBase(directory.path);
  judge = new Judge(directory.path);
}, PROCESS_TEST_MS);
afterAll(async () => {
  console.table(judge.table());
  await second[Symbol.asyncDispose]();
  await judge[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

function copyOf(original: string): string {
  const root = directory.join(`copy-${copies++}`);
  cpSync(original, root, { recursive: true });
  return root;
}

/** Copies the directory, and changes the copy's control database. Returns the copy's path. */
function changed(change: (connection: Connection) => void): string {
  const root = copyOf(base.root);
  using connection = openConnection(dataDirectory(root).control);
  connection.exec("PRAGMA foreign_keys = OFF");
  change(connection);
  connection.truncateLog();
  return root;
}

/** Verifies a directory with both programs, which must report the same codes. */
async function verified(root: string) {
  const ours = await governd(["verify", root, "--json"], { released: false });
  const theirs = await second.run(root);
  const { sources } = ours.json<{ sources: { problems: { code: string; message: string }[] }[] }>();
  const problems = sources.flatMap((source) => source.problems);
  const codes = problems.map(({ code }) => code);
  expect(codesOf(theirs.codes), theirs.out).toEqual(codesOf(codes));
  return { exits: [ours.code, theirs.code], codes, problems, said: theirs.out };
}

const CONTROL_FILE = "control.db";
/** The number of changes that are made to each column and to each table: they differ in row and kind. */
const CHANGES_ALIKE = effort({ usual: 1, long: 1_000 });
/** One in this many of the changes of the schema is made. */
const SCHEMA_CHANGES = effort({ usual: 8, long: 1 });
const FLIPS = effort({ usual: 8, long: 2_000 });
const SEAL_FLIPS = effort({ usual: 4, long: 1_000 });
/** The bytes between two places where a record is cut off. No line has that length. */
const CUTS = effort({ usual: 23, long: 1 });
const SEED = 20_261_123;

/** Makes each change in a copy of the control database, and returns what is wrong with the verdicts. */
async function judgedAll(changes: readonly RowsChange[]): Promise<unknown[]> {
  const root = copyOf(base.root);
  const copies = new Copies(base.directory.control, root, join(root, CONTROL_FILE));
  const wrong: unknown[] = [];
  for (const [index, change] of changes.entries()) {
    // Every second change is in the write-ahead log alone.
    const look = () => judge.wrong({ ...change, form: "control" }, root, { keys: [] });
    wrong.push(await copies.with(change, index % 2 === 1, look));
  }
  return wrong;
}

/** Columns that are compared with the event that a pending act names. */
const OF_PENDING_ACTS = ["workspace_id", "event", "changes"].map((column) => `pending_acts.${column}`);

compared("every column is compared with events, or on the list of those that are not", () => {
  using connection = openConnection(base.directory.control, { readOnly: true });
  const all = [...columnsOf(connection)].flatMap(([table, names]) => names.map((name) => `${table}.${name}`));
  const compared = Object.entries(COVERED).flatMap(([table, columns]) =>
    Object.keys(columns).map((column) => `${table}.${column}`),
  );
  expect([...compared, ...OF_PENDING_ACTS, ...WITHOUT_EVENT].sort()).toEqual(all.sort());
});

describe("generated", () => {
  compared("changes of every column and row are found if events state them, and only then", async () => {
    using connection = openConnection(base.directory.control);
    const oracle = new Oracle(connection, base.people.founder);
    const all = new Seeded(SEED).shuffled(controlChanges(connection));
    const alike = Map.groupBy(all, ({ to }) => to.replace(/ row .*/, ""));
    const chosen = [...alike.values()].flatMap((changes) => changes.slice(0, CHANGES_ALIKE));
    expectRight(await judgedAll(chosen.map((change) => oracle.judged(change))));
    const columns = [...columnsOf(connection)].filter(([table]) => table !== "pending_acts");
    expect([...alike.keys()].sort()).toEqual(
      columns.flatMap(([table, names]) => [table, ...names.map((name) => `${table}.${name}`)]).sort(),
    );
  });

  compared("changes of the schema are found", async () => {
    using connection = openConnection(base.directory.control);
    const all = new Seeded(SEED).shuffled(schemaChanges(connection));
    expectRight(await judgedAll(all.filter((_, index) => index % SCHEMA_CHANGES === 0)));
  });

  compared("flips of single bits are found if events state what they change", async () => {
    // Without a write-ahead log, whose pages would replace those of the file.
    const root = changed(() => {});
    const path = join(root, CONTROL_FILE);
    const good = stated(path);
    const bytes = readFileSync(path);
    const seeded = new Seeded(SEED);
    const wrong: unknown[] = [];
    for (let count = 0; count < 2 * FLIPS; count++) {
      const [at, bit] = (count % 2 === 0 ? anywhere : inStructure)(seeded, bytes);
      rmSync(path);
      writeFileSync(path, withFlipped(bytes, [at, bit]));
      const found = await judge.flipped("control", `byte ${at} bit ${bit}`, root, { keys: [] });
      wrong.push(found.wrong);
      if (found.passes && stated(path) !== good) wrong.push([at, bit, "passes"]);
    }
    expectRight(wrong);
  });
});

compared("flips of single bits in a file of seals are found, in that of the installation, too", async () => {
  const root = copyOf(base.root);
  const seeded = new Seeded(SEED);
  const files = readdirSync(join(root, "seals")).map((name) => join(root, "seals", name));
  expect(files.length).toBe(3);
  const words = { keys: [readFileSync(join(root, "keys", "seal.pub"), "utf8")] };
  const wrong: unknown[] = [];
  for (const path of files) {
    const original = readFileSync(path);
    for (let count = 0; count < SEAL_FLIPS; count++) {
      const [at, bit] = anywhere(seeded, original);
      writeFileSync(path, withFlipped(original, [at, bit]));
      const to = `${path.slice(root.length)} byte ${at} bit ${bit}`;
      const found = await judge.flipped("seals", to, root, words);
      wrong.push(found.wrong);
      // A seal with another signature counts as the stored one, which has its own signature.
      const isSignature = original.lastIndexOf("\n\u2014 ", at) > original.lastIndexOf("\n", at - 1) - 1;
      if (found.passes && !isSignature) wrong.push([to, "passes"]);
    }
    writeFileSync(path, original);
  }
  expectRight(wrong);
});

compared("a file of seals is nothing but records, of which a crash may have cut off the last one", async () => {
  const root = copyOf(base.root);
  const path = join(root, "seals", `${base.otherId}.log`);
  for (const name of readdirSync(join(root, "workspaces"))) {
    if (!name.startsWith(base.otherId)) rmSync(join(root, "workspaces", name));
  }
  rmSync(join(root, CONTROL_FILE));
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

compared("a control database that is another file, or a part of one, is refused", async () => {
  const whole: [string, (path: string) => void, 0 | 1 | 2 | "refused"][] = [
    // Without one, the report says that its rows are not part of the evidence.
    ["missing", (path) => rmSync(path), 0],
    ["emptied", (path) => truncateSync(path), 2],
    ["cut off", (path) => truncateSync(path, 3 * 4096), 2],
    ["cut off in its header", (path) => truncateSync(path, 50), 2],
    ["garbage", (path) => writeFileSync(path, Buffer.alloc(40_000, 7)), 2],
    ["a workspace's", (path) => copyFileSync(workspaceFile(base.directory, base.workspaceId), path), 1],
    ["of another installation", (path) => copyFileSync(otherControl, path), 1],
    ["with a damaged header that its log overrules", (path) => damaged(path, 23), 2],
    ["with rows in another order", (path) => damaged(path, placeOfMember(path)), 2],
  ];
  mkdirSync(directory.join("another"));
  const other = await makeControlBase(directory.join("another"));
  const otherControl = other.directory.control;
  const wrong: unknown[] = [];
  for (const [kind, make, exit] of whole) {
    const root = copyOf(base.root);
    make(join(root, CONTROL_FILE));
    wrong.push(await judge.wrong({ form: "control", kind, to: "the file", exit }, root, { keys: [] }, true));
  }
  // The log of a workspace is verified all the same.
  const root = copyOf(base.root);
  truncateSync(join(root, CONTROL_FILE), 3 * 4096);
  using connection = openConnection(workspaceFile(dataDirectory(root), base.workspaceId));
  connection.run("UPDATE events SET details = '{}' WHERE seq = 1");
  connection.truncateLog();
  const both = { form: "control", kind: "cut off", to: "the file, beside a changed log", exit: 1 } as const;
  expectRight([...wrong, await judge.wrong(both, root, { keys: [] }, true)]);
});

/** Flips a bit of a control database whose first page is also in its write-ahead log. */
function damaged(path: string, at: number): void {
  const connection = openConnection(path);
  connection.exec("CREATE TABLE one (a); DROP TABLE one");
  const log = readFileSync(`${path}-wal`);
  connection.close();
  writeFileSync(path, withFlipped(readFileSync(path), [at, 6]));
  writeFileSync(`${path}-wal`, log);
}

/** Returns where the last row of `members` begins, a table that is stored in the order of its primary key. */
function placeOfMember(path: string): number {
  using connection = openConnection(path, { readOnly: true });
  const [page = 0] = connection.get<[number]>("SELECT rootpage FROM sqlite_schema WHERE name = 'members'") ?? [];
  const key = connection.value<string>("SELECT max(workspace_id || account_id) FROM members") ?? "";
  return readFileSync(path).indexOf(key, (page - 1) * 4096);
}

/** Returns the schema of a file and what events state of its rows; null when it cannot be read. */
function stated(path: string): string | null {
  try {
    using connection = openConnection(path, { readOnly: true });
    const schema = connection.all("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2");
    return JSON.stringify([schema, statedOf(connection, base.people.founder)]);
  } catch {
    return null;
  }
}

type Case = [name: string, sql: () => string, codes: string[]];

const CASES: Case[] = [
  [
    "a revoked key is in force again",
    () => `UPDATE api_keys SET revoked_at = NULL, revoked_by = NULL WHERE id = '${base.keys.revoked}'`,
    ["key_changed"],
  ],
  [
    "a key is revoked without an event",
    () => `UPDATE api_keys SET revoked_at = 1, revoked_by = 'cli' WHERE id = '${base.keys.first}'`,
    ["key_changed"],
  ],
  [
    "the time of a revocation",
    () => `UPDATE api_keys SET revoked_at = revoked_at + 1 WHERE id = '${base.keys.revoked}'`,
    ["key_changed"],
  ],
  [
    "an expiry is removed",
    () => `UPDATE api_keys SET expires_at = NULL WHERE id = '${base.keys.successor}'`,
    ["key_changed"],
  ],
  [
    "the overlap of a rotation is extended",
    () => `UPDATE api_keys SET expires_at = expires_at + 9000000 WHERE id = '${base.keys.limited}'`,
    ["key_changed"],
  ],
  [
    "two keys exchange their digests",
    () => `CREATE TEMP TABLE d AS SELECT id, digest FROM api_keys;
      UPDATE api_keys SET digest = randomblob(32) WHERE id IN ('${base.keys.first}', '${base.keys.other}');
      UPDATE api_keys SET digest = (SELECT digest FROM d WHERE id = '${base.keys.other}') WHERE id = '${base.keys.first}';
      UPDATE api_keys SET digest = (SELECT digest FROM d WHERE id = '${base.keys.first}') WHERE id = '${base.keys.other}'`,
    ["key_changed", "key_changed"],
  ],
  [
    "keys of two workspaces exchange their workspaces",
    () =>
      `UPDATE api_keys SET workspace_id = CASE workspace_id WHEN '${base.otherId}' THEN '${base.workspaceId}' ELSE '${base.otherId}' END WHERE id IN ('${base.keys.first}', '${base.keys.other}')`,
    ["key_moved", "key_moved"],
  ],
  [
    "a removed member is back",
    () => `INSERT INTO members VALUES ('${base.workspaceId}', '${base.people.removed}', 'owner', 1)`,
    ["member_added"],
  ],
  [
    "the founder is no owner",
    () => `UPDATE members SET role = 'auditor' WHERE account_id = '${base.people.founder}' AND role = 'owner'`,
    ["member_changed"],
  ],
  [
    "two members exchange their roles",
    () => `UPDATE members SET role = CASE role WHEN 'owner' THEN 'member' ELSE 'owner' END WHERE role <> 'auditor'`,
    ["member_changed", "member_changed"],
  ],
  [
    "a withdrawn invitation is open again",
    () => `UPDATE links SET revoked_at = NULL WHERE id = '${base.invitations.withdrawn}'`,
    ["invitation_changed"],
  ],
  [
    "a used invitation is open again",
    () => `UPDATE links SET used_at = NULL, used_by = NULL WHERE id = '${base.invitations.used}'`,
    ["invitation_changed"],
  ],
  ["an index is missing", () => "DROP INDEX api_keys_by_workspace", ["schema_mismatch"]],
  [
    "a trigger was added",
    () => "CREATE TRIGGER t AFTER INSERT ON members BEGIN DELETE FROM members; END",
    ["schema_mismatch"],
  ],
  [
    "a view hides the keys",
    () => "ALTER TABLE api_keys RENAME TO k; CREATE VIEW api_keys AS SELECT * FROM k",
    ["schema_mismatch"],
  ],
];

compared.each(CASES)("%s", async (_name, sql, expected) => {
  const { exits, codes, said } = await verified(changed((connection) => connection.exec(sql())));
  expect(exits, said).toEqual([1, 1]);
  expect(codes.slice(0, expected.length)).toEqual(expected);
});

compared("a problem names table, id and event, and no secret", async () => {
  const root = changed((connection) => connection.run("UPDATE api_keys SET digest = randomblob(32), scope = 'full'"));
  const { problems } = await verified(root);
  const limited = problems.find(({ message }) =>
    message.startsWith(`api_keys ${base.keys.limited}: digest, scope are`),
  );
  expect(limited?.message).toContain(`; ${base.workspaceId} says otherwise in event `);
  expect(limited?.message).toContain("key.create");
});

describe("an unfinished act", () => {
  const withControl = (file: string, change: (connection: Connection) => void = () => {}): string => {
    const root = directory.join(`copy-${copies++}`);
    cpSync(base.pending.root, root, { recursive: true });
    const { control } = dataDirectory(root);
    for (const end of ["", "-wal", "-shm"]) rmSync(`${control}${end}`, { force: true });
    copyFileSync(file, control);
    using connection = openConnection(control);
    change(connection);
    connection.truncateLog();
    return root;
  };

  compared("is no problem, before or after its event", async () => {
    for (const file of [base.pending.before, base.pending.after]) {
      const { exits, codes, said } = await verified(withControl(file));
      expect([exits, codes], said).toEqual([[0, 0], []]);
    }
  });

  compared("hides nothing that was done before it is finished", async () => {
    const { workspaceId, keys, people } = base;
    const append = (kind: string, input: object) =>
      `UPDATE pending_acts SET changes = json_insert(changes, '$[#]', json('${JSON.stringify([kind, input])}'))`;
    const member = { workspaceId, accountId: people.member, role: "member" };
    const raised = `UPDATE members SET role = 'owner' WHERE account_id = '${people.member}'`;
    const forged: [string, string][] = [
      [`${raised}; ${append("setRole", member)}`, "member_changed"],
      [`${raised}; ${append("addMember", { ...member, joinedAt: 1 })}`, "act_changed"],
      [`UPDATE api_keys SET revoked_at = 1, revoked_by = 'cli' WHERE id = '${keys.first}'`, "key_changed"],
      [append("revokeKey", { id: keys.other, at: 1, by: "cli" }), "act_changed"],
    ];
    for (const [sql, code] of forged) {
      const { exits, codes, said } = await verified(
        withControl(base.pending.after, (connection) => connection.exec(sql)),
      );
      expect(exits, `${sql}: ${said}`).toEqual([1, 1]);
      expect(codes, sql).toContain(code);
    }
  });

  compared("is reported when a column of it changes, except the genesis of a workspace to be made", async () => {
    using connection = openConnection(base.pending.after, { readOnly: true });
    const changes = controlChanges(connection).filter(({ to }) => to.startsWith("pending_acts"));
    for (const change of changes) {
      const isGenesis = change.to.startsWith("pending_acts.genesis");
      const sql = change.sql.map(([text]) => text);
      if (change.kind === "blanked" || change.kind === "duplicated") continue;
      const { exits, said } = await verified(withControl(base.pending.after, (copy) => copy.exec(sql.join(";"))));
      expect(exits, `${change.kind} ${change.to}: ${said}`).toEqual(isGenesis ? [0, 0] : [1, 1]);
    }
  });

  compared("may also change what no event states", async () => {
    const more = Object.keys(OTHER_CHANGES).map((kind) => `["${kind}",{}]`);
    const sql = `UPDATE pending_acts SET changes = replace(changes, '[[', '[${more.join()},[')`;
    const root = withControl(base.pending.after, (connection) => expect(connection.change(sql)).toBe(1));
    const { exits, codes, said } = await verified(root);
    expect([exits, codes], said).toEqual([[0, 0], []]);
  });

  compared("must state what its event says", async () => {
    const forged: [string, string][] = [
      ["UPDATE pending_acts SET event = replace(event, 'cli', 'system')", "act_changed"],
      ["UPDATE pending_acts SET changes = replace(changes, 'revokeKey', 'noSuch')", "act_changed"],
      [
        `UPDATE pending_acts SET changes = json_insert(changes, '$[#]', json('["setRole",{"workspaceId":"${base.workspaceId}","accountId":"${base.people.member}","role":"owner"}]'))`,
        "member_changed",
      ],
      [
        `UPDATE pending_acts SET changes = replace(changes, '${base.keys.first}', '${base.keys.successor}')`,
        "key_changed",
      ],
      ...[
        "{}",
        "null",
        '[["addKey"]]',
        '[["addKey",null]]',
        '[["toString",{}]]',
        `${"[".repeat(3_000)}${"]".repeat(3_000)}`,
      ].map((changes): [string, string] => [`UPDATE pending_acts SET changes = '${changes}'`, "act_changed"]),
      ['UPDATE pending_acts SET event = replace(event, \'"id":\', \'"id":1,"id":\')', "act_changed"],
    ];
    for (const [sql, code] of forged) {
      const root = withControl(base.pending.after, (connection) => expect(connection.change(sql)).toBe(1));
      const { exits, codes, said } = await verified(root);
      expect(exits, `${sql}: ${said}`).toEqual([1, 1]);
      expect(codes).toContain(code);
    }
  });
});

/** The changes of rows that events state. */
type StatedChange =
  | `add${"Workspace" | "Key" | "Member" | "Link" | "Passkey"}`
  | `${"removePasskey" | "dropPasskeys"}`
  | `${"replace" | "limit" | "revoke"}Key`
  | `${"setRole" | "removeMember" | "takeLink" | "revokeInvitation" | "requireSecondFactor"}`;

/** What else an act can change. */
const OTHER_CHANGES: Record<Exclude<Change[0], StatedChange>, true> = {
  ...({ addAccount: true, renameAccount: true, setPassword: true, beginTotp: true, confirmTotp: true } as const),
  ...({ dropTotp: true, setRecoveryCodes: true, endSession: true, endOtherSessions: true } as const),
  ...({ endIssuerSessions: true, forgetDevices: true } as const),
  ...({ issueRole: true, addIdentity: true, dropIdentity: true, chooseIssuerOnly: true } as const),
};

describe("honest", () => {
  compared("is the directory as it is, and a workspace given alone says what is not covered", async () => {
    const { exits, codes, said } = await verified(base.root);
    expect([exits, codes], said).toEqual([[0, 0], []]);
    const { code, out } = await governd(["verify", base.root]);
    expect([code, out]).toEqual([
      0,
      expect.stringContaining("2 workspaces, 5 keys, 3 members, 4 invitations, 2 passkeys, intact"),
    ]);
    expect(out).toContain("not covered: sessions");
    const alone = await governd(["verify", workspaceFile(base.directory, base.workspaceId)]);
    expect([alone.code, alone.out]).toEqual([0, expect.stringContaining("not covered: control.db is not part of")]);
  });

  compared("are a node's copies, which alone establish nothing, and of which a changed one is found", async () => {
    // The control database of a node is newer than the copies of the logs, and names workspaces without a copy.
    const root = changed((connection) => {
      connection.exec("PRAGMA application_id = 7");
      connection.run("UPDATE api_keys SET revoked_at = 1, revoked_by = 'cli' WHERE id = ?", [base.keys.first]);
    });
    const directory = dataDirectory(root);
    rmSync(workspaceFile(directory, base.otherId));
    const asNode = await verified(root);
    expect([asNode.exits, asNode.codes], asNode.said).toEqual([[2, 2], ["node_copies"]]);
    expect((await governd(["verify", root])).out).toContain("governd verify URL");
    {
      using copy = openConnection(workspaceFile(directory, base.workspaceId));
      copy.exec("UPDATE agents SET live_entries = live_entries + 1");
      copy.truncateLog();
    }
    const changedCopy = await verified(root);
    expect(changedCopy.exits, changedCopy.said).toEqual([1, 1]);
  });

  compared("are backups that acts were recorded beside, and what is restored from them", async () => {
    const source = dataDirectory(changed(() => {}));
    const acts = async () => {
      await withParts(source, async (parts) => {
        const administration = new Administration({ ...parts, actor: "cli", permit: () => {} });
        await administration.revokeKey(base.keys.first);
        await administration.rotateKey(base.keys.successor, 0);
        await administration.revokeKey(base.keys.other);
        await administration.createWorkspace("later");
      });
    };
    let acted: Promise<void> | null = null;
    const { path } = await makeBackup({
      ...{ source, destination: directory.join("backups"), keep: null, clock: systemClock },
      onProgress: () => (acted ??= acts()),
    });
    const said = await verified(path);
    // Such a backup looks like a control database that somebody replaced with an older one.
    expect([said.exits, said.codes], said.said).toEqual([[2, 2], ["copied_while_written"]]);
    const window = /may be as before them: rows of \d+ acts? recorded since 20\S+Z \(created_at of manifest\.json, not/;
    expect((await governd(["verify", path])).out).toMatch(window);
    expect(said.said).toMatch(/\d rows are as they were before acts that the logs have since 20\S+Z/);
    const dataDir = directory.join("restored");
    await restoreBackup({ backup: path, dataDir, sealKey: null, partial: false, clock: systemClock });
    const restored = await verified(dataDir);
    expect([restored.exits, restored.codes], restored.said).toEqual([[0, 0], []]);
    // A restore reapplies the logs.
    expect((await governd(["verify", dataDir])).out).not.toContain("may be as before");
    expect(restored.said).not.toContain("may be missing");
    const missing = await verified(source.root);
    expect([missing.exits, missing.codes], missing.said).toEqual([[0, 0], []]);
  });

  compared("is a backup without a damaged workspace, and what is restored from it", async () => {
    const source = dataDirectory(changed(() => {}));
    const database = workspaceFile(source, base.otherId);
    truncateSync(database, 3 * 4096);
    const destination = directory.join("backups-without");
    const { path } = await makeBackup({ source, destination, keep: null, clock: systemClock });
    const dataDir = directory.join("restored-without");
    await restoreBackup({ backup: path, dataDir, sealKey: null, partial: true, clock: systemClock });
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
