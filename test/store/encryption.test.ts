/** Encrypted database files: nothing readable on disk, and no way to ruin one with another key. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { inspect } from "node:util";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { databaseKind, EncryptionKey, EncryptionMismatch, opensWith } from "../../src/store/encryption.ts";
import { FileInUse, rekeyFile } from "../../src/store/rekey.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const KEY = EncryptionKey.ofBytes(new Uint8Array(32).fill(7));
const OTHER = EncryptionKey.ofBytes(new Uint8Array(32).fill(8));
const PAGE_BYTES = 4096;
const NEEDLE = "a text that must not be readable";

let directory: TemporaryDirectory;
let path: string;

beforeEach(() => {
  directory = temporaryDirectory();
  path = directory.join("it's a file#1.db");
});
afterEach(() => directory[Symbol.dispose]());

function fill(connection: Connection, rows = 300): void {
  connection.exec("CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT");
  for (let i = 0; i < rows; i++) connection.run("INSERT INTO texts (text) VALUES (?)", [`${NEEDLE} ${i}`]);
}

/** Made elsewhere: the driver keeps a closed file open until its statements are collected. */
function make(encryptionKey: EncryptionKey | null): void {
  using elsewhere = temporaryDirectory();
  const connection = openConnection(elsewhere.join("seed.db"), { encryptionKey });
  fill(connection);
  connection.close();
  copyFileSync(elsewhere.join("seed.db"), path);
}

const texts = (encryptionKey: EncryptionKey | null, options = {}) => {
  const connection = openConnection(path, { encryptionKey, ...options });
  try {
    return connection.get<[number]>("SELECT count(*) FROM texts WHERE text LIKE ?", [`${NEEDLE}%`])?.[0];
  } finally {
    connection.close();
  }
};
const onDisk = () => readdirSync(directory.path).map((name) => readFileSync(directory.join(name)));
const readable = () => onDisk().some((bytes) => bytes.includes(NEEDLE) || bytes.includes("CREATE TABLE"));
const digest = () => onDisk().map((bytes) => createHash("sha256").update(bytes).digest("hex"));
const reasonOf = (work: () => unknown) => {
  try {
    work();
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(EncryptionMismatch);
    expect((error as Error).message).toContain(path);
    return (error as EncryptionMismatch).reason;
  }
};

describe("an encrypted file", () => {
  test("holds nothing readable, nor does its log, while it is open and afterwards", () => {
    const connection = openConnection(path, { encryptionKey: KEY });
    fill(connection);
    expect(readdirSync(directory.path).some((name) => name.endsWith("-wal"))).toBe(true);
    expect(readable()).toBe(false);
    connection.exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE; BEGIN");
    connection.run("UPDATE texts SET text = text || text");
    expect(readable()).toBe(false);
    connection.exec("COMMIT; VACUUM");
    expect(connection.get("PRAGMA integrity_check")).toEqual(["ok"]);
    connection.close();
    expect(readable()).toBe(false);
    expect(databaseKind(path)).toBe("encrypted");
    expect(texts(KEY)).toBe(300);
  });

  test("is read by those who may only read", () => {
    make(KEY);
    expect(texts(KEY, { readOnly: true })).toBe(300);
    expect(texts(KEY, { immutable: true })).toBe(300);
  });

  test.each([
    ["key_wrong", OTHER],
    ["key_missing", null],
  ] as const)("is not touched when the key does not fit: %s", (reason, key) => {
    const copy = directory.join("copy.db");
    const open = openConnection(path, { encryptionKey: KEY });
    fill(open);
    // As after a power cut: a log that was not written back.
    copyFileSync(path, copy);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    open.close();
    path = copy;
    const before = digest();
    for (const options of [{}, { readOnly: true }, { immutable: true }]) {
      expect(reasonOf(() => openConnection(path, { encryptionKey: key, ...options }))).toBe(reason);
    }
    expect(digest()).toEqual(before);
    expect(texts(KEY)).toBe(300);
  });

  test.each([
    ["a key", KEY],
    ["no key", null],
  ])("whose pages are only being written beside is not taken for a damaged one: %s", (_, key) => {
    make(key);
    // A log is brought into its file from the first page on, which tells of the pages to come.
    truncateSync(path, PAGE_BYTES);
    expect(opensWith(path, key)).toBe(true);
    expect(opensWith(path, key === null ? KEY : null)).toBe(false);
  });

  test("a plain one is not opened with a key", () => {
    make(null);
    const before = digest();
    expect(reasonOf(() => openConnection(path, { encryptionKey: KEY }))).toBe("not_encrypted");
    expect(digest()).toEqual(before);
    expect(databaseKind(path)).toBe("plain");
  });

  test("what is neither", () => {
    expect(databaseKind(path)).toBe("absent");
    writeFileSync(path, "");
    expect(databaseKind(path)).toBe("empty");
    writeFileSync(path, "short");
    expect(databaseKind(path)).toBe("foreign");
    expect(reasonOf(() => openConnection(path, { encryptionKey: KEY }))).toBe("key_wrong");
  });

  test("the key does not show", () => {
    const shown = [String(KEY), JSON.stringify({ KEY }), inspect(KEY, { showHidden: true }), `${inspect({ KEY })}`];
    for (const text of shown) expect(text).not.toContain("0707");
    expect(EncryptionKey.ofText(KEY.reveal()).reveal()).toBe(KEY.reveal());
    expect(() => EncryptionKey.ofBytes(new Uint8Array(31))).toThrow(RangeError);
  });
});

describe("another key", () => {
  test.each([
    ["a first one", null, KEY],
    ["another", KEY, OTHER],
    ["none", KEY, null],
  ] as const)("%s", (_, from, to) => {
    make(from);
    expect(rekeyFile(path, [KEY, OTHER], to)).toBe(true);
    expect(texts(to)).toBe(300);
    expect(readable()).toBe(to === null);
    expect(readdirSync(directory.path).filter((name) => !/-(wal|shm)$/.test(name))).toHaveLength(1);
    expect(rekeyFile(path, [], to)).toBe(false);
  });

  test("what is in the log alone comes along, and a draft of an earlier run does not matter", () => {
    const copy = directory.join("copy.db");
    const open = openConnection(path);
    fill(open);
    copyFileSync(path, copy);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    open.close();
    path = copy;
    writeFileSync(`${path}.rekey`, "half a file");
    expect(rekeyFile(path, [], KEY)).toBe(true);
    expect(texts(KEY)).toBe(300);
  });

  test("not while another process has it open, nor without its key", () => {
    make(null);
    const other = openConnection(path);
    other.exec("BEGIN");
    other.get("SELECT count(*) FROM texts");
    expect(() => rekeyFile(path, [], KEY)).toThrow(FileInUse);
    other.close();
    path = directory.join("another.db");
    make(KEY);
    const before = digest();
    expect(reasonOf(() => rekeyFile(path, [], OTHER))).toBe("key_missing");
    expect(reasonOf(() => rekeyFile(path, [OTHER], null))).toBe("key_wrong");
    expect(digest()).toEqual(before);
  });
});
