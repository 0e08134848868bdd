/** Details, salts, or both removed from an event of every operation: each is found unless an erasure names the event. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/json.ts";
import type { StoredEvent } from "../../src/log/rows.ts";
import { EVENT_NAMES, eventFacts } from "../../src/operations.ts";
import { openConnection } from "../../src/store/connection.ts";
import { LogVerifier } from "../../src/verify/events/log-verifier.ts";
import type { Verdict } from "../../src/verify/problems.ts";
import type { SourceResult } from "../../src/verify/report.ts";
import { verifyDatabaseFile, verifyExportFile } from "../../src/verify/sources.ts";
import { makeBase, type Places, tamper } from "../corpus/base.ts";
import { SampleLog, sampleLog } from "../log/sample.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const BLANKS = [
  ["the details", { details: null }],
  ["the salt", { salt: null }],
  ["both", { details: null, salt: null }],
] as const;

function verify(events: readonly StoredEvent[]) {
  const verifier = new LogVerifier({ scope: "workspace", start: "beginning" });
  verifier.add(events);
  return verifier.finish();
}

const codes = (events: readonly StoredEvent[]) => verify(events).problems.map(({ code }) => code);

const erase = (log: SampleLog, details: JsonObject) => log.append({ agent: "alpha", operation: "data.erase", details });

/** A log whose events at these positions have no details, after `prepare`. */
function blanked(prepare: (log: SampleLog) => void, ...seqs: number[]): StoredEvent[] {
  const log = sampleLog(30);
  prepare(log);
  const gone = new Set(seqs);
  return log.events.map((event) => (gone.has(event.seq ?? -1) ? { ...event, details: null, salt: null } : event));
}

describe.each(EVENT_NAMES)("%s", (operation) => {
  test.each(BLANKS)("without %s is found", (_, blank) => {
    const log = new SampleLog();
    const details = operation === "data.erase" ? { entries: 0, versions: 0, events: 0, erased: [] } : {};
    const seq = log.append({ agent: operation === "workspace.create" ? null : "alpha", operation, details });
    log.write("alpha", "k", "v");
    const events = (log.events as StoredEvent[]).with(seq, { ...(log.events[seq] as StoredEvent), ...blank });
    const isBoth = "details" in blank && "salt" in blank;
    expect(codes(events)).toContain(isBoth ? "details_missing" : "details_mismatch");
  });

  test("can be blank only when an erasure names it and can destroy it", () => {
    if (operation === "workspace.create") return;
    const log = new SampleLog();
    const own = operation === "data.erase" ? { entries: 0, versions: 0, events: 0, erased: [] } : {};
    const seq = log.append({ agent: "alpha", operation, details: own });
    erase(log, { entries: 0, versions: 0, events: 1, erased: [[seq, seq]] });
    const event = log.events[seq] as StoredEvent;
    const found = codes((log.events as StoredEvent[]).with(seq, { ...event, details: null, salt: null }));
    const erasable = (eventFacts(operation)?.erasedBy.length ?? 0) > 0;
    expect(found.includes("details_missing")).toBe(!erasable);
  });
});

describe("erasures", () => {
  const counts = { entries: 0, versions: 0 };

  test("account for the events that they name, and for no others", () => {
    const naming = (log: SampleLog) =>
      erase(log, {
        ...counts,
        events: 3,
        erased: [
          [8, 9],
          [11, 11],
        ],
      }); // prettier-ignore
    expect(verify(blanked(naming, 8, 9, 11))).toMatchObject({ valid: true, erasedDetails: 3 });
    expect(codes(blanked(naming, 8, 9, 11, 13))).toEqual(["details_missing"]);
    expect(codes(blanked(naming, 8, 11))).toEqual(["details_restored"]);
    expect(codes(blanked(naming))).toEqual(["details_restored", "details_restored"]);
  });

  test("that come before an event do not account for it", () => {
    const early = (log: SampleLog) => {
      erase(log, { ...counts, events: 1, erased: [[8, 8]] });
      log.write("alpha", "late", "v");
    };
    expect(codes(blanked(early, 8, 31))).toEqual(["details_missing"]);
    expect(codes(blanked((log) => erase(log, { ...counts, events: 1, erased: [[30, 30]] }), 30))).not.toEqual([]);
  });

  test.each<[string, JsonObject["erased"]]>([
    ["that are not as many as it says", [[8, 9]]],
    ["out of order", [[9, 8]]],
    [
      "that overlap",
      [
        [8, 8],
        [8, 8],
      ],
    ],
    ["after it", [[40, 40]]],
  ])("with positions %s are malformed", (_, erased = null) => {
    expect(codes(blanked((log) => erase(log, { ...counts, events: 1, erased })))).toEqual(["details_invalid"]);
  });

  test.each<[string, JsonObject["erased"]]>([
    ["that are no ranges", [8]],
    ["that it does not state", null],
  ])("with positions %s do not have the form of an erasure", (_, erased = null) => {
    const found = codes(blanked((log) => erase(log, { ...counts, events: 1, erased })));
    expect(found).toEqual(["details_invalid"]);
  });
});

describe("evidence in files", () => {
  let directory: TemporaryDirectory;
  let base: Places;
  const said = new Map<string, Verdict>();
  let copies = 0;
  beforeAll(async () => {
    directory = temporaryDirectory();
    base = await makeBase(directory.path);
  }, PROCESS_TEST_MS);
  afterAll(() => directory[Symbol.dispose]());

  async function database(...statements: string[]): Promise<SourceResult> {
    const path = directory.join(`w-${copies++}.db`);
    copyFileSync(base.database, path);
    tamper(path, (connection) => connection.exec(statements.join("; ")));
    const result = await verifyDatabaseFile({ path, immutable: true }, { path });
    said.set(path, result.verdict);
    return result;
  }

  async function exported(edit: (line: string) => string): Promise<SourceResult> {
    const path = directory.join(`e-${copies++}.ndjson`);
    writeFileSync(path, readFileSync(base.ndjson, "utf8").split("\n").map(edit).join("\n"));
    const result = await verifyExportFile(1, { path });
    said.set(path, result.verdict);
    return result;
  }

  const named = ({ report }: SourceResult) => report.problems.map(({ code }) => code);

  test("with an erasure is verified", async () => {
    expect(await database("SELECT 1")).toMatchObject({ verdict: "verified", erasedDetails: 2 });
    expect(await exported((line) => line)).toMatchObject({ verdict: "verified", erasedDetails: 2 });
  });

  test("an event of each operation without details, salt, or both is found", async () => {
    const connection = openConnection(base.database, { readOnly: true });
    const events = connection.all<[number, string]>(
      "SELECT max(seq), operation FROM events WHERE details IS NOT NULL GROUP BY operation",
    );
    connection.close();
    expect(events.length).toBeGreaterThan(9);
    for (const [seq] of events) {
      for (const columns of ["details = NULL", "details_salt = NULL", "details = NULL, details_salt = NULL"]) {
        const result = await database(`UPDATE events SET ${columns} WHERE seq = ${seq}`);
        expect(result.verdict).toBe("tampered");
        expect(named(result).some((code) => code === "details_missing" || code === "details_mismatch")).toBe(true);
      }
    }
    const lines = readFileSync(base.ndjson, "utf8").split("\n");
    for (const [, operation] of events) {
      const at = lines.findLastIndex(
        (line) => line.includes(`"operation":"${operation}"`) && line.includes('"details":{'),
      );
      if (at < 0) continue;
      const target = lines[at];
      for (const member of [/"details":\{.*\},(?="details_salt")/, /"details_salt":"[0-9a-f]*",/]) {
        const blank = (line: string) => line.replace(member, (text) => `${text.slice(0, text.indexOf(":"))}:null,`);
        expect((await exported((line) => (line === target ? blank(line) : line))).verdict).toBe("tampered");
      }
      const both = (line: string) =>
        line.replace(/"details":\{.*\},"details_salt":"[0-9a-f]*",/, '"details":null,"details_salt":null,');
      const result = await exported((line) => (line === target ? both(line) : line));
      expect([operation, result.verdict, named(result).includes("details_missing")]).toEqual([
        operation,
        "tampered",
        true,
      ]);
    }
  });

  test("a deleted entry is not put back by removing the details of its deletion", async () => {
    const result = await database(
      `UPDATE events SET details = NULL, details_salt = NULL WHERE operation = 'data.delete'`,
      "UPDATE entries SET live_to = NULL WHERE key = 'b'",
      "UPDATE events SET entries = entries + 1 WHERE agent_id = 'alpha'",
    );
    expect([result.verdict, named(result)]).toEqual(["tampered", expect.arrayContaining(["details_missing"])]);
  });

  test.skipIf(Bun.which("python3") === null)("the second implementation says the same of each", () => {
    expect(said.size).toBeGreaterThan(50);
    const script = join(import.meta.dir, "../../tools/verify.py");
    const { stdout } = Bun.spawnSync(["python3", "-B", script, ...said.keys()]);
    const words = { verified: "holds", tampered: "TAMPERED", undetermined: "cannot be established" };
    const expected = [...said].map(([path, verdict]) => `${path}: ${words[verdict]}`);
    const lines = stdout.toString().trim().split("\n");
    expect(lines.map((line, at) => line.slice(0, expected[at]?.length))).toEqual(expected);
  });
});
