/** Scheduled backups: their times, their status, and a real one in a child process. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { backupName } from "../../src/backup/destination.ts";
import { BACKUP_FORMAT } from "../../src/backup/manifest.ts";
import { type BackupOutcome, BackupSchedule } from "../../src/backup/schedule.ts";
import { runBackup } from "../../src/serve/daemon/scheduled-backups.ts";
import { resolveSettings } from "../../src/settings/resolve.ts";
import { startGovernd } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { FilledDirectory } from "./data-directory.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const NOW = Date.UTC(2026, 0, 2);
const HOUR_MS = 3_600_000;
const MADE: BackupOutcome = { kind: "made", path: "/b/1", workspaces: 2, bytes: 1, leftOut: [] };

function schedule(destination: string, outcomes: BackupOutcome[], clock = () => NOW, firstAfterMs = 0) {
  const told: BackupOutcome[] = [];
  const done = Promise.withResolvers<void>();
  const made = new BackupSchedule({
    destination,
    everyMs: HOUR_MS,
    clock,
    firstAfterMs,
    make: async () => outcomes.shift() ?? MADE,
    onOutcome: (outcome) => {
      told.push(outcome);
      done.resolve();
    },
  });
  return { made, told, done: done.promise };
}

const backupAt = (directory: string, ms: number) => {
  mkdirSync(join(directory, backupName(ms)));
  writeFileSync(join(directory, backupName(ms), "manifest.json"), "{}");
};

describe("a schedule", () => {
  test("begins soon after the start when there is no backup yet, and then waits its time", async () => {
    using directory = temporaryDirectory();
    const { made, told, done } = schedule(directory.path, []);
    await using _made = made;
    await done;
    expect(told).toEqual([MADE]);
    expect(made.status).toEqual({
      lastSuccessMs: NOW,
      lastFailureMs: null,
      lastFailure: null,
      running: false,
      nextMs: NOW + HOUR_MS,
    });
  });

  test("resumes after a restart", async () => {
    using directory = temporaryDirectory();
    backupAt(directory.path, NOW - 10 * 60_000);
    await using recent = schedule(directory.path, []).made;
    expect([recent.status.lastSuccessMs, recent.status.nextMs]).toEqual([NOW - 600_000, NOW + 50 * 60_000]);
    using other = temporaryDirectory();
    backupAt(other.path, NOW - 3 * HOUR_MS);
    await using late = schedule(other.path, [], () => NOW, 60_000).made;
    expect(late.status.nextMs).toBe(NOW + 60_000);
  });

  test("does not wait for a time that was stored while the clock was ahead", async () => {
    using directory = temporaryDirectory();
    backupAt(directory.path, NOW + 40 * 24 * HOUR_MS);
    let warnings = 0;
    const options = { destination: directory.path, everyMs: HOUR_MS, clock: () => NOW, firstAfterMs: 60_000 };
    const onAhead = () => warnings++;
    const begin = () => new BackupSchedule({ ...options, make: async () => MADE, onOutcome: () => {}, onAhead });
    await using first = begin();
    expect([first.status.lastSuccessMs, first.status.nextMs, warnings]).toEqual([null, NOW + 60_000, 1]);
    // The next backup has a later name still, and says itself when it was made.
    const later = NOW + 40 * 24 * HOUR_MS + 1;
    backupAt(directory.path, later);
    const manifest = {
      format: BACKUP_FORMAT,
      governd: "0.1.0",
      created_at: new Date(NOW - 600_000).toISOString(),
      completed_at: new Date(NOW - 500_000).toISOString(),
      schema: 1,
      has_seal_key: true,
      workspaces: [],
      left_out: [],
      files: [],
    };
    writeFileSync(join(directory.path, backupName(later), "manifest.json"), JSON.stringify(manifest));
    await using second = begin();
    expect([second.status.lastSuccessMs, second.status.nextMs, warnings]).toEqual([
      NOW - 600_000,
      NOW - 600_000 + HOUR_MS,
      1,
    ]);
  });

  test("goes on when the clock is set back while it waits", async () => {
    using directory = temporaryDirectory();
    let now = NOW + 40 * 24 * HOUR_MS;
    const { made, told } = schedule(directory.path, [], () => now, 20);
    await using _made = made;
    now = NOW;
    await eventually("a backup is made", () => told.length === 1);
    expect(made.status.nextMs).toBe(NOW + HOUR_MS);
  });

  test("retries soon after a failure, and reports it", async () => {
    using directory = temporaryDirectory();
    const { made, done } = schedule(directory.path, [{ kind: "failed", reason: "no room" }]);
    await using _made = made;
    await done;
    const { lastSuccessMs, lastFailureMs, lastFailure, nextMs } = made.status;
    expect([lastSuccessMs, lastFailureMs, lastFailure, nextMs]).toEqual([null, NOW, "no room", NOW + 15 * 60_000]);
  });

  test("a backup without some workspaces is a failure, and no reason to hurry", async () => {
    using directory = temporaryDirectory();
    const { made, done } = schedule(directory.path, [{ ...MADE, leftOut: ["ws_1"] }]);
    await using _made = made;
    await done;
    expect([made.status.lastFailure, made.status.nextMs]).toEqual(["left out as damaged: ws_1", NOW + HOUR_MS]);
  });
});

describe("a backup as a process", () => {
  test("is made, or says why not", async () => {
    using from = await FilledDirectory.make(1);
    const signal = new AbortController().signal;
    const words = ["backup", from.destination, "--keep", "2", "--data-dir", from.data.root, "--json"];
    const settings = { data_dir: from.data.root, encryption_key_file: null };
    const outcome = await runBackup(words, settings, signal);
    expect(outcome).toEqual({
      kind: "made",
      path: expect.any(String),
      workspaces: 2,
      bytes: expect.any(Number),
      leftOut: [],
    });
    words[1] = join(from.data.root, "x");
    expect(await runBackup(words, settings, signal)).toEqual({
      kind: "failed",
      reason: expect.stringMatching(/is inside the data directory/),
    });
  });

  test("the daemon runs a due backup when it starts", async () => {
    using from = await FilledDirectory.make(1);
    const settings = ["--backup-dir", from.destination, "--backup-every", "1m", "--backup-keep", "3"];
    await using daemon = await startGovernd(from.data.root, settings);
    // The first is due a minute after the start: that it is waited for is seen by a graceful stop before it.
    expect((await daemon.stop()).code).toBe(0);
    expect(readdirSync(from.join()).includes("backups")).toBe(false);
  });
});

test("settings of backups are checked together", () => {
  const mistakes = (flags: Record<string, string>) => {
    const resolution = resolveSettings({ flags, environment: {}, file: null, world: { cwd: "/srv", cores: 2 } });
    return resolution.ok ? [] : resolution.mistakes;
  };
  expect(mistakes({ backup_every: "1d" })).toEqual([
    "backup_dir: is needed, since backup_every (--backup-every) is given",
  ]);
  expect(mistakes({ backup_every: "1d", backup_dir: "/mnt/b", backup_keep: "30" })).toEqual([]);
  expect(mistakes({ backup_every: "off", backup_dir: "/mnt/b" })).toEqual([]);
  expect(mistakes({ backup_dir: "governd-data/b" })).toEqual([
    "backup_dir (--backup-dir): is within data_dir (default), and would be lost with it",
  ]);
  expect(mistakes({ backup_dir: "governd-data-backups" })).toEqual([]);
  expect(mistakes({ backup_dir: "/mnt/b", backup_every: "1s" })).toEqual([
    "backup_every (--backup-every): must be from 1m to 366d, or off",
  ]);
  expect(mistakes({ backup_keep: "0" })).toEqual(["backup_keep (--backup-keep): must be from 1 to 10000"]);
});
