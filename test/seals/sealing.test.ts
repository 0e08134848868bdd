import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { newestSeal, sealsAfter } from "../../src/core/rows/log/seals.ts";
import { treeRoot } from "../../src/core/rows/log/tree.ts";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { appendSeals, lastFiledSeal, parseSealFile } from "../../src/core/seals/seal-file.ts";
import { SealRefused } from "../../src/core/seals/sealer.ts";
import { checkSeal, parseSeal } from "../../src/log/seal.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { openSealed, sealedWorkspace, writeSome } from "./support.ts";

const sizes = (file: string): number[] => parseSealFile(readFileSync(file, "utf8")).seals.map(({ seal }) => seal.size);

async function fresh(directory: TemporaryDirectory) {
  const made = await sealedWorkspace(directory);
  await writeSome(made, 5);
  await made.writer.seal();
  return made;
}

/** Has the form of a seal, without a valid signature. */
const note = (size: number) =>
  `test.example/ws\n${size}\n${Buffer.alloc(32, size).toString("base64")}\n\n— test.example/ws ${Buffer.alloc(68).toString("base64")}\n`;

describe("sealing a workspace", () => {
  test("signs the root over every event, stores it, and files it", async () => {
    using directory = temporaryDirectory();
    const made = await fresh(directory);
    await writeSome(made, 300);
    await made.writer.seal();
    await made.writer.seal();
    expect(made.writer.unsealed).toBe(false);
    const newest = await newestSeal(made.connection);
    const seal = parseSeal(newest?.note as string);
    expect(seal.size).toBe(306);
    expect(seal.origin).toBe(`test.example/${made.workspaceId}`);
    expect(Buffer.from(seal.root)).toEqual(Buffer.from(await treeRoot(made.connection, 306)));
    expect(checkSeal(seal, made.publicKey)).toBe("good");
    expect((await sealsAfter(made.connection, 0)).map(({ size }) => size)).toEqual([6, 306]);
    expect(sizes(made.sealFile)).toEqual([6, 306]);
    expect(lastFiledSeal(made.sealFile)?.note).toBe(newest?.note as string);
    expect(statSync(made.sealFile).mode & 0o777).toBe(0o600);
    made.writer.close();
  });

  test("two processes on one workspace seal one log", async () => {
    using directory = temporaryDirectory();
    const first = await fresh(directory);
    const second = await openSealed(directory);
    await writeSome(second, 3);
    await second.writer.seal();
    await writeSome(first, 3);
    await first.writer.seal();
    await second.writer.seal();
    expect(sizes(first.sealFile)).toEqual([6, 9, 12]);
    first.writer.close();
    second.writer.close();
  });

  test("repairs the file of seals when it is behind, cut off in a record, or gone", async () => {
    using directory = temporaryDirectory();
    const made = await fresh(directory);
    const { sealFile } = made;
    const afterFirst = statSync(sealFile).size;
    for (let i = 0; i < 3; i++) {
      await writeSome(made, 1);
      await made.writer.seal();
    }
    made.writer.close();
    const whole = readFileSync(sealFile, "utf8");
    const damages: (() => void)[] = [
      () => truncateSync(sealFile, afterFirst),
      () => truncateSync(sealFile, afterFirst + 40),
      () => truncateSync(sealFile, whole.length - 1),
      () => rmSync(sealFile),
      () => truncateSync(sealFile, 10),
    ];
    for (const damage of damages) {
      damage();
      (await openSealed(directory)).writer.close();
      expect(readFileSync(sealFile, "utf8")).toBe(whole);
    }
  });

  test("of a file that was cut off anywhere, also inside a character, the whole seals stay", () => {
    using directory = temporaryDirectory();
    const file = directory.join("seals.log");
    appendSeals(file, [note(1), note(2)]);
    const whole = readFileSync(file);
    for (let length = 0; length <= whole.length; length++) {
      writeFileSync(file, whole.subarray(0, length));
      appendSeals(file, [note(3)]);
      const kept = length === whole.length ? [1, 2] : length >= whole.length / 2 ? [1] : [];
      expect({ length, sizes: sizes(file) }).toEqual({ length, sizes: [...kept, 3] });
    }
  });

  test("a file that begins with an empty line has no seals", () => {
    using directory = temporaryDirectory();
    const file = directory.join("seals.log");
    writeFileSync(file, "\n\n");
    expect(lastFiledSeal(file)).toBeNull();
  });

  test("finds the last record of a long file", () => {
    using directory = temporaryDirectory();
    const file = directory.join("seals.log");
    const { privateKey } = generateKeyPairSync("ed25519");
    expect(privateKey.asymmetricKeyType).toBe("ed25519");
    for (let size = 1; size <= 400; size++) appendSeals(file, [note(size)]);
    expect(lastFiledSeal(file)?.seal.size).toBe(400);
    appendFileSync(file, "test.example/ws\n401\n");
    expect(lastFiledSeal(file)?.seal.size).toBe(400);
    appendSeals(file, [note(402)]);
    expect(sizes(file).slice(-2)).toEqual([400, 402]);
  });
});

describe("sealing is refused", () => {
  test("when the log is not the one that was sealed before", async () => {
    using directory = temporaryDirectory();
    const made = await fresh(directory);
    made.connection.run("UPDATE events SET hash = zeroblob(32) WHERE seq = 3");
    made.connection.own?.noteLog();
    await writeSome(made, 1);
    await expect(made.writer.seal()).rejects.toBeInstanceOf(SealRefused);
    expect(made.writer.unsealed).toBe(true);
    made.writer.close();
  });

  test("when the file of seals knows a longer log", async () => {
    using directory = temporaryDirectory();
    const made = await fresh(directory);
    expect(made.connection.truncateLog()).toBe(true);
    const copy = readFileSync(made.path);
    await writeSome(made, 10);
    await made.writer.seal();
    made.writer.close();
    for (const end of ["", "-wal", "-shm"]) rmSync(`${made.path}${end}`, { force: true });
    writeFileSync(made.path, copy);
    const back = await openSealed(directory);
    await writeSome(back, 1);
    await expect(back.writer.seal()).rejects.toThrow("older copy");
    back.writer.close();
  });

  test("by a key that the log does not name", async () => {
    using directory = temporaryDirectory();
    const made = await fresh(directory);
    made.writer.close();
    const { privateKey } = generateKeyPairSync("ed25519");
    writeFileSync(made.keyFile, privateKey.export({ format: "pem", type: "pkcs8" }));
    const back = await openSealed(directory);
    await writeSome(back, 1);
    await expect(back.writer.seal()).rejects.toThrow("rotate-seal-key");
    // What waits is sealed when the right key is back.
    writeFileSync(made.keyFile, made.keyPem);
    await back.writer.seal();
    expect(back.writer.unsealed).toBe(false);
    back.writer.close();
  });

  test("when a foreign file is in the place of the seals", async () => {
    using directory = temporaryDirectory();
    const made = await fresh(directory);
    made.writer.close();
    writeFileSync(made.sealFile, "something else\n\n— and more\n\n");
    const back = await openSealed(directory);
    await writeSome(back, 1);
    await expect(back.writer.seal()).rejects.toBeInstanceOf(SealRefused);
    expect(readFileSync(made.sealFile, "utf8")).toStartWith("something else");
    back.writer.close();
  });
});

test("a key may be a PEM text instead of a file", async () => {
  using directory = temporaryDirectory();
  const made = await fresh(directory);
  const keyring = new SealKeyring({ kind: "pem", pem: made.keyPem });
  expect(keyring.find(made.publicKey)?.publicBytes).toEqual(made.publicKey);
  expect(keyring.find(new Uint8Array(32))).toBeNull();
  expect(existsSync(made.keyFile)).toBe(true);
  made.writer.close();
});
