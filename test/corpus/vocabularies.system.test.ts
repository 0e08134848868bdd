/**
 * Logs of vocabulary 2, which no governd writes yet: with a new operation, a new result, a new actor, a new member of
 * details and a new envelope. All programs call them newer, and find what was changed behind a number.
 */

import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { storeTiles } from "../../src/core/rows/log/tree.ts";
import { openWorkspaceFile, openWorkspaceReader } from "../../src/core/writer/file.ts";
import { NewerWorkspace } from "../../src/core/writer/storage-failure.ts";
import type { JsonObject } from "../../src/json.ts";
import { type AuditResult, parseEvent } from "../../src/log/event.ts";
import { eventHash } from "../../src/log/hash.ts";
import { makeReceipt } from "../../src/log/receipt.ts";
import type { Connection } from "../../src/store/connection.ts";
import { openConnection } from "../../src/store/connection.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
import { copyDatabase } from "../database-files.ts";
import { exportOf, logOf, type SampleExport, type Wanted, written } from "../log/exported.ts";
import { type NewEvent, type SampleEvent, type SampleLog, typeId } from "../log/sample.ts";
import { newKey, SealedLog } from "../log/sealed.ts";
import { auditPath } from "../log/tree.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { insertEvent, storedEvents } from "../support/event-rows.ts";
import { temporaryDirectory } from "../temporary.ts";
import { Driver, WORKSPACE_ID } from "../verify/sample-workspace.ts";
import { Judge, type Tampering } from "./judge.ts";
import { moveHead, recount } from "./rewrite.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const directory = temporaryDirectory();
const judge = new Judge(directory.path);
afterAll(async () => {
  await judge[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const key = newKey();
const DIGEST = "ab".repeat(32);

const raise = (vocabulary: number, more: Partial<NewEvent> = {}): NewEvent => ({
  ...{ agent: null, operation: "log.vocabulary", actor: "system", details: { vocabulary } },
  ...more,
});
const write = (more: JsonObject = {}): NewEvent => ({
  ...{ agent: "alpha", operation: "data.write", result: "allowed" as AuditResult },
  details: { key: "k", value_digest: DIGEST, ...more },
});
const COPY: NewEvent = { agent: "beta", operation: "data.copy", details: { from: "a", to: "b" } };
const HELD: NewEvent = { ...write(), result: "held" as AuditResult };
const BY_MACHINE: NewEvent = { ...write(), actor: typeId("mch", 1) };
const MORE = write({ copies: 2 });
/** What only a vocabulary after the first has. */
const NEW = { "an operation": COPY, "a result": HELD, "an actor": BY_MACHINE } as const;

function logWith(events: readonly NewEvent[], genesis: JsonObject = {}): SealedLog {
  const log = new SealedLog(key);
  if (Object.keys(genesis).length > 0) {
    const { details } = log.events[0] as SampleEvent;
    log.events.length = 0;
    log.heads.clear();
    log.append({
      ...{ agent: null, operation: "workspace.create", actor: "cli" },
      details: { ...JSON.parse(details), ...genesis },
    });
  }
  log.write("alpha", "k", "v");
  log.write("beta", "k", "v");
  for (const event of events) log.append(event);
  return log;
}

type Exported = SampleExport<SealedLog>;

/** Lets all programs judge an export or a receipt, and compares their exit codes. */
async function expectSaid(tampering: Tampering, text: string, keys: readonly string[]): Promise<void> {
  const path = judge.paper(text);
  expect(await judge.wrong(tampering, path, { keys }, true)).toBeNull();
  const third = await judge.third(path, { keys });
  // The third program does not know the forms of details.
  if (third === null || tampering.codes?.includes("details_invalid")) return;
  expect([tampering.kind, third.code, third.why]).toEqual([tampering.kind, tampering.exit, third.why]);
}

async function judged(
  kind: string,
  expected: Pick<Tampering, "exit" | "codes">,
  exported: Exported,
  edit: (text: string) => string = (text) => text,
) {
  for (const form of ["ndjson", "json"] as const) {
    const found = form === "json" ? await again(exported, form) : exported;
    await expectSaid({ form: "export", kind, to: form, ...expected }, edit(written(form, found)), [
      exported.log.publicKey,
    ]);
  }
}

/** The same export in another form. */
const again = async ({ log, about }: Exported, form: "json"): Promise<Exported> => {
  const before = Object.assign(log.copy(), { events: log.events.slice(0, -1), heads: new Map(log.heads) });
  const own = before.events.filter(({ canonical }) => JSON.parse(canonical).agent_id === about.agent_id).at(-1);
  if (own === undefined) before.heads.delete(about.agent_id);
  else before.heads.set(about.agent_id, { agent_seq: JSON.parse(own.canonical).agent_seq, hash: own.hash });
  const { agent_id: agent, start_time: start, end_time: end } = about;
  const wanted = { ...(agent && { agent }), ...(start && { start }), ...(end && { end }) };
  const made = await exportOf(before, form, wanted);
  return { ...made, about: { ...made.about, vocabulary: about.vocabulary } };
};

const exportWith = (events: readonly NewEvent[], wanted: Wanted = {}, genesis: JsonObject = {}) =>
  exportOf(logWith(events, genesis), "ndjson", wanted);

const NEWER = { exit: 2, codes: ["newer_format", "newer_vocabulary"] } as const;
const at = (seq: number): string => new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();

describe("a log of vocabulary 2 is newer, and not tampered", () => {
  test.each(Object.entries({ ...NEW, "a member": MORE }))("with %s", async (_, event) => {
    await judged("newer", NEWER, await exportWith([raise(2), event, write()]));
  });

  test("and of a later one", async () => {
    await judged("newer still", NEWER, await exportWith([raise(2), COPY, raise(3), HELD]));
  });

  test("from its genesis on", async () => {
    const exported = await exportWith([COPY], {}, { vocabulary: 2, founder: "somebody" });
    await judged("newer from the beginning", NEWER, exported);
  });

  test("in windows and in the export of an agent", async () => {
    const events = [raise(2), COPY, HELD, write()];
    await judged("window after", NEWER, await exportWith(events, { start: at(4) }));
    await judged("window around", NEWER, await exportWith(events, { start: at(2) }));
    await judged("agent", NEWER, await exportWith(events, { agent: "alpha" }));
  });

  test("when nothing is under the number yet", async () => {
    await judged("announced", { exit: 2, codes: ["newer_format"] }, await exportWith([raise(2)]));
  });

  test("with another envelope", async () => {
    const exported = await exportWith([raise(2), COPY, write()]);
    const events = exported.events.map((event, seq) => (seq === 4 ? withEnvelope(event, 2) : event));
    const text = lines({ ...exported, events: events.slice(0, 4) }, shownRaw(events.slice(4)));
    await expectSaid({ form: "export", kind: "envelope", to: "ndjson", ...NEWER }, text, []);
  });
});

describe("nobody hides behind a number", () => {
  test.each(Object.entries(NEW))("%s before its announcement", async (_, event) => {
    const expected = { exit: 1, codes: ["operation_unknown"] } as const;
    await judged("without announcement", expected, await exportWith([event]));
    await judged(
      "before",
      { ...expected, codes: [...expected.codes, ...NEWER.codes] },
      await exportWith([event, raise(2), COPY]),
    );
    await judged(
      "before, in a window",
      { ...expected, codes: [...expected.codes, ...NEWER.codes] },
      await exportWith([event, raise(2), COPY], { start: at(2) }),
    );
  });

  test("details before the announcement", async () => {
    const expected = { exit: 1, codes: ["details_invalid", ...NEWER.codes] } as const;
    await judged("details before", expected, await exportWith([MORE, raise(2), COPY]));
  });

  test.each<[string, number[], NewEvent[]]>([
    ["falls", [], [raise(2), COPY, raise(1)]],
    ["is announced twice", [], [raise(2), COPY, raise(2)]],
    ["skips one", [], [raise(3), COPY]],
    ["is the first again", [], [raise(1)]],
  ])("a number that %s", async (kind, _, events) => {
    const newer = events.length > 1 ? NEWER.codes : [];
    await judged(kind, { exit: 1, codes: ["vocabulary_invalid", ...newer] }, await exportOf(logWith(events), "ndjson"));
  });

  test("an announcement by somebody else", async () => {
    const exported = await exportWith([raise(2, { actor: "cli" }), COPY]);
    await judged("by another actor", { exit: 1 }, exported);
    await judged("that was denied", { exit: 1 }, await exportWith([raise(2, { result: "denied" }), COPY]));
    await judged("of more", { exit: 1 }, await exportWith([raise(2, { details: { vocabulary: 2, x: 1 } }), COPY]));
  });

  test("a carrier that states another number", async () => {
    const raised = (exported: Exported): Exported => ({ ...exported, about: { ...exported.about, vocabulary: 2 } });
    const expected = { exit: 1, codes: ["newer_format", "vocabulary_invalid"] } as const;
    await judged("raised", expected, raised(await exportWith([])));
    await judged("raised, agent", { exit: 1 }, raised(await exportWith([], { agent: "alpha" })));
    const newer = await exportWith([raise(2), COPY]);
    await judged("lowered", { exit: 1 }, { ...newer, about: { ...newer.about, vocabulary: 1 } });
  });

  test("an event under the number that was changed", async () => {
    const exported = await exportWith([raise(2), COPY, HELD, write()]);
    const changed = (change: (event: SampleEvent) => SampleEvent): Exported => ({
      ...exported,
      events: exported.events.map((event, seq) => (seq === 4 ? change(event) : event)),
    });
    const refit = (canonical: string) => ({ canonical, hash: eventHash(canonical) });
    for (const [kind, found] of Object.entries({
      "another operation": changed((one) => ({ ...one, ...refit(one.canonical.replace("data.copy", "data.move")) })),
      "other details": changed((one) => ({ ...one, details: '{"from":"x","to":"b"}' })),
      "another hash": changed((one) => ({ ...one, canonical: one.canonical.replace("data.copy", "data.move") })),
    })) {
      await expectSaid({ form: "export", kind, to: "newer", exit: 1 }, written("ndjson", found), [
        exported.log.publicKey,
      ]);
    }
  });

  test("another envelope under a known number", async () => {
    const exported = await exportWith([write(), write()]);
    const events = exported.events.map((event, seq) => (seq === 3 ? withEnvelope(event, 2) : event));
    const text = lines({ ...exported, events: events.slice(0, 3) }, shownRaw(events.slice(3)));
    await expectSaid({ form: "export", kind: "envelope", to: "known", exit: 1 }, text, []);
  });
});

test("an export of a later format", async () => {
  const exported = await exportWith([write()]);
  const later = (text: string) => text.replace("governd.audit-export/1", "governd.audit-export/2");
  await judged("later format", { exit: 2, codes: ["newer_format", "seal_missing"] }, exported, later);
});

describe("receipts", () => {
  const log = logWith([raise(2), COPY, write()]);
  const leaves = log.events.map(({ hash }) => Buffer.from(hash, "hex"));
  const receipt = (seq: number, vocabulary: number, exact = false) =>
    makeReceipt(log.events[seq] as SampleEvent, auditPath(seq, leaves), log.seal(), { vocabulary, exact });
  const ofLast = receipt(5, 2);

  test.each<[string, string, 1 | 2, string[]]>([
    ["newer", receipt(4, 2), 2, ["newer_format"]],
    ["newer, as texts", receipt(4, 2, true), 2, ["newer_format"]],
    ["as if it were known", receipt(4, 1), 1, ["operation_unknown"]],
    ["with another index", ofLast.replace(/^index 5$/m, "index 4"), 1, ["proof_invalid"]],
    ["without a number", receipt(5, null as never), 2, ["not_evidence"]],
  ])("%s", async (kind, text, exit, codes) => {
    await expectSaid({ form: "receipt", kind, to: "vocabulary 2", exit, codes }, text, [log.publicKey]);
  });
});

describe("a workspace's file", () => {
  const base = directory.join("base.db");
  const made = (async () => {
    const driver = await Driver.create(base);
    for (const [agent, key] of [
      ["alpha", "a"],
      ["alpha", "b"],
      ["beta", "c"],
    ] as const) {
      await driver.perform("data.write", { agentId: agent, key, value: "value", metadata: {} } as never);
    }
    driver.close();
  })();
  let number = 0;

  /** Returns a file to which its holder appended events, and which was then changed. */
  async function fileWith(events: readonly NewEvent[], change = ""): Promise<string> {
    await made;
    const path = directory.join(`${WORKSPACE_ID}-${number++}.db`);
    copyDatabase(base, path);
    const connection = openConnection(path);
    await extend(connection, events);
    if (change !== "") connection.exec(change);
    connection.truncateLog();
    connection.close();
    return path;
  }

  const CHANGED_ENTRY = "UPDATE entries SET value = '\"other\"' WHERE key = 'a'";

  test.each<[string, NewEvent[], string, 0 | 1 | 2, string[]]>([
    ["as it is", [], "", 0, []],
    ["newer", [raise(2), COPY, HELD], "", 2, ["newer_vocabulary"]],
    ["newer, and a row that it may have changed", [raise(2), COPY], CHANGED_ENTRY, 2, ["newer_vocabulary"]],
    [
      "newer, and the beginning of a chain",
      [raise(2), COPY],
      "UPDATE agents SET first_seq = 999 WHERE agent_id = 'beta'",
      1,
      [],
    ],
    ["newer, and a hash", [raise(2), COPY], "UPDATE events SET hash = zeroblob(32) WHERE seq = 5", 1, []],
    [
      "newer, and the number of the head",
      [raise(2), COPY],
      "UPDATE head SET vocabulary = 1",
      1,
      ["head_mismatch", "newer_vocabulary"],
    ],
    ["announced", [raise(2)], "", 0, []],
    ["announced, and a row", [raise(2)], CHANGED_ENTRY, 1, ["content_mismatch"]],
    ["before its announcement", [COPY, raise(2), HELD], "", 1, ["newer_vocabulary", "operation_unknown"]],
    ["skipped", [raise(3), COPY], "", 1, ["newer_vocabulary", "vocabulary_invalid"]],
    ["the head alone", [], "UPDATE head SET vocabulary = 2", 1, ["head_mismatch"]],
  ])("%s", async (kind, events, change, exit, codes) => {
    const path = await fileWith(events, change);
    const expected = codes.length > 0 ? { codes } : {};
    const tampering: Tampering = { form: "database", kind, to: "vocabulary 2", exit, ...expected };
    expect(await judge.wrong(tampering, path, { keys: [] }, true)).toBeNull();
  });

  test("of which one agent is verified", async () => {
    const path = await fileWith([COPY, raise(2), HELD]);
    const verdict = async (agentId: string) =>
      (await verifyDatabaseFile({ path, immutable: false }, { path, agentId })).report.problems.map(({ code }) => code);
    expect(await verdict("alpha")).toEqual(["newer_vocabulary"]);
    expect(await verdict("beta")).toEqual(["operation_unknown"]);
  });

  test("is not opened by a governd that does not know the number, and not changed", async () => {
    const path = await fileWith([raise(2), COPY]);
    const before = readFileSync(path);
    expect(() => openWorkspaceFile(path)).toThrow(NewerWorkspace);
    expect(() => openWorkspaceFile(path)).toThrow("use the newer governd");
    expect(() => openWorkspaceReader(path, WORKSPACE_ID)).toThrow(NewerWorkspace);
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

/** Appends events to a workspace's log, as a governd would that knows them. */
async function extend(connection: Connection, events: readonly NewEvent[]): Promise<void> {
  const log: SampleLog = logOf(
    WORKSPACE_ID,
    storedEvents(connection).map((one) => ({ ...one, salt: Buffer.from(one.salt as string, "hex") }) as never),
  );
  const from = log.events.length;
  for (const event of events) log.append(event);
  for (const { canonical, details, salt } of log.events.slice(from) as SampleEvent[]) {
    insertEvent(connection, parseEvent(canonical), { details, salt: salt as string });
  }
  recount(connection);
  moveHead(connection);
  connection.run("UPDATE head SET vocabulary = max(vocabulary, ?)", [log.vocabulary]);
  connection.run("DELETE FROM tiles");
  await storeTiles(connection, 0, log.events.length);
}

/** The event in another format, which has a member more. */
function withEnvelope(event: SampleEvent, version: number): SampleEvent {
  const canonical = event.canonical
    .replace("governd.audit/1", `governd.audit/${version}`)
    .replace(/}$/, ',"zone":"a"}');
  return { ...event, canonical, hash: eventHash(canonical) };
}

/** The lines of an export with further lines behind its events. */
function lines(exported: Exported, more: readonly string[]): string {
  const [header, ...rest] = written("ndjson", exported).trimEnd().split("\n");
  const count = exported.events.length + more.length;
  const trailer = JSON.parse(rest.at(-1) as string);
  const head = more.length === 0 ? trailer.head : JSON.parse(more.at(-1) as string).hash;
  const all = [
    { ...JSON.parse(header as string), event_count: count },
    { ...trailer, event_count: count, head },
  ];
  const [first, last] = all.map((one) => JSON.stringify(one));
  return `${[first, ...rest.slice(0, -1), ...more, last].join("\n")}\n`;
}

const shownRaw = (events: readonly SampleEvent[]): string[] =>
  events.map(({ canonical, details, salt, hash }) =>
    JSON.stringify({ type: "event", ...JSON.parse(canonical), details: JSON.parse(details), details_salt: salt, hash }),
  );
