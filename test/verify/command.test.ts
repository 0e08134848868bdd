/** `governd verify` on every kind of evidence: what it says, its exit code, and that it changes nothing. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../src/cli/program.ts";
import { scanEvents } from "../../src/core/rows/log/events.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { copyDatabase } from "../database-files.ts";
import { exportOf, logOf, written } from "../log/exported.ts";
import { inMemory } from "../temporary.ts";
import { makeSampleWorkspace, WORKSPACE_ID } from "./sample-workspace.ts";

let directory: string;
let sample: string;

beforeAll(async () => {
  directory = mkdtempSync(join(inMemory(), "governd-verify-"));
  sample = join(directory, "sample.db");
  await makeSampleWorkspace(sample);
});
afterAll(() => rmSync(directory, { recursive: true }));

interface Outcome {
  code: number;
  out: string;
  err: string;
}

async function verify(...words: string[]): Promise<Outcome> {
  const outcome: Outcome = { code: -1, out: "", err: "" };
  outcome.code = await run(["verify", ...words], {
    out: async (text) => {
      outcome.out += text;
    },
    err: async (text) => {
      outcome.err += text;
    },
    interactive: false,
  });
  return outcome;
}

async function verifyJson(...words: string[]) {
  const { code, out } = await verify(...words, "--json");
  const value = JSON.parse(out);
  expect(value.exit_code).toBe(code);
  return value;
}

/** A copy of the sample with a change. */
function changed(name: string, change: (connection: Connection) => void): string {
  const path = join(directory, name);
  // The log beside it goes with the last handle of the file, which the driver lets go of at some time.
  copyDatabase(sample, path);
  const connection = openConnection(path);
  change(connection);
  connection.close();
  return path;
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

async function exported(format: "json" | "ndjson"): Promise<string> {
  const connection = openConnection(sample, { readOnly: true });
  const events = await scanEvents(connection, null, { from: 0 });
  connection.close();
  return written(format, await exportOf(logOf(WORKSPACE_ID, events), format));
}

function digests(): string[] {
  return readdirSync(directory)
    .sort()
    .map(
      (name) =>
        `${name} ${createHash("sha256")
          .update(readFileSync(join(directory, name)))
          .digest("hex")}`,
    );
}

describe("a genuine workspace", () => {
  test("verifies, is said to be unsealed, and stays as it is", async () => {
    const before = digests();
    const { code, out, err } = await verify(sample);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("alpha: 30 events, intact");
    expect(out).toContain("unsealed");
    expect(digests()).toEqual(before);
  });

  test("as JSON", async () => {
    const { verdict, sources } = await verifyJson(sample);
    expect(verdict).toBe("verified");
    expect(sources).toEqual([
      {
        path: sample,
        kind: "workspace",
        workspace_id: WORKSPACE_ID,
        events: 43,
        agents: [
          { agent_id: null, events: 1, valid: true, first_invalid: null },
          { agent_id: "alpha", events: 30, valid: true, first_invalid: null },
          { agent_id: "beta", events: 12, valid: true, first_invalid: null },
        ],
        sealed_through: null,
        anchored_through: null,
        completeness: "unknown",
        complete_through: null,
        not_covered: ["the log of the installation is not part of this evidence: which workspaces there are"],
        problems: [],
      },
    ]);
  });

  test("quietly says nothing", async () => {
    expect(await verify(sample, "--quiet")).toEqual({ code: 0, out: "", err: "" });
  });

  test("one agent", async () => {
    const { sources } = await verifyJson(sample, "--agent", "beta");
    expect(sources[0].agents).toEqual([{ agent_id: "beta", events: 12, valid: true, first_invalid: null }]);
  });

  test("an unknown agent is 2", async () => {
    const { exit_code, sources } = await verifyJson(sample, "--agent", "nobody");
    expect([exit_code, sources[0].problems[0].code]).toEqual([2, "agent_unknown"]);
  });

  test("a seal or a key that was asked for is not there: 2", async () => {
    expect((await verify(sample, "--seal", "seal.txt")).code).toBe(2);
    expect((await verify(sample, "--public-key", "key.pem")).code).toBe(2);
  });
});

describe("a changed workspace", () => {
  test("is tampered with, and says where", async () => {
    const path = changed("value.db", (c) => c.run("UPDATE entries SET value = '\"Hallo\"' WHERE id = 8"));
    const { code, out } = await verify(path);
    expect(code).toBe(1);
    expect(out).toContain("first bad event: event 2");
    expect(out).toContain("TAMPERED");
    expect(out).not.toContain("Hallo");
  });

  test("an entry that was put back to an earlier genuine content is found", async () => {
    const path = changed("stale.db", (c) =>
      c.exec(`UPDATE entries SET (value, metadata, salt, written_seq, live_from, updated_at, created_seq, created_at) =
        (SELECT value, metadata, salt, written_seq, live_from, updated_at, created_seq, created_at FROM entries WHERE id = 22)
        WHERE id = 23`),
    );
    const { exit_code, sources } = await verifyJson(path);
    expect(exit_code).toBe(1);
    expect(sources[0].problems.map(({ code }: { code: string }) => code)).toContain("content_stale");
  });

  test("an entry taken away with its count is found", async () => {
    const path = changed("gone.db", (c) =>
      c.exec("DELETE FROM entries WHERE id = 23; UPDATE events SET entries = 1 WHERE agent_id = 'beta'"),
    );
    expect((await verify(path)).code).toBe(1);
  });

  test("tables that were exchanged are found", async () => {
    const path = changed("view.db", (c) =>
      c.exec("ALTER TABLE entries RENAME TO hidden; CREATE VIEW entries AS SELECT * FROM hidden"),
    );
    const { exit_code, sources } = await verifyJson(path);
    expect([exit_code, sources[0].problems[0].code]).toEqual([1, "schema_mismatch"]);
  });

  test("text that is no UTF-8 does not stop the verifier", async () => {
    const path = changed("bytes.db", (c) =>
      c.exec("UPDATE entries SET metadata = CAST(x'ff7b7d' AS TEXT) WHERE id = 7"),
    );
    expect((await verify(path)).code).toBe(1);
  });

  test("1 outranks 2", async () => {
    const path = changed("head.db", (c) => c.exec("UPDATE head SET vocabulary = 31"));
    expect((await verify(file("empty.db", ""), path)).code).toBe(1);
  });

  // Nothing but a seal kept elsewhere can show that the end of a log, and all that came of it, is gone.
  test("a log cut off at its end with everything that came of it cannot be told without a seal", async () => {
    const path = changed("cut.db", (c) =>
      c.exec(`DELETE FROM checkpoints WHERE event_seq = 42; DELETE FROM events WHERE seq = 42;
        UPDATE head SET seq = 41, hash = (SELECT hash FROM events WHERE seq = 41)`),
    );
    const { code, out } = await verify(path);
    expect(code).toBe(0);
    expect(out).toContain("unsealed");
  });
});

describe("what is no evidence", () => {
  const cases: [string, () => string, string][] = [
    ["a path where nothing is", () => join(directory, "nowhere"), "evidence_unreadable"],
    ["an empty file", () => file("nothing", ""), "not_evidence"],
    ["another file", () => file("text", "Lorem ipsum"), "not_evidence"],
    ["a directory without workspaces", () => makeDirectory("plain"), "not_evidence"],
    ["a data directory without workspaces", () => makeDirectory("data/workspaces", "data"), "not_evidence"],
    ["another database", () => database("other.db", "CREATE TABLE t (a)"), "not_evidence"],
    ["a workspace that holds nothing at all", () => changed("wiped.db", wipe), "log_empty"],
    ["a newer schema", () => changed("newer.db", (c) => c.exec("PRAGMA user_version = 99")), "newer_schema"],
    ["a build before 0.1.0", () => changed("former.db", (c) => c.exec("PRAGMA user_version = 5")), "not_evidence"],
    ["a truncated database", () => file("short.db", readFileSync(single()).subarray(0, 20_000)), "evidence_unreadable"],
    ["a damaged header", () => file("magic.db", "SQLite format 3\u0000rubbish"), "evidence_unreadable"],
  ];
  test.each(cases)("%s is 2", async (_name, make, code) => {
    const { exit_code, verdict, sources } = await verifyJson(make());
    expect([exit_code, verdict, sources[0].problems[0].code]).toEqual([2, "undetermined", code]);
  });

  function wipe(connection: Connection): void {
    for (const [table] of connection.all<[string]>("SELECT name FROM sqlite_schema WHERE type = 'table'")) {
      connection.exec(`DELETE FROM ${table}`);
    }
  }

  function makeDirectory(name: string, named = name): string {
    mkdirSync(join(directory, name), { recursive: true });
    return join(directory, named);
  }

  function database(name: string, sql: string): string {
    const connection = openConnection(join(directory, name));
    connection.exec(`DROP TABLE IF EXISTS t; ${sql}`);
    connection.close();
    return join(directory, name);
  }

  /** The sample as one file, without a log beside it. */
  function single(): string {
    const path = join(directory, "single.db");
    const connection = openConnection(sample, { readOnly: true });
    rmSync(path, { force: true });
    connection.exec(`VACUUM INTO '${path}'`);
    connection.close();
    return path;
  }
});

describe("a data directory", () => {
  test("is all its workspaces, each in its place", async () => {
    const root = join(directory, "root");
    mkdirSync(join(root, "workspaces"), { recursive: true });
    const place = join(root, "workspaces", `${WORKSPACE_ID}.db`);
    copyDatabase(sample, place);
    expect((await verify(root)).code).toBe(0);
    const other = join(root, "workspaces", "ws_01h455vb4pex5vsknk084sn02r.db");
    copyDatabase(sample, other);
    const { exit_code, sources } = await verifyJson(root);
    expect(exit_code).toBe(1);
    expect(sources[1].problems[0].code).toBe("wrong_workspace");
  });
});

describe.each(["json", "ndjson"] as const)("a %s export", (format) => {
  test("verifies", async () => {
    const { exit_code, sources } = await verifyJson(file(`export.${format}`, await exported(format)));
    expect([exit_code, sources[0].kind, sources[0].events]).toEqual([0, "export", 43]);
  });

  test("changed is 1", async () => {
    const text = (await exported(format)).replace("data.delete", "data.expire");
    expect((await verify(file(`changed.${format}`, text))).code).toBe(1);
  });

  test("cut off is 2", async () => {
    const text = await exported(format);
    const { exit_code, sources } = await verifyJson(file(`cut.${format}`, text.slice(0, text.length - 120)));
    expect([exit_code, sources[0].problems[0].code]).toEqual([2, "export_incomplete"]);
  });
});
