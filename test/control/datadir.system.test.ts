import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createPublicKey } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { lockDataDirectory } from "../../src/core/datadir/lock.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { createPrivateFile } from "../../src/core/datadir/private-files.ts";
import { readSealKey, sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const SOURCE = join(import.meta.dir, "../../src");

let temporary: ReturnType<typeof temporaryDirectory>;
let root: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  root = temporary.join("below", "data");
});
afterEach(() => temporary[Symbol.dispose]());

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe("the data directory", () => {
  test("is made for its owner alone, with a signing key", () => {
    const directory = ensureDataDirectory(root);
    for (const path of [root, directory.workspaces, directory.seals, directory.keys, directory.tls]) {
      expect(modeOf(path)).toBe(0o700);
    }
    expect(modeOf(directory.sealKey)).toBe(0o600);
    const { publicKey, publicBytes } = readSealKey(sealKeySource(directory, null));
    expect(publicBytes).toHaveLength(32);
    expect(createPublicKey(readFileSync(directory.sealPublicKey, "utf8")).equals(publicKey)).toBe(true);
  });

  test("keeps its key", () => {
    const before = readSealKey(sealKeySource(ensureDataDirectory(root), null)).publicBytes;
    expect(readSealKey(sealKeySource(ensureDataDirectory(root), null)).publicBytes).toEqual(before);
  });

  test("has one key when many processes come first", async () => {
    const script = `
      import { ensureDataDirectory } from ${JSON.stringify(join(SOURCE, "core/datadir/open.ts"))};
      import { readSealKey, sealKeySource } from ${JSON.stringify(join(SOURCE, "core/datadir/seal-key.ts"))};
      import { Installation } from ${JSON.stringify(join(SOURCE, "ops/directory/installation.ts"))};
      const directory = ensureDataDirectory(${JSON.stringify(root)});
      (await Installation.open(directory))[Symbol.dispose]();
      console.log(Buffer.from(readSealKey(sealKeySource(directory, null)).publicBytes).toString("hex"));`;
    const processes = Array.from({ length: 6 }, () =>
      Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe" }),
    );
    const keys = await Promise.all(processes.map(({ stdout }) => new Response(stdout).text()));
    expect(await Promise.all(processes.map(({ exited }) => exited))).toEqual(processes.map(() => 0));
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]?.trim()).toMatch(/^[0-9a-f]{64}$/);
  });

  test("that is open to others is closed to them", () => {
    mkdirSync(root, { recursive: true });
    chmodSync(root, 0o755);
    ensureDataDirectory(root);
    expect(modeOf(root)).toBe(0o700);
  });

  test("is not made in a directory with other files", () => {
    mkdirSync(root, { recursive: true });
    writeFileSync(join(root, "thesis.tex"), "");
    chmodSync(root, 0o755);
    expect(() => ensureDataDirectory(root)).toThrow("is not a governd data directory");
    expect(modeOf(root)).toBe(0o755);
  });

  test("that cannot be made is a failure that says why", () => {
    writeFileSync(temporary.join("below"), "a file");
    expect(() => ensureDataDirectory(root)).toThrow("not a directory");
  });

  test("gets a new key in place of a lost one only on request", () => {
    const directory = ensureDataDirectory(root);
    const lost = readSealKey(sealKeySource(directory, null)).publicBytes;
    rmSync(directory.sealKey);
    expect(() => ensureDataDirectory(root)).toThrow(`${directory.sealKey} is missing`);
    expect(existsSync(directory.sealKey)).toBe(false);
    // Kept elsewhere, it is not missed.
    ensureDataDirectory(root, { ownKey: false });
    rmSync(directory.sealPublicKey);
    ensureDataDirectory(root);
    expect(readSealKey(sealKeySource(directory, null)).publicBytes).not.toEqual(lost);
  });

  test("with a damaged key says which file, and nothing of its content", () => {
    const { sealKey } = ensureDataDirectory(root);
    writeFileSync(sealKey, "hunter2");
    expect(() => readSealKey(sealKeySource(dataDirectory(root), null))).toThrow(
      `${sealKey} is not an Ed25519 private key`,
    );
    expect(() => readSealKey(sealKeySource(dataDirectory(root), null))).not.toThrow("hunter2");
  });

  test("a private file is made once, whole", () => {
    mkdirSync(root, { recursive: true });
    const path = join(root, "f");
    expect(createPrivateFile(path, "one")).toBe(true);
    expect(createPrivateFile(path, "two")).toBe(false);
    expect(readFileSync(path, "utf8")).toBe("one");
  });
});

describe("the lock", () => {
  const script = () => `
    import { dataDirectory } from ${JSON.stringify(join(SOURCE, "core/datadir/layout.ts"))};
    import { lockDataDirectory } from ${JSON.stringify(join(SOURCE, "core/datadir/lock.ts"))};
    globalThis.held = lockDataDirectory(dataDirectory(${JSON.stringify(root)}));
    console.log("held");
    setInterval(() => {}, 1_000);`;

  test("keeps a second daemon out, until it is given back", () => {
    const directory = ensureDataDirectory(root);
    const held = lockDataDirectory(directory);
    expect(() => lockDataDirectory(directory)).toThrow("is in use by another running governd");
    held[Symbol.dispose]();
    lockDataDirectory(directory)[Symbol.dispose]();
  });

  test("is not refused while another process tests it", async () => {
    const directory = ensureDataDirectory(root);
    lockDataDirectory(directory)[Symbol.dispose]();
    const looking = Bun.spawn(
      [
        process.execPath,
        "-e",
        `import { dataDirectory } from ${JSON.stringify(join(SOURCE, "core/datadir/layout.ts"))};
        import { isLocked } from ${JSON.stringify(join(SOURCE, "core/datadir/lock.ts"))};
        const directory = dataDirectory(${JSON.stringify(root)});
        console.log(isLocked(directory));
        for (;;) isLocked(directory);`,
      ],
      { stdout: "pipe" },
    );
    try {
      await looking.stdout.getReader().read();
      for (let i = 0; i < 300; i++) lockDataDirectory(directory)[Symbol.dispose]();
    } finally {
      looking.kill("SIGKILL");
    }
  });

  test("is another process's, and ends with it, even by SIGKILL", async () => {
    const directory = ensureDataDirectory(root);
    const other = Bun.spawn([process.execPath, "-e", script()], { stdout: "pipe" });
    await other.stdout.getReader().read();
    expect(() => lockDataDirectory(directory)).toThrow("is in use by another running governd");
    other.kill("SIGKILL");
    await other.exited;
    lockDataDirectory(directory)[Symbol.dispose]();
  });
});
