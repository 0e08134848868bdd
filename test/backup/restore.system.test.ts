/** Restores: only of what is good, only into nothing, and never in silence. */

import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeBackup } from "../../src/backup/make.ts";
import type { Restored, RestoreRequest } from "../../src/backup/restore.ts";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { answered } from "../../src/core/writer/operation.ts";
import { Failure } from "../../src/failure.ts";
import { RandomPool, systemClock } from "../../src/ids.ts";
import type { JsonObject } from "../../src/json.ts";
import type { OperationInputs } from "../../src/operations.ts";
import { asAccount } from "../../src/ops/accounts/parts.ts";
import { withWriter } from "../../src/ops/directory/journal.ts";
import { openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import { startGovernd } from "../cli/governd-process.ts";
import { exampleDetails } from "../support/event-examples.ts";
import { restoreWhole } from "../support/restore.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { compared, SecondVerifier } from "../verify/second-verifier.ts";
import { FilledDirectory } from "./data-directory.ts";
import { addAccount, withParts } from "./people.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const python = new SecondVerifier();
afterAll(() => python[Symbol.asyncDispose]());

async function backup(from: FilledDirectory): Promise<string> {
  return (await makeBackup({ source: from.data, destination: from.destination, keep: null, clock: systemClock })).path;
}

const restore = (from: FilledDirectory, path: string, rest: Partial<RestoreRequest> = {}) =>
  restoreWhole(path, from.join("restored"), rest);

/** The number of an epoch: a time in seconds, and five random digits. */
const EPOCH = expect.stringMatching(/^1[7-9][0-9]{13}$/);
const epochOf = (epochs: Restored["epochs"], id: string) => epochs.find(({ workspace_id }) => workspace_id === id);
const numberOf = (origin: unknown): string => String(origin).split("+")[0]?.split("/")[2] ?? "";

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof Failure) return `${error.code}: ${error.message}`;
  throw error ?? new Error("it was restored");
}

interface Verification {
  verdict: string;
  sources: {
    workspace_id: string;
    anchored_through: number | null;
    sealed_through: number | null;
    restores?: JsonObject[];
    problems: { code: string; message: string }[];
  }[];
}

async function verify(...words: string[]): Promise<Verification & { code: number }> {
  const { code, json } = await governd(["verify", ...words, "--json"]);
  return { code, ...json<Verification>() };
}

function lastEvent(path: string): { operation: string; details: JsonObject; seq: number } {
  const connection = openConnection(path, { readOnly: true });
  try {
    const [seq, operation, details] = connection.get<[number, string, string]>(
      "SELECT seq, operation, details FROM events ORDER BY seq DESC LIMIT 1",
    ) as [number, string, string];
    return { seq, operation, details: JSON.parse(details) };
  } finally {
    connection.close();
  }
}

describe("a restore", () => {
  test("is a data directory that the daemon serves, with the old keys and data", async () => {
    using from = await FilledDirectory.make(1);
    const [id, apiKey] = [from.ids[0] as string, from.keys[0] as string];
    await from.write(id);
    await restore(from, await backup(from));
    await using daemon = await startGovernd(from.join("restored"));
    const answer = await daemon.ask("/v1/data/read?agent_id=alpha&key=key/1", { apiKey });
    expect([answer.status, ((await answer.json()) as { value: string }).value]).toEqual([200, "value 1"]);
    const verifying = await daemon.ask("/v1/audit/verify", {
      ...{ apiKey, method: "POST", headers: { "content-type": "application/json" } },
      body: JSON.stringify({ scope: "workspace" }),
    });
    const verified = (await verifying.json()) as { restores: { epoch: number; origin: string }[] };
    const [{ epoch, origin }] = verified.restores as [{ epoch: number; origin: string }];
    expect([`${epoch}`, origin]).toEqual([EPOCH, `localhost/${id}/${epoch}`]);
    expect(verified).toMatchObject({ valid: true, restores: [{ seq: 5, lost_through: null }] });
    const shown = await daemon.ask("/v1/audit/key", { apiKey });
    const earlier = [expect.objectContaining({ origin: `localhost/${id}`, announced_seq: 0 })];
    expect(await shown.json()).toMatchObject({ origin, announced_seq: 5, earlier });
    await daemon.stop();
    expect((await verify(from.join("restored"))).verdict).toBe("verified");
  });

  test("says in every log that it happened, and from what, and is sealed", async () => {
    using from = await FilledDirectory.make(2);
    const [id] = from.ids as [string];
    await from.write(id);
    const path = await backup(from);
    const restored = await restore(from, path);
    expect([restored.workspaces, restored.unsealed]).toEqual([3, []]);
    const file = workspaceFile(dataDirectory(from.join("restored")), id);
    const manifest = readFileSync(join(path, "manifest.json"), "utf8");
    const held = JSON.parse(manifest).workspaces.find((one: JsonObject) => one.workspace_id === id);
    expect(lastEvent(file)).toEqual({
      seq: held.head_seq + 1,
      operation: "log.restore",
      details: {
        backup_created_at: JSON.parse(manifest).created_at,
        backup_digest: new Bun.CryptoHasher("sha256").update(manifest).digest("hex"),
        head_hash: held.head_hash,
        head_seq: held.head_seq,
        later: null,
        rights: "kept",
        last_seal: { size: held.head_seq + 1, root: expect.stringMatching(/^[0-9a-f]{64}$/) },
        lost_seals: [],
        lost_through: null,
        origin: expect.stringMatching(new RegExp(`^localhost/${id}/1[7-9][0-9]{13}$`)),
        previous_origin: `localhost/${id}`,
        signing_key: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
    expect(epochOf(restored.epochs, id)).toEqual({
      ...{ workspace_id: id, lost_through: null },
      verifier_key: expect.stringMatching(new RegExp(`^localhost/${id}/1[7-9][0-9]{13}\\+`)),
    });
    const { verdict, sources } = await verify(from.join("restored"), "--public-key", from.data.sealPublicKey);
    expect(verdict).toBe("verified");
    const logs = sources.filter(({ kind }: JsonObject) => kind === "workspace");
    expect(logs.length).toBe(3);
    for (const source of logs) {
      const [{ seq, epoch, backup_created_at: made }] = source.restores as [JsonObject];
      // The log of the installation has the new heads, too.
      const last = (seq as number) + (source.workspace_id === from.installation ? 1 : 0);
      expect([`${epoch}`, made, source.sealed_through]).toEqual([EPOCH, JSON.parse(manifest).created_at, last]);
    }
  });

  test("can be backed up and restored again: each is an epoch", async () => {
    using from = await FilledDirectory.make(1);
    await restore(from, await backup(from));
    const again = await makeBackup({
      source: dataDirectory(from.join("restored")),
      destination: from.join("more"),
      keep: null,
      clock: systemClock,
    });
    await restoreWhole(again.path, from.join("twice"));
    const { code, out } = await governd(["verify", from.join("twice")]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /epoch (\d{15}) from event 2 on, sealed as localhost\/ws_\w+\/\1: restored .* from a backup of /,
    );
    expect(out).toMatch(/epoch (\d{15}) from event 3 on, sealed as localhost\/ws_\w+\/\1:/);
  });

  test("ends sessions and unused links, and says that old passwords are valid again", async () => {
    using from = await FilledDirectory.make(1);
    for (const words of [[], ["--workspace", from.ids[0] as string]]) {
      expect((await governd(["account", "link", ...words, "--data-dir", from.data.root])).code).toBe(0);
    }
    const ids = await withParts(from.data, async (parts) => {
      const [one, two] = [await addAccount(parts, "one"), await addAccount(parts, "two")];
      const ask = <N extends "account.begin_totp" | "account.confirm_totp">(name: N, input: OperationInputs[N]) =>
        parts.workspaces.change(asAccount(parts, one), name, input);
      await ask("account.begin_totp", { accountId: one, secret: "encrypted" });
      await ask("account.confirm_totp", { accountId: one, secret: "encrypted", step: 1, codes: [] });
      return [one, two];
    });
    const path = await backup(from);
    expect(await restore(from, path)).toMatchObject({
      ...{ ended_sessions: 2, ended_links: 2 },
      ...{ accounts: 2, accounts_with_second_factor: 1 },
      account_ids: ids.map((id, i) => ({ id, second_factor: i === 0 })),
    });
    const { out } = await governd(["restore", "--keep-rights", path, "--data-dir", from.join("printed")]);
    expect(out).toMatch(/recovery codes of 2 accounts \(1 with a second factor\) are those of 20.*Z: what was changed/);
    expect(out).toContain(`\n    ${ids[0]} (with a second factor)\n    ${ids[1]}\n`);
    expect(await verify(from.join("restored"))).toMatchObject({ code: 0, verdict: "verified" });
  });

  test("with the key kept elsewhere is sealed with it, or says that it is not", async () => {
    using from = await FilledDirectory.make(1);
    const path = await backup(from);
    const elsewhere = from.join("elsewhere.key");
    writeFileSync(elsewhere, readFileSync(from.data.sealKey));
    // As if the key had never been in the data directory.
    const manifest = JSON.parse(readFileSync(join(path, "manifest.json"), "utf8"));
    manifest.files = manifest.files.filter((file: { path: string }) => !file.path.startsWith("keys/"));
    writeFileSync(join(path, "manifest.json"), JSON.stringify(manifest));
    const without = await restore(from, path);
    expect(without.unsealed.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/Cannot read the sealing key/),
      expect.stringMatching(/Cannot read the sealing key/),
    ]);
    rmSync(from.join("restored"), { recursive: true });
    const words = [
      "restore",
      "--keep-rights",
      path,
      "--data-dir",
      from.join("restored"),
      "--seal-key",
      elsewhere,
      "--json",
    ];
    expect((await governd(words)).json().unsealed).toEqual([]);
  });
});

describe("what an auditor sees who kept seals", () => {
  compared("a seal from before the backup anchors; one over lost events is `rolled_back`", async () => {
    using from = await FilledDirectory.make(1);
    const [id] = from.ids as [string];
    await from.write(id);
    const older = from.keepSeals(id, "older.log");
    const path = await backup(from);
    await from.write(id, 5, "lost");
    const newer = from.keepSeals(id, "newer.log");
    await restore(from, path);
    const file = workspaceFile(dataDirectory(from.join("restored")), id);

    const before = await verify(file, "--seal", older);
    expect([before.code, before.sources[0]?.anchored_through]).toEqual([0, 4]);
    // The log is still shorter than the seal; then it grows over it.
    for (const round of ["shorter", "longer"]) {
      const after = await verify(file, "--seal", newer);
      expect([round, after.code, after.sources[0]?.anchored_through]).toEqual([round, 1, 4]);
      expect(after.sources[0]?.problems).toEqual([
        expect.objectContaining({
          code: "rolled_back",
          message: expect.stringMatching(
            /put back from a backup at event 5 .* events 5 to 9 under that seal are not in it/,
          ),
        }),
      ]);
      expect(await python.run("--seal", newer, file)).toMatchObject({
        code: 1,
        out: expect.stringContaining("restored from a backup at seq 5, and events are gone"),
      });
      const directory = dataDirectory(from.join("restored"));
      await withWriter(directory, sealKeySource(directory, null), id, async (writer) => {
        const principal = { actor: "cli", workspaceId: id, scope: "full" as const, agents: null };
        const details = exampleDetails("key.create");
        const job = { operation: "key.create" as const, principal, run: async () => answered(null, details, "{}") };
        await writer.perform(Array.from({ length: 12 }, () => job));
        await writer.seal();
      });
    }
  });

  compared("the seals that the restore names are explained, in every program, and no others", async () => {
    using from = await FilledDirectory.make(1);
    const [id] = from.ids as [string];
    await from.write(id);
    const path = await backup(from);
    await from.write(id, 2, "lost");
    const known = from.keepSeals(id, "known.log");
    const key = from.data.sealPublicKey;
    cpSync(from.data.root, from.join("dead"), { recursive: true });
    await from.write(id, 2, "unknown");
    const unknown = from.keepSeals(id, "unknown.log");
    const { epochs } = await restore(from, path, { seals: [from.join("dead")] });
    expect(epochOf(epochs, id)).toMatchObject({ lost_through: 6 });
    const file = workspaceFile(dataDirectory(from.join("restored")), id);
    for (const words of [["--public-key", key], []]) {
      const found = await verify(file, "--seal", known, ...words);
      expect([found.code, found.sources[0]?.problems, found.sources[0]?.anchored_through]).toEqual([0, [], 4]);
      expect(found.sources[0]).toMatchObject({ explained_seals: [{ origin: `localhost/${id}`, size: 7, seq: 5 }] });
      expect(await python.run("--seal", known, ...words, file)).toMatchObject({
        code: 0,
        out: expect.stringContaining("named at seq [5]"),
      });
      const other = await verify(file, "--seal", unknown, ...words);
      expect([other.code, other.sources[0]?.problems.map(({ code }) => code)]).toEqual([1, ["rolled_back"]]);
      expect((await python.run("--seal", unknown, ...words, file)).code).toBe(1);
    }
    const { out } = await governd(["verify", file, "--seal", known, "--public-key", key]);
    expect(out).toContain(
      `explained: a given seal of localhost/${id} over 7 events; the restore at event 5 names it, and its events from 5 on are lost`,
    );
    expect(out).toContain("; events 5 to 6 are known to be lost");
  });

  compared("a backup that is restored twice gets another origin each time", async () => {
    using from = await FilledDirectory.make(1);
    const [id] = from.ids as [string];
    await from.write(id);
    const path = await backup(from);
    const now = Date.now();
    let random = 7;
    const wish = { clock: () => now, random: new RandomPool((bytes) => bytes.fill(random++)) };
    const numbers: string[] = [];
    const again = async (dataDir: string, rest: Partial<RestoreRequest>) => {
      const { epochs } = await restore(from, path, { dataDir: from.join(dataDir), ...rest });
      numbers.push(numberOf(epochOf(epochs, id)?.verifier_key));
      return join(from.join(dataDir), "workspaces", `${id}.db`);
    };
    const first = await again("restored", wish);
    // Nothing but the random digits tells the second from the first.
    const other = await again("other", { ...wish, random: new RandomPool((bytes) => bytes.fill(random++)) });
    const restored = (dataDir: string) => join(from.join(dataDir), "seals", `${id}.log`);
    const kept = await again("kept", { clock: () => 0, seals: [from.join("restored"), from.data.root] });
    expect(numbers).toEqual([EPOCH, EPOCH, `${Number(numbers[0]) + 1}`]);
    expect(numbers[1]).not.toBe(numbers[0]);
    const found = await verify(kept, "--seal", restored("restored"));
    expect([found.code, found.sources[0]]).toMatchObject([
      0,
      {
        restores: [{ epoch: Number(numbers[2]) }],
        explained_seals: [{ origin: `localhost/${id}/${numbers[0]}`, size: 6 }],
      },
    ]);
    // The two histories have the same size, and neither passes for the other.
    for (const [file, seals] of [
      [first, restored("other")],
      [other, restored("restored")],
    ] as const) {
      expect((await verify(file, "--seal", seals)).code).toBe(1);
      expect((await python.run("--seal", seals, file)).code).toBe(1);
    }
  });

  test("a file of kept seals that ends inside a seal is used without it, and the restore says so", async () => {
    using from = await FilledDirectory.make(1);
    const [id] = from.ids as [string];
    const path = await backup(from);
    await from.write(id, 1, "lost");
    const seals = from.keepSeals(id, "kept.log");
    const whole = readFileSync(seals);
    const { epochs, seals_cut_off } = await restore(from, path, { seals: [seals] });
    expect([epochOf(epochs, id)?.lost_through, seals_cut_off]).toEqual([2, []]);
    writeFileSync(seals, Buffer.concat([whole, whole.subarray(0, 60)]));
    const words = ["restore", "--keep-rights", path, "--data-dir", from.join("cut off"), "--seals", seals];
    const { code, out } = await governd(words);
    expect([code, out]).toEqual([0, expect.stringContaining("events through 2 are known to be lost")]);
    expect(out).toContain(`  ${seals} ends inside a seal, which was left out: `);
    // The auditor's own file is not used in part.
    const { err } = await governd(["verify", from.data.root, "--seal", seals]);
    expect(err).toContain("is cut off inside a seal");
  });

  test("a damaged seal, and a path without seals, are refused, and nothing is restored", async () => {
    using from = await FilledDirectory.make(1);
    const [id] = from.ids as [string];
    await from.write(id);
    const path = await backup(from);
    await from.write(id, 1, "lost");
    const seals = from.keepSeals(id, "kept.log");
    writeFileSync(seals, readFileSync(seals, "utf8").replace(/\n7\n|\n6\n/, "\n9\n"));
    expect(await refusal(restore(from, path, { seals: [seals] }))).toMatch(
      /over 9 events, given with --seals, is damaged/,
    );
    expect(await refusal(restore(from, path, { seals: [from.join("nowhere")] }))).toMatch(/nowhere is missing/);
    expect(await refusal(restore(from, path, { seals: [path] })).catch(() => "restored")).toBe("restored");
  });

  test("a roll-back in silence is no `rolled_back`, but a log that the seal is not of", async () => {
    using from = await FilledDirectory.make(1);
    const [id] = from.ids as [string];
    const path = await backup(from);
    await from.write(id);
    const seals = from.keepSeals(id, "kept.log");
    const { sources, code } = await verify(join(path, "workspaces", `${id}.db`), "--seal", seals);
    expect([code, sources[0]?.problems.map((problem) => problem.code)]).toEqual([1, ["seal_beyond_log"]]);
  });

  compared("a restore that names another event than the one before it is tampering", async () => {
    using from = await FilledDirectory.make(1);
    const [id] = from.ids as [string];
    await withWriter(from.data, sealKeySource(from.data, null), id, async (writer) => {
      const principal = { actor: "cli", workspaceId: id, scope: "full" as const, agents: null };
      const details = { ...exampleDetails("log.restore"), head_seq: 1 };
      await writer.perform([{ operation: "log.restore", principal, run: async () => answered(null, details, "{}") }]);
      await writer.seal();
    });
    const file = workspaceFile(from.data, id);
    const { code, sources } = await verify(file);
    expect([code, sources[0]?.problems.map((problem) => problem.code)]).toEqual([1, ["restore_invalid"]]);
    expect((await python.run(file)).code).toBe(1);
  });
});

describe("nothing is restored", () => {
  test("into a directory that is not empty, or that a daemon runs on", async () => {
    using from = await FilledDirectory.make(1);
    const path = await backup(from);
    mkdirSync(from.join("restored"));
    writeFileSync(from.join("restored", "mine"), "mine");
    expect(await refusal(restore(from, path))).toMatch(/is not empty, and a restore never overwrites anything/);
    expect(readdirSync(from.join("restored"))).toEqual(["mine"]);
    await using _daemon = await startGovernd(from.data.root);
    const { code, err } = await governd(["restore", "--keep-rights", path, "--data-dir", from.data.root]);
    expect(code).toBe(2);
    expect(err).toMatch(/in use by another running governd/);
  });

  test("when any byte of any file is another one, or a file is missing", async () => {
    using from = await FilledDirectory.make(1);
    await from.write(from.ids[0] as string);
    const path = await backup(from);
    const { files } = JSON.parse(readFileSync(join(path, "manifest.json"), "utf8"));
    for (const { path: name } of files as { path: string }[]) {
      const file = join(path, name);
      const good = readFileSync(file);
      const bad = Buffer.from(good);
      const middle = Math.floor(bad.length / 2);
      bad[middle] = (bad[middle] as number) ^ 1;
      writeFileSync(file, bad);
      expect(await refusal(restore(from, path))).toMatch(/differs from what was backed up, so the backup is damaged/);
      rmSync(file);
      expect(await refusal(restore(from, path))).toMatch(/is missing, so the backup is damaged/);
      writeFileSync(file, good);
      expect(existsSync(from.join("restored"))).toBe(false);
    }
    await restore(from, path);
  });

  test("when the manifest fits the files and the log does not hold", async () => {
    using from = await FilledDirectory.make(1);
    const [id] = from.ids as [string];
    await from.write(id);
    const path = await backup(from);
    const file = join(path, "workspaces", `${id}.db`);
    const connection = openConnection(file);
    connection.run("UPDATE entries SET value = '\"forged\"' WHERE key = 'key/0'");
    connection.close();
    const manifest = JSON.parse(readFileSync(join(path, "manifest.json"), "utf8"));
    const bytes = readFileSync(file);
    for (const one of manifest.files) {
      if (one.path !== `workspaces/${id}.db`) continue;
      Object.assign(one, { size: bytes.length, sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex") });
    }
    writeFileSync(join(path, "manifest.json"), JSON.stringify(manifest));
    mkdirSync(from.join("restored"));
    const said = await refusal(restore(from, path));
    expect(said).toMatch(/does not verify \(content_mismatch at event 2/);
    expect(said).not.toContain("forged");
    expect(readdirSync(from.join("restored"))).toEqual([]);
  });

  test("without a manifest that this program knows, or one that leads elsewhere", async () => {
    using from = await FilledDirectory.make(1);
    const path = await backup(from);
    const file = join(path, "manifest.json");
    const good = JSON.parse(readFileSync(file, "utf8"));
    for (const bad of [
      "",
      "null",
      "{}",
      JSON.stringify({ ...good, format: "governd.backup/2" }),
      JSON.stringify({ ...good, files: [...good.files, { ...good.files[0] }] }),
      ...["../x", "/etc/x", "keys/../../x", "workspaces/x.db", "tls/.x", "installation.json\n"].map((name) =>
        JSON.stringify({ ...good, files: [{ ...good.files[0], path: name }] }),
      ),
    ]) {
      writeFileSync(file, bad);
      expect(await refusal(restore(from, path))).toMatch(/is damaged, or a newer governd wrote it/);
    }
    rmSync(file);
    expect(await refusal(restore(from, path))).toMatch(/not a complete backup/);
    expect(existsSync(from.join("restored"))).toBe(false);
  });

  test("from a directory of backups: which one is for the person to say", async () => {
    using from = await FilledDirectory.make(1);
    const path = await backup(from);
    expect(await refusal(restore(from, from.destination))).toContain(`Name one of them, such as ${path}`);
  });

  test("from one that lacks workspaces, unless that is asked for", async () => {
    using from = await FilledDirectory.make(2);
    const [gone, there] = from.ids as [string, string];
    rmSync(workspaceFile(from.data, gone));
    const path = await backup(from);
    expect(await refusal(restore(from, path))).toMatch(new RegExp(`${gone}: its file is missing`));
    const { left_out, workspaces } = await restore(from, path, { partial: true });
    expect([left_out.map((one) => one.workspace_id), workspaces]).toEqual([[gone], 2]);
    expect(existsSync(workspaceFile(dataDirectory(from.join("restored")), there))).toBe(true);
  });
});

test("no command uses the files of an interrupted restore", async () => {
  using from = await FilledDirectory.make(1);
  writeFileSync(from.data.unfinished, "");
  for (const words of [
    ["serve"],
    ["workspace", "create", "--name", "x"],
    ["workspace", "list"],
    ["backup", from.destination],
  ]) {
    const { code, err } = await governd([...words, "--data-dir", from.data.root]);
    expect([words, code]).toEqual([words, 2]);
    expect(err).toMatch(/A restore into .* was interrupted/);
  }
});
