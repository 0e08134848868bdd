/** The forms that a key's file may have. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { readEncryptionKey } from "../../src/core/datadir/encryption-key.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

let directory: TemporaryDirectory;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => directory[Symbol.dispose]());

const BYTES = Buffer.from(Array.from({ length: 32 }, (_, i) => 255 - i * 7));

function read(content: string | Uint8Array) {
  const path = directory.join("key");
  writeFileSync(path, content);
  return readEncryptionKey(path)?.reveal();
}

test.each([
  ["the bytes", BYTES],
  ["hex", BYTES.toString("hex")],
  ["hex, a line", `${BYTES.toString("hex").toUpperCase()}\r\n`],
  ["base64", `${BYTES.toString("base64")}\n`],
  ["base64url", BYTES.toString("base64url")],
])("%s", (_, content) => {
  expect(read(content)).toBe(BYTES.toString("hex"));
});

test.each([
  ["nothing", ""],
  ["too short", BYTES.subarray(1)],
  ["too long", Buffer.concat([BYTES, BYTES])],
  ["half a key in hex", BYTES.toString("hex").slice(32)],
  ["a password of 32 letters", "correct horse battery staple !!!"],
  ["another file", "x".repeat(1_000_000)],
])("%s is refused and not quoted", (_, content) => {
  let message = "";
  try {
    read(content);
  } catch (error) {
    expect(error).toMatchObject({ name: "Failure", code: "encryption_key" });
    message = (error as Error).message;
  }
  expect(message).toContain(directory.join("key"));
  expect(message).toContain("openssl rand -hex 32");
  expect(message).not.toContain("battery");
});

test("no file, and no setting", () => {
  expect(() => readEncryptionKey(directory.join("none"))).toThrow("no such file or directory");
  expect(() => readEncryptionKey(directory.path)).toThrow("directory");
  expect(readEncryptionKey(null)).toBeNull();
});
