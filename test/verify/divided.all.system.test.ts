/** A large workspace is verified by several threads, and reported as one thread reports it. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { wholeText } from "../../src/core/long-text.ts";
import { parseSeal } from "../../src/log/seal.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { type Connection, type OpenOptions, openConnection } from "../../src/store/connection.ts";
import { EncryptionKey } from "../../src/store/encryption.ts";
import { rekeyFile } from "../../src/store/rekey.ts";
import { verifyLogPart } from "../../src/verify/log-part.ts";
import type { WorkspaceVerificationOptions } from "../../src/verify/preparation.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
import { PartThreads } from "../../src/verify/threads.ts";
import { verifyDivided, verifyWorkspace, type WorkspaceReport } from "../../src/verify/workspace.ts";
import { effort } from "../effort.ts";
import { openSealed, PRINCIPAL, type SealedWorkspace, sealedWorkspace } from "../seals/support.ts";
import { SEED } from "../seed.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { pruneTiles } from "./pruning.ts";

const DAY_MS = 86_400_000;
const PART = 256;
const DIVISION = { from: 1, events: PART };
const AGENTS = ["alpha", "beta", "gamma"];

let directory: TemporaryDirectory;
let made: SealedWorkspace;
let lastSeq: number;
let copies = 0;

type Wanted = { [N in OperationName]: readonly [N, OperationInputs[N]] }[OperationName];

async function perform(...wanted: Wanted[]): Promise<Record<string, unknown>[]> {
  const settled = await made.writer.perform(
    wanted.map(([name, input]) => jobOf({ name, input, principal: PRINCIPAL })),
  );
  return settled.map(({ answer }) => (answer.kind === "json" ? JSON.parse(wholeText(answer.body)) : {}));
}

/** Writes of all agents: keys of every form, some again and again. */
function writes(count: number, round: number): Wanted[] {
  return Array.from({ length: count }, (_, index) => {
    const form = index % 11 === 0 ? `"quoted" ${index}` : index % 7 === 0 ? `schlüssel/${index}` : `key/${index}`;
    const agentId = AGENTS[index % AGENTS.length] as string;
    const metadata = index % 5 === 0 ? { confidence: 0.5, round } : {};
    const expiry = index % 4 === 1 ? { expiry: { afterMs: (index + 1) * DAY_MS } } : {};
    return ["data.write", { agentId, key: form, value: `value "${index}" of ${round}`, metadata, ...expiry }] as const;
  });
}

const checkpoint = async (agentId: string): Promise<string> =>
  (await perform(["checkpoint.create", { agentId, label: null, metadata: {} }]))[0]?.id as string;

async function live(): Promise<void> {
  await perform(...writes(300, 0));
  const first = await checkpoint("alpha");
  await made.writer.seal();
  await perform(...writes(150, 1));
  await perform(["data.delete", { agentId: "alpha", key: "key/3" }]);
  await perform(["data.delete_prefix", { agentId: "beta", prefix: "key/1" }]);
  await perform(["config.update", { agentId: "beta", config: { model: "m-1", policies: { history_days: 0 } } }]);
  await perform(...writes(150, 2));
  await perform(["checkpoint.restore", { checkpointId: first, restoreConfig: false, restoreData: true }]);
  await made.writer.seal();
  await perform(...writes(200, 3));
  const second = await checkpoint("gamma");
  await perform(...writes(90, 4));
  await perform(["checkpoint.delete", { checkpointId: second }]);
  await made.writer.seal();
  await perform(...writes(30, 5));
  lastSeq = made.writer.headSeq;
}

beforeAll(async () => {
  directory = temporaryDirectory();
  made = await sealedWorkspace(directory);
  await live();
  made.writer.close();
  expect(lastSeq).toBeGreaterThan(3 * PART);
});
afterAll(() => directory[Symbol.dispose]());

const copy = () => directory.join(`copy-${copies}.db`);

/** A copy of the file with a change, made as with an editor. */
function changed(change: (connection: Connection) => void): string {
  // Another file each time, since a connection to the one before may still be open.
  rmSync(copy(), { force: true });
  copies++;
  const path = copy();
  copyFileSync(made.path, path);
  const connection = openConnection(path);
  connection.exec("PRAGMA ignore_check_constraints = ON");
  connection.exec("DROP INDEX entries_live");
  change(connection);
  connection.close();
  return path;
}

const options = (count: number): WorkspaceVerificationOptions => ({
  threads: { count },
  division: DIVISION,
  publicKeys: [made.publicKey],
  anchors: made.sealed.slice(1, 2).map(({ note }) => parseSeal(note)),
  sealFile: () => Bun.file(made.sealFile).stream(),
});

async function reported(path: string, count: number, how: OpenOptions = { immutable: true }) {
  const connection = openConnection(path, how);
  try {
    return await verifyWorkspace(connection, { scope: "workspace" }, options(count));
  } finally {
    connection.close();
  }
}

/** The report of several threads alone. */
async function divided(path: string, how: OpenOptions = { immutable: true }): Promise<WorkspaceReport | null> {
  const connection = openConnection(path, how);
  try {
    return await verifyDivided(connection, options(2));
  } finally {
    connection.close();
  }
}

test("a good workspace is indeed divided, and reported alike with one thread, two and three", async () => {
  const [one, two, three] = [await reported(made.path, 1), await reported(made.path, 2), await reported(made.path, 3)];
  expect(one).toMatchObject({ valid: true, problems: [], eventsChecked: lastSeq + 1 });
  expect(one.seals).toMatchObject({ checked: 3, anchoredThrough: expect.any(Number), undetermined: [] });
  expect([two, three]).toEqual([one, one]);
  expect(await divided(made.path)).toEqual(one);
});

test("the events about keys of a part are sent in columns, and nothing else of them", async () => {
  using connection = openConnection(made.path, { immutable: true });
  const part = await verifyLogPart(connection, { firstSeq: 0, lastSeq: PART - 1, marks: [] });
  expect(part?.events.map(({ event }) => event.operation)).toEqual(["workspace.create"]);
  expect(part?.ofKeys.keys.length).toBe(PART - 1);
});

test("a small one is not divided, nor one agent, nor what is read in a transaction", async () => {
  const connection = openConnection(made.path, { immutable: true });
  const { division: _, ...usual } = options(2);
  expect(await verifyDivided(connection, usual)).toBeNull();
  expect(await verifyDivided(connection, options(1))).toBeNull();
  connection.exec("BEGIN");
  expect(await verifyDivided(connection, options(2))).toBeNull();
  connection.close();
});

test("with little memory for keys it is reported alike", async () => {
  const connection = openConnection(made.path, { immutable: true });
  const report = await verifyDivided(connection, { ...options(2), maxKeys: 20 });
  connection.close();
  expect(report).toEqual(await reported(made.path, 1));
});

test("nothing is written: file and directory are the same afterwards, byte for byte", async () => {
  using other = temporaryDirectory();
  const path = other.join("evidence.db");
  copyFileSync(made.path, path);
  const state = () => [readdirSync(other.path), createHash("sha256").update(readFileSync(path)).digest("hex")];
  const before = state();
  expect(await divided(path)).not.toBeNull();
  expect(state()).toEqual(before);
});

test("an encrypted workspace is divided, too", async () => {
  const path = directory.join("encrypted.db");
  copyFileSync(made.path, path);
  const encryptionKey = EncryptionKey.ofBytes(new Uint8Array(32).fill(9));
  rekeyFile(path, [], encryptionKey);
  expect(await divided(path, { immutable: true, encryptionKey })).toEqual(await reported(made.path, 1));
});

test("what ids entries have says nothing: far apart and out of order they are met all the same", async () => {
  const path = changed((connection) => {
    connection.exec("UPDATE entries SET id = id * 100003 WHERE id % 3 = 0");
    connection.exec("UPDATE entries SET id = 5000000000 - id WHERE id % 3 = 1");
    connection.exec("UPDATE entries SET id = -id WHERE id % 3 = 2 AND id < 90");
    connection.exec("CREATE UNIQUE INDEX entries_live ON entries (agent, key) WHERE live_to IS NULL");
  });
  const one = await reported(path, 1);
  expect(one).toMatchObject({ valid: true, problems: [] });
  expect(await divided(path)).toEqual(one);
  const connection = openConnection(path, { immutable: true });
  for (const agentId of AGENTS) {
    expect(await verifyWorkspace(connection, { agentId })).toMatchObject({ valid: true, problems: [] });
  }
  connection.close();
});

test("what is erased is reported alike", async () => {
  // Versions that were overwritten since, and that no checkpoint sees.
  const path = changed((connection) => {
    const keep = "SELECT written_seq FROM entries UNION SELECT created_seq FROM entries";
    connection.exec(`UPDATE events SET details = NULL, details_salt = NULL
      WHERE operation = 'data.write' AND seq > 700 AND seq NOT IN (${keep})`);
    connection.exec("CREATE UNIQUE INDEX entries_live ON entries (agent, key) WHERE live_to IS NULL");
  });
  const [one, two] = [await reported(path, 1), await reported(path, 2)];
  expect(one.erasedDetails).toBeGreaterThan(5);
  expect(two).toEqual(one);
});

test("a pruned log is reported alike", async () => {
  using other = temporaryDirectory();
  for (const name of ["w.db", "w.log", "seal.key"]) copyFileSync(directory.join(name), other.join(name));
  const opened = await openSealed(other);
  const { path } = opened;
  await pruneTiles(opened, 2);
  opened.writer.close();
  const [one, three] = [await reported(path, 1), await reported(path, 3)];
  expect(one).toMatchObject({ valid: true, prunedBefore: 2 * PART });
  expect(three).toEqual(one);
});

/** Around the ends of parts. */
const SEQS = [PART - 1, PART, 0, 3 * PART + 5, 1, PART + 1, 2 * PART].slice(0, effort({ usual: 2, long: 7 }));

/** A present entry that the log proves. */
const present = (number: number): string =>
  `(SELECT id FROM entries WHERE live_to IS NULL AND key LIKE 'key/%' LIMIT 1 OFFSET ${number})`;

/** One that ends by itself. */
const ending = (number: number): string => present(number).replace("LIMIT", "AND expires_at IS NOT NULL LIMIT");
const lasting = present(20).replace("LIMIT", "AND expires_at IS NULL LIMIT");

/** An ended one. */
const ended = "(SELECT id FROM entries WHERE live_to IS NOT NULL LIMIT 1 OFFSET 3)";

const changes: [string, string][] = [
  ...SEQS.flatMap((seq): [string, string][] => [
    [`event ${seq} is edited`, `UPDATE events SET time = time + 1 WHERE seq = ${seq}`],
    [`the hash of event ${seq} is edited`, `UPDATE events SET hash = zeroblob(32) WHERE seq = ${seq}`],
    [`the details of event ${seq} are edited`, `UPDATE events SET details = details || ' ' WHERE seq = ${seq}`],
    [`event ${seq} is missing`, `DELETE FROM events WHERE seq = ${seq}`],
  ]),
  [
    "events of two parts are exchanged",
    `UPDATE events SET seq = -9 WHERE seq = ${PART};
    UPDATE events SET seq = ${PART} WHERE seq = ${PART - 1}; UPDATE events SET seq = ${PART - 1} WHERE seq = -9`,
  ],
  ["an event stands before the log", "UPDATE events SET seq = -1 WHERE seq = 5"],
  ["an event stands behind the log", "UPDATE events SET seq = 5000 WHERE seq = 5"],
  ["the log is cut off", `DELETE FROM events WHERE seq > ${3 * PART - 1}`],
  ["the head is moved", "UPDATE head SET seq = seq - 1"],
  ["the head is far away", "UPDATE head SET seq = 9007199254740000"],
  ["a tile of leaves is edited", "UPDATE tiles SET hashes = zeroblob(8192) WHERE level = 0 AND tile = 1"],
  ["a tile is missing", "DELETE FROM tiles WHERE level = 0 AND tile = 2"],
  ["a higher tile is edited", "UPDATE tiles SET hashes = zeroblob(64) WHERE level = 1"],
  ["a seal is edited", "UPDATE seals SET size = size - 1 WHERE id = 2"],
  ["seals are exchanged", "UPDATE seals SET id = 99 WHERE id = 1"],
  ["an agent's number of entries is edited", "UPDATE events SET entries = entries + 1 WHERE agent_id = 'beta'"],
  ["a value is edited", `UPDATE entries SET value = replace(value, 'value', 'Value') WHERE id = ${present(30)}`],
  ["metadata are edited", `UPDATE entries SET metadata = '{"a":1}' WHERE id = ${present(31)}`],
  ["metadata are no JSON", `UPDATE entries SET metadata = '{' WHERE id = ${present(32)}`],
  ["a salt is edited", `UPDATE entries SET salt = zeroblob(16) WHERE id = ${present(38)}`],
  ["a salt is longer", `UPDATE entries SET salt = zeroblob(17) WHERE id = ${present(40)}`],
  ["a time is edited", `UPDATE entries SET updated_at = updated_at + 1 WHERE id = ${present(33)}`],
  ["a time of creation is edited", `UPDATE entries SET created_at = created_at - 1 WHERE id = ${present(34)}`],
  ["an end by itself is moved", `UPDATE entries SET expires_at = expires_at + 1 WHERE id = ${ending(3)}`],
  ["an end by itself is removed", `UPDATE entries SET expires_at = NULL WHERE id = ${ending(4)}`],
  ["an end by itself is added", `UPDATE entries SET expires_at = 9000000000000 WHERE id = ${lasting}`],
  ["an entry that ends by itself is missing", `DELETE FROM entries WHERE id = ${ending(5)}`],
  ["a position is edited", `UPDATE entries SET live_from = live_from + 1 WHERE id = ${present(35)}`],
  [
    "an entry is doubled",
    `INSERT INTO entries (agent, key, value, metadata, salt, written_seq, created_seq, live_from,
    created_at, updated_at, expires_at) SELECT agent, key, value, metadata, salt, written_seq, created_seq, live_from, created_at,
    updated_at, expires_at FROM entries WHERE live_to IS NULL LIMIT 1 OFFSET 20`,
  ],
  ["an entry is missing", "DELETE FROM entries WHERE id = (SELECT max(id) FROM entries WHERE live_to IS NULL)"],
  ["an id is the greatest", `UPDATE entries SET id = 9223372036854775807 WHERE id = ${present(36)}`],
  ["an id is no exact number", `UPDATE entries SET id = 9007199254740993 WHERE id = ${present(37)}`],
  ["an ended entry's id is no exact number", `UPDATE entries SET id = 9007199254740993 WHERE id = ${ended}`],
  ["an end is no exact number", `UPDATE entries SET live_to = 9007199254740993 WHERE id = ${ended}`],
  ["an entry belongs to nobody", "UPDATE entries SET agent = 4000 WHERE id = 40"],
  ["an entry belongs to another", "UPDATE entries SET agent = (SELECT max(first_seq) FROM agents) WHERE id = 1"],
  ["a checkpoint is edited", "UPDATE checkpoints SET entry_count = entry_count + 1"],
  ["a config is edited", "UPDATE configs SET config = '{}'"],
];

/** One in so many of the changes, others in each run. */
const EVERY = effort({ usual: 6, long: 1 });
const FIRST = SEED % EVERY;

describe("reported alike by one thread and by several", () => {
  test.each(changes.filter((_, index) => index % EVERY === FIRST))("when %s", async (_, sql) => {
    const path = changed((connection) => connection.exec(sql));
    const one = await reported(path, 1);
    expect(one.valid).toBe(false);
    // When several give up, one thread looks at the whole.
    expect((await divided(path)) ?? one).toEqual(one);
  });
});

test("while somebody writes, the report is of one moment", async () => {
  using other = temporaryDirectory();
  for (const name of ["w.db", "w.log", "seal.key"]) copyFileSync(directory.join(name), other.join(name));
  const busy = await openSealed(other);
  let stopped = false;
  const write = async () => {
    for (let round = 0; !stopped; round++) {
      const input = { agentId: "beta", key: `key/${round % 40}`, value: `${round}`, metadata: {} };
      await busy.writer.perform([jobOf({ name: "data.write", input, principal: PRINCIPAL })]);
      await Bun.sleep(1);
    }
  };
  const writing = write();
  const connection = openConnection(busy.path, { readOnly: true });
  for (let round = 0; round < 3; round++) {
    const report = await verifyWorkspace(connection, { scope: "workspace" }, { ...options(2), sealFile: null });
    expect(report.problems).toEqual([]);
    expect(report.eventsChecked).toBeGreaterThan(lastSeq);
  }
  stopped = true;
  await writing;
  connection.close();
  busy.writer.close();
});

describe("SQLite's check of the file", () => {
  test("runs on one of the threads that verify the log, and on one more only when they do not", async () => {
    const checkedBy = async (wanted: WorkspaceVerificationOptions): Promise<string[]> => {
      const calls: string[] = [];
      const file = { by: () => void calls.push("one of them"), begin: () => void calls.push("one more") };
      using connection = openConnection(made.path, { readOnly: true });
      await verifyWorkspace(connection, { scope: "workspace" }, { ...wanted, file });
      return calls;
    };
    expect(await checkedBy(options(2))).toEqual(["one of them"]);
    expect(await checkedBy(options(1))).toEqual(["one more"]);
  });

  test("finds with several threads what it finds with one", async () => {
    const path = directory.join("hidden.db");
    copyFileSync(made.path, path);
    const damaging = openConnection(path);
    const text = damaging.value<string>("SELECT sql FROM sqlite_schema WHERE name = 'events_by_agent'") as string;
    damaging.exec("DROP INDEX events_by_agent");
    damaging.exec(`${text} WHERE seq > 3`);
    damaging.exec("PRAGMA writable_schema = ON");
    damaging.run("UPDATE sqlite_schema SET sql = ? WHERE name = 'events_by_agent'", [text]);
    damaging.close();
    const found = [1, 2].map(async (count) => {
      const wish = { path, division: DIVISION, threads: { count } };
      return (await verifyDatabaseFile({ path, immutable: true }, wish)).report.problems;
    });
    const [one, several] = await Promise.all(found);
    expect(several).toEqual(one as NonNullable<typeof one>);
    expect(one).toMatchObject([{ code: "schema_mismatch", table: "events" }]);
  });
});

test("a thread that dies is an error, and never a report", async () => {
  const data = { path: made.path, immutable: true, encryptionKey: null, patient: false };
  using threads = new PartThreads(2, data);
  expect(await threads.askAll("snapshot")).toHaveLength(2);
  const found = threads.verify("log", [null as never]);
  await expect(found.next()).rejects.toMatchObject({ code: "evidence_unreadable" });
  await expect(threads.askAll("snapshot")).rejects.toMatchObject({ code: "evidence_unreadable" });
  await threads.end();
});

test("what a thread finds after another one died is dropped", async () => {
  const data = { path: made.path, immutable: true, encryptionKey: null, patient: false };
  using threads = new PartThreads(2, data);
  const died = threads.askOne("nothing that it knows" as "file");
  const checks = Array.from({ length: 60 }, () => threads.askOne("file"));
  await expect(died).rejects.toMatchObject({ code: "evidence_unreadable" });
  await Promise.allSettled(checks);
  await threads.end();
});

test("a file that threads cannot read is for one thread to find", async () => {
  const data = { path: directory.join("nowhere.db"), immutable: true, encryptionKey: null, patient: false };
  using threads = new PartThreads(1, data);
  expect(await threads.askAll("snapshot")).toEqual([null]);
  await threads.end();
});
