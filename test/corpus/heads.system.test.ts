/** What only the log of the installation shows: workspaces that vanished, were set back or added, and changed heads. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { copyFileSync, cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { makeBackup } from "../../src/backup/make.ts";
import { dataDirectory, sealFile, workspaceFile } from "../../src/core/datadir/layout.ts";
import { publicPem, readSealKey, sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../../src/core/seals/sealer.ts";
import { openWorkspaceFile } from "../../src/core/writer/file.ts";
import { systemClock } from "../../src/ids.ts";
import type { JsonObject } from "../../src/json.ts";
import { recordHeads } from "../../src/ops/directory/heads.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { fileJournal } from "../../src/ops/directory/journal.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { removeDatabase } from "../../src/store/remove.ts";
import { FilledDirectory } from "../backup/data-directory.ts";
import { governd } from "../cli/governd.ts";
import { filesReleased } from "../released.ts";
import { restoreWhole } from "../support/restore.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { codesOf, compared, SecondVerifier } from "../verify/second-verifier.ts";
import { restateLast } from "./rewrite.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const second = new SecondVerifier();
let from: FilledDirectory;
/** The workspace whose older state is kept, and another one. */
let id: string;
let other: string;
let copies = 0;

/** Records the present heads, as the daemon does. */
async function record(root: string, ...made: string[]): Promise<void> {
  const directory = dataDirectory(root);
  using installation = await Installation.open(directory);
  const headsLate = (reason: string) => {
    throw new Error(reason);
  };
  await recordHeads({ installation, journal: fileJournal(directory, { onHeadsLate: headsLate }) }, { made });
}

beforeAll(async () => {
  from = await FilledDirectory.make(2);
  [id, other] = from.ids as [string, string];
  await from.write(id, 2);
  cpSync(from.data.root, from.join("older"), { recursive: true });
  await from.write(id, 3, "later");
  await record(from.data.root, id);
  await filesReleased(from.data.root);
});
afterAll(async () => {
  from[Symbol.dispose]();
  await second[Symbol.asyncDispose]();
});

/** Verifies a directory with both programs, which must report the same codes. */
async function verified(root: string, ...words: string[]): Promise<{ exits: number[]; codes: string[] }> {
  const ours = await governd(["verify", root, "--json", ...words], { released: false });
  const theirs = await second.run(...words, root);
  const { sources } = ours.json<{ sources: { problems: { code: string }[] }[] }>();
  const codes = codesOf(sources.flatMap(({ problems }) => problems.map(({ code }) => code)));
  expect(codesOf(theirs.codes), theirs.out).toEqual(codes);
  return { exits: [ours.code, theirs.code], codes };
}

const found = (...codes: string[]) => ({ exits: [1, 1], codes });

/** Returns a copy of the directory in which `change` was made. */
function changed(change: (root: string) => void): string {
  const root = from.join(`copy-${copies++}`);
  cpSync(from.data.root, root, { recursive: true });
  change(root);
  return root;
}

function withFile(path: string, work: (connection: Connection) => void): void {
  using connection = openConnection(path);
  work(connection);
  connection.truncateLog();
}

function remove(root: string, workspaceId: string): void {
  const directory = dataDirectory(root);
  removeDatabase(workspaceFile(directory, workspaceId));
  rmSync(sealFile(directory, workspaceId));
  const path = workspaceFile(directory, from.installation);
  if (existsSync(path)) {
    withFile(path, (one) => one.run("DELETE FROM directory WHERE workspace_id = ?", [workspaceId]));
  } else writeFileSync(directory.pointer, "{}");
}

/** Puts the older file of the workspace in its place, with its seals. */
function setBack(root: string): void {
  const [older, now] = [dataDirectory(from.join("older")), dataDirectory(root)];
  removeDatabase(workspaceFile(now, id));
  copyFileSync(workspaceFile(older, id), workspaceFile(now, id));
  copyFileSync(sealFile(older, id), sealFile(now, id));
}

/** Changes the log of the installation. */
const withInstallation = (work: (connection: Connection) => void) => (root: string) =>
  withFile(workspaceFile(dataDirectory(root), from.installation), work);

describe("honest", () => {
  compared("is the directory as it is, and while a workspace is ahead of its head", async () => {
    expect(await verified(changed(() => {}))).toEqual({ exits: [0, 0], codes: [] });
    await from.write(other, 2);
    expect(await verified(changed(() => {}))).toEqual({ exits: [0, 0], codes: [] });
  });

  compared("is a workspace whose restore explains that it is older", async () => {
    const older = dataDirectory(from.join("older"));
    const { path } = await makeBackup({
      ...{ source: older, destination: from.join("backups"), keep: null, clock: systemClock },
    });
    const restored = dataDirectory(from.join("restored"));
    await restoreWhole(path, restored.root);
    await filesReleased(restored.root);
    expect(await verified(restored.root)).toEqual({ exits: [0, 0], codes: [] });
    const root = changed((copy) => {
      const now = dataDirectory(copy);
      removeDatabase(workspaceFile(now, id));
      copyFileSync(workspaceFile(restored, id), workspaceFile(now, id));
      copyFileSync(sealFile(restored, id), sealFile(now, id));
    });
    expect(await verified(root)).toEqual({ exits: [0, 0], codes: [] });
    // Once newer heads are recorded, that restore explains nothing any more.
    await record(root, other);
    await filesReleased(root);
    expect(await verified(root)).toEqual(found("workspace_behind_head"));
  });
});

describe("tampering", () => {
  compared("is a workspace that vanished with its seals and its rows", async () => {
    expect(await verified(changed((root) => remove(root, id)))).toEqual(found("workspace_missing"));
  });

  compared("is a workspace that was set back to before its head, with its seals", async () => {
    expect(await verified(changed(setBack))).toEqual(found("workspace_behind_head"));
  });

  compared("is a workspace that was set back and has grown again to other events", async () => {
    const root = changed(setBack);
    using copy = await FilledDirectory.make(0);
    Object.assign(copy.data, { ...dataDirectory(root) });
    await copy.write(id, 9, "otherwise");
    expect(await verified(root)).toEqual(found("workspace_behind_head"));
  });

  compared("is a workspace that the installation did not make", async () => {
    using elsewhere = await FilledDirectory.make(1);
    const [foreign] = elsewhere.ids as [string];
    await elsewhere.write(foreign, 1);
    const root = changed((copy) => {
      const now = dataDirectory(copy);
      copyFileSync(workspaceFile(elsewhere.data, foreign), workspaceFile(now, foreign));
      copyFileSync(sealFile(elsewhere.data, foreign), sealFile(now, foreign));
    });
    // It began after the newest event of the installation, as one does that was copied after it.
    expect(await verified(root)).toEqual({ exits: [2, 2], codes: ["copied_while_written"] });
    await record(root, id);
    await filesReleased(root);
    expect(await verified(root)).toEqual(found("workspace_unknown"));
  });

  compared("is no file that a crash left before its first event, which the installation does not know", async () => {
    const cutOff = { exits: [2, 2], codes: ["copied_while_written"] };
    const unknown = "ws_01h455vb4pex5vsknk084sn02q";
    const fileIn = (root: string) => workspaceFile(dataDirectory(root), unknown);
    expect(await verified(changed((root) => writeFileSync(fileIn(root), "")))).toEqual(cutOff);
    const header = changed((root) => openConnection(fileIn(root)).close());
    expect(await verified(header)).toEqual(cutOff);
    const tables = changed((root) => {
      copyFileSync(workspaceFile(dataDirectory(root), other), fileIn(root));
      withFile(fileIn(root), (one) => {
        for (const [table] of one.all<[string]>("SELECT name FROM sqlite_schema WHERE type = 'table'")) {
          if (!table.startsWith("sqlite_")) one.run(`DELETE FROM ${table}`);
        }
      });
    });
    expect(await verified(tables)).toEqual(cutOff);
    const foreign = changed((root) => withFile(fileIn(root), (one) => one.exec("CREATE TABLE mine (a)")));
    expect(await verified(foreign)).toEqual(found("not_evidence", "workspace_unknown"));
  });

  compared("is a log of the installation that vanished", async () => {
    const root = changed((copy) => remove(copy, from.installation));
    expect(await verified(root)).toEqual(found("workspace_unknown"));
  });

  compared("is a log of the installation from elsewhere, with its rows, whichever key is given", async () => {
    using elsewhere = await FilledDirectory.make(2);
    const theirs = elsewhere.data;
    const root = changed((copy) => {
      const now = dataDirectory(copy);
      removeDatabase(workspaceFile(now, from.installation));
      rmSync(sealFile(now, from.installation));
      copyFileSync(workspaceFile(theirs, elsewhere.installation), workspaceFile(now, elsewhere.installation));
      copyFileSync(sealFile(theirs, elsewhere.installation), sealFile(now, elsewhere.installation));
      copyFileSync(theirs.pointer, now.pointer);
    });
    await filesReleased(root);
    const contradicted = ["workspace_missing", "workspace_unknown"];
    expect(await verified(root)).toEqual(found(...contradicted));
    for (const { root: data } of [from.data, theirs]) {
      const key = publicPem(readSealKey(sealKeySource(dataDirectory(data), null)));
      expect(await verified(root, "--public-key", key)).toEqual(found("seal_missing", ...contradicted));
    }
  });

  const rows: [string, (connection: Connection) => void, string][] = [
    [
      "a changed size",
      (one) => one.run("UPDATE heads SET size = size - 1 WHERE workspace_id = ?", [id]),
      "row_changed",
    ],
    ["another hash", (one) => one.run("UPDATE heads SET hash = ?", ["0".repeat(64)]), "row_changed"],
    ["a hash in capitals", (one) => one.run("UPDATE heads SET hash = upper(hash)"), "row_changed"],
    ["a size that is none", (one) => one.run("UPDATE heads SET size = 0"), "row_changed"],
    [
      "another id",
      (one) => one.run("UPDATE heads SET workspace_id = 'ws_' WHERE workspace_id = ?", [id]),
      "row_changed",
    ],
    ["a removed row", (one) => one.run("DELETE FROM heads WHERE workspace_id = ?", [id]), "row_missing"],
    ["no rows", (one) => one.run("DELETE FROM heads"), "row_missing"],
    ["a hash that is no text", (one) => one.run("UPDATE heads SET hash = CAST(x'ff' AS TEXT)"), "row_changed"],
    [
      "an id that is no text",
      (one) => one.run("UPDATE heads SET workspace_id = CAST(x'ff' AS TEXT) WHERE workspace_id = ?", [id]),
      "row_changed",
    ],
    ["a further row", (one) => one.run("INSERT INTO heads VALUES ('ws_1', 1, 'ab')"), "row_added"],
  ];
  for (const [name, change, code] of rows) {
    compared(`is ${name} among the heads`, async () => {
      expect(await verified(changed(withInstallation(change)))).toEqual(found(code));
    });
  }

  compared("is an event whose hash is none", async () => {
    const spoil = (one: Connection) => one.run("UPDATE events SET hash = x'ff'");
    const ofInstallation = await verified(changed(withInstallation(spoil)));
    expect(ofInstallation.exits).toEqual([1, 1]);
    const ofWorkspace = await verified(changed((root) => withFile(workspaceFile(dataDirectory(root), id), spoil)));
    expect(ofWorkspace.exits).toEqual([1, 1]);
  });

  compared("is a row of heads in the file of a workspace", async () => {
    const root = changed((copy) =>
      withFile(workspaceFile(dataDirectory(copy), other), (one) =>
        one.run("INSERT INTO heads VALUES (?, 1, ?)", [id, "0".repeat(64)]),
      ),
    );
    expect(await verified(root)).toEqual(found("row_added"));
  });

  /** Makes the last event say something else, and seals it with the key of the installation. */
  async function restated(change: (details: JsonObject) => JsonObject): Promise<string> {
    const root = changed(() => {});
    const directory = dataDirectory(root);
    const file = sealFile(directory, from.installation);
    const connection = openWorkspaceFile(workspaceFile(directory, from.installation));
    const last = connection.value<number>("SELECT max(seq) FROM events") as number;
    connection.run("UPDATE tiles SET hashes = substr(hashes, 1, 32 * ?) WHERE level = 0", [last]);
    restateLast(connection, change);
    connection.run(
      "UPDATE tiles SET hashes = hashes || (SELECT hash FROM events ORDER BY seq DESC LIMIT 1) WHERE level = 0",
    );
    connection.run("DELETE FROM seals");
    rmSync(file);
    const sealer = new WorkspaceSealer({ keyring: new SealKeyring(sealKeySource(directory, null)), file });
    await sealer.load(connection);
    connection.exec("BEGIN IMMEDIATE");
    await sealer.seal(connection, last + 1);
    connection.exec("COMMIT");
    sealer.committed();
    connection.truncateLog();
    connection.close();
    await filesReleased(root);
    return root;
  }

  compared("is another root, sealed with the key", async () => {
    const root = await restated((details) => ({ ...details, root: "0".repeat(64) }));
    expect(await verified(root)).toEqual(found("row_changed"));
  });

  compared("is another count, sealed with the key", async () => {
    const fewer = await restated((details) => ({ ...details, count: 1 }));
    expect(await verified(fewer)).toEqual(found("row_added"));
    const more = await restated((details) => ({ ...details, count: 3 }));
    expect(await verified(more)).toEqual(found("row_missing"));
  });
});
