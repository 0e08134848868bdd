/** Backups: whole, verified, private; what fails leaves nothing behind. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Destination } from "../../src/backup/destination.ts";
import { areKeysAsCopied, copyKeyFiles, digestOfFile } from "../../src/backup/files.ts";
import { type MadeBackup, makeBackup } from "../../src/backup/make.ts";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { Failure } from "../../src/failure.ts";
import { systemClock } from "../../src/ids.ts";
import { governd } from "../cli/governd.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { FilledDirectory } from "./data-directory.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const backup = (from: FilledDirectory, keep: number | null = null, destination = from.destination) =>
  makeBackup({ source: from.data, destination, keep, clock: systemClock });

/** A later time, at which unchanged file times prove unchanged files. */
const later = (from: FilledDirectory) =>
  makeBackup({ source: from.data, destination: from.destination, keep: null, clock: () => systemClock() + 10_000 });

const inode = (made: MadeBackup, ...names: string[]) => statSync(join(made.path, ...names)).ino;

async function failure(work: Promise<unknown>): Promise<Failure> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof Failure) return error;
  throw error ?? new Error("it did not fail");
}

/** What a failed backup leaves in its destination. */
const left = (path: string) => readdirSync(path).filter((name) => name !== ".backup.lock");

describe("a backup", () => {
  test("has everything, and its manifest says what", async () => {
    using from = await FilledDirectory.make();
    await from.write(from.ids[0] as string);
    const { path, manifest } = await backup(from);
    for (const file of manifest.files) {
      const { size, sha256 } = digestOfFile(join(path, file.path));
      expect([file.path, size, sha256]).toEqual([file.path, file.size, file.sha256]);
    }
    const ids = [...from.ids, from.installation];
    expect(manifest.files.map((file) => file.path).sort()).toEqual(
      [
        "installation.json",
        "keys/seal.key",
        "keys/seal.pub",
        ...ids.flatMap((id) => [`workspaces/${id}.db`, `seals/${id}.log`]),
      ].sort(),
    );
    const seqs = new Map(manifest.workspaces.map((one) => [one.workspace_id, one.head_seq]));
    expect(ids.map((id) => seqs.get(id))).toEqual([4, 1, 5]);
    expect(manifest.left_out).toEqual([]);
  });

  test("is its owner's alone", async () => {
    using from = await FilledDirectory.make(1);
    const { path } = await backup(from);
    for (const name of ["", ...(readdirSync(path, { recursive: true }) as string[])]) {
      const { mode } = statSync(join(path, name));
      expect([name, mode & 0o077]).toEqual([name, 0]);
    }
  });

  test("is evidence: `governd verify` reads it like a data directory", async () => {
    using from = await FilledDirectory.make();
    const { path } = await backup(from);
    const verified = await governd(["verify", path, "--json"]);
    const { sources } = verified.json<{ sources: { kind: string }[] }>();
    expect([verified.code, sources.map(({ kind }) => kind)]).toEqual([0, ["workspace", "workspace", "workspace"]]);
  });

  test("holds a state of every workspace that was on disk while writes went on", async () => {
    await using daemon = await TestDaemon.start();
    const workspaces = [await daemon.workspace(), await daemon.workspace(), await daemon.workspace()];
    using destination = temporaryDirectory();
    let writing = true;
    let written = 0;
    const writers = workspaces.map(async ({ client }) => {
      for (let i = 0; writing; i++) {
        const { status } = await client.write("alpha", `k/${i % 50}`, `value ${i}`);
        if (status < 300) written += 1;
      }
    });
    while (written < 50) await Bun.sleep(5);
    const made: number[][] = [];
    const acknowledged: number[] = [];
    for (let round = 0; round < 3; round++) {
      acknowledged.push(written);
      const { code, json, err } = await governd(["backup", destination.path, "--data-dir", daemon.dataDir, "--json"]);
      expect([code, err]).toEqual([0, ""]);
      const { manifest } = JSON.parse(
        `{"manifest": ${readFileSync(join(json<{ path: string }>().path, "manifest.json"), "utf8")}}`,
      );
      made.push(manifest.workspaces.map((one: { head_seq: number }) => one.head_seq));
    }
    writing = false;
    await Promise.all(writers);
    // What was answered before a backup began is in it.
    for (const [round, heads] of made.entries()) {
      expect(heads.reduce((sum, seq) => sum + seq, 0)).toBeGreaterThanOrEqual(acknowledged[round] as number);
    }
    for (const name of left(destination.path)) {
      expect((await governd(["verify", join(destination.path, name), "--quiet"])).code).toBe(0);
    }
  });

  test("is made of what a killed daemon left behind", async () => {
    using from = await FilledDirectory.make(1);
    const [id] = from.ids as [string];
    await from.write(id);
    const path = workspaceFile(from.data, id);
    // A log that was never brought into the file, and no shared memory.
    const { openWorkspaceFile } = await import("../../src/core/writer/file.ts");
    const connection = openWorkspaceFile(path);
    connection.exec("PRAGMA wal_autocheckpoint = 0");
    connection.close();
    rmSync(`${path}-shm`, { force: true });
    const { manifest } = await backup(from);
    expect(manifest.workspaces.find((one) => one.workspace_id === id)?.head_seq).toBe(4);
  });
});

describe("what did not change", () => {
  test("shares its place with the backup before; what changed does not", async () => {
    using from = await FilledDirectory.make();
    const [first, second] = from.ids as [string, string];
    const one = await later(from);
    expect(one.linked).toBe(0);
    await from.write(second);
    const two = await later(from);
    expect(two.linked).toBe(4);
    expect(inode(two, "workspaces", `${first}.db`)).toBe(inode(one, "workspaces", `${first}.db`));
    expect(inode(two, "workspaces", `${second}.db`)).not.toBe(inode(one, "workspaces", `${second}.db`));
    const seqs = new Map(two.manifest.workspaces.map((one) => [one.workspace_id, one.head_seq]));
    expect([seqs.get(first), seqs.get(second)]).toEqual([1, 4]);
  });

  test("shares it by its content, too, when times say nothing", async () => {
    using from = await FilledDirectory.make(1);
    const one = await backup(from);
    const two = await backup(from);
    const name = `${from.ids[0]}.db`;
    expect(inode(two, "workspaces", name)).toBe(inode(one, "workspaces", name));
  });

  test("is copied again when the previous copy is damaged", async () => {
    using from = await FilledDirectory.make(1);
    const one = await later(from);
    const bad = join(one.path, "workspaces", `${from.ids[0]}.db`);
    const bytes = readFileSync(bad);
    bytes[5000] = (bytes[5000] as number) ^ 1;
    writeFileSync(bad, bytes);
    const two = await later(from);
    expect(two.manifest.files).toEqual(
      one.manifest.files.map((file) => expect.objectContaining({ path: file.path, sha256: file.sha256 })),
    );
    expect(digestOfFile(join(two.path, "workspaces", `${from.ids[0]}.db`)).sha256).not.toBe(digestOfFile(bad).sha256);
  });
});

describe("--keep", () => {
  test("removes older backups, and never what is not one", async () => {
    using from = await FilledDirectory.make(1);
    mkdirSync(join(from.destination, "mine"), { recursive: true });
    const made: MadeBackup[] = [];
    for (let i = 0; i < 4; i++) made.push(await backup(from, 2));
    expect(left(from.destination).sort()).toEqual(
      [...made.slice(2).map(({ path }) => path.split("/").at(-1)), "mine"].sort() as string[],
    );
  });

  test("must be a number of backups", async () => {
    using from = await FilledDirectory.make(1);
    for (const keep of ["0", "-1", "some", "1.5"]) {
      const { code, err } = await governd(["backup", from.destination, `--keep=${keep}`, "--data-dir", from.data.root]);
      expect([code, err]).toEqual([2, "governd: --keep must be a whole number from 1 to 10000.\n"]);
    }
  });
});

describe("a workspace that is damaged", () => {
  const damage = (path: string) => {
    const bytes = readFileSync(path);
    bytes.fill(0xff, 8192, 8192 + 4096);
    writeFileSync(path, bytes);
  };

  test("is left out and named, and older whole backups stay", async () => {
    using from = await FilledDirectory.make(2);
    const [bad, good] = from.ids as [string, string];
    const whole = await backup(from, 1);
    damage(workspaceFile(from.data, bad));
    const arguments_ = ["backup", from.destination, "--keep", "1", "--data-dir", from.data.root, "--json"];
    const { code, json } = await governd(arguments_);
    expect(code).toBe(1);
    const result = json<{ left_out: { workspace_id: string; reason: string }[]; path: string; workspaces: number }>();
    expect([result.workspaces, result.left_out.map((one) => one.workspace_id)]).toEqual([2, [bad]]);
    expect(result.left_out[0]?.reason).toMatch(/damaged/);
    expect(existsSync(join(result.path, "workspaces", `${bad}.db`))).toBe(false);
    expect(existsSync(join(result.path, "workspaces", `${good}.db`))).toBe(true);
    expect(existsSync(whole.path)).toBe(true);
    expect((await governd(arguments_)).code).toBe(1);
    expect(existsSync(whole.path)).toBe(true);
    expect(left(from.destination).length).toBe(2);
  });

  test("so is one that was tampered with, and one whose file is gone", async () => {
    using from = await FilledDirectory.make(3);
    const [changed, gone] = from.ids as [string, string];
    await from.write(changed);
    const { openConnection } = await import("../../src/store/connection.ts");
    const connection = openConnection(workspaceFile(from.data, changed));
    connection.run("UPDATE entries SET value = '\"other\"' WHERE key = 'key/0'");
    connection.close();
    rmSync(workspaceFile(from.data, gone));
    const { manifest } = await backup(from);
    expect(manifest.left_out).toEqual([
      { workspace_id: changed, reason: expect.stringContaining("content_mismatch") },
      { workspace_id: gone, reason: "its file is missing" },
    ]);
    expect(JSON.stringify(manifest)).not.toContain("other");
  });
});

describe("a backup that cannot be made leaves nothing behind", () => {
  test("within the data directory, also by another name of it", async () => {
    using from = await FilledDirectory.make(1);
    for (const place of [from.data.root, join(from.data.root, "a", "b"), join(from.data.workspaces, "..", "x")]) {
      const { code, message } = await failure(backup(from, null, place));
      expect(code).toBe("destination_unusable");
      expect(message).toMatch(/inside the data directory/);
    }
    expect(existsSync(join(from.data.root, "a"))).toBe(false);
  });

  test("into a file", async () => {
    using from = await FilledDirectory.make(1);
    writeFileSync(from.join("file"), "mine");
    const { message } = await failure(backup(from, null, from.join("file")));
    expect(message).toMatch(/it is not a directory/);
    expect(from.text("file")).toBe("mine");
  });

  test("while another one is made into the same directory", async () => {
    using from = await FilledDirectory.make(1);
    using _held = Destination.open(from.destination, from.data.root);
    const { code, message } = await failure(backup(from));
    expect(code).toBe("destination_unusable");
    expect(message).toMatch(/Another backup .* is running/);
  });

  test("on a full disk", async () => {
    using from = await FilledDirectory.make(1);
    await from.write(from.ids[0] as string, 200);
    const small = from.join("small");
    mkdirSync(small);
    const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=200k,mode=700", "none", small]);
    if (mounted.exitCode !== 0) return; // only who administers a machine can make a small disk
    try {
      const { code, message } = await failure(backup(from, null, small));
      expect(code).toBe("destination_unusable");
      expect(message).toMatch(/Not enough space in .*small/);
      expect(left(small)).toEqual([]);
    } finally {
      Bun.spawnSync(["umount", "--lazy", small]);
    }
  });

  test("when the sealing key changes meanwhile", async () => {
    using from = await FilledDirectory.make(1);
    using target = temporaryDirectory();
    const to = dataDirectory(target.path);
    mkdirSync(to.keys);
    mkdirSync(to.tls);
    const copied = copyKeyFiles(from.data, to);
    expect(areKeysAsCopied(from.data, copied)).toBe(true);
    writeFileSync(`${from.data.sealKey}.next`, "another");
    expect(areKeysAsCopied(from.data, copied)).toBe(false);
  });

  test("and what a run that was cut off left is removed by the next", async () => {
    using from = await FilledDirectory.make(1);
    const draft = join(from.destination, ".2026-01-02T030405.678Z.partial");
    mkdirSync(join(draft, "workspaces"), { recursive: true });
    writeFileSync(join(draft, "manifest.json"), "{}");
    const { path } = await backup(from);
    expect(left(from.destination)).toEqual([path.split("/").at(-1) as string]);
  });
});

test("without a data directory there is nothing to back up", async () => {
  using directory = temporaryDirectory();
  const { code, err } = await governd(["backup", directory.join("to"), "--data-dir", directory.join("none")]);
  expect(code).toBe(2);
  expect(err).toMatch(/There is no governd data directory/);
  expect(existsSync(directory.join("to"))).toBe(false);
});
