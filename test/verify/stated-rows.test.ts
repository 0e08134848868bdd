/** What events state about rows: the store applies it, and the verifier finds every change of what was applied. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { applyRows } from "../../src/core/rows/apply.ts";
import { WORKSPACE_MIGRATIONS } from "../../src/core/writer/file.ts";
import { RandomPool } from "../../src/ids.ts";
import type { JsonObject } from "../../src/json.ts";
import type { AuditEventBody } from "../../src/log/event.ts";
import { newSalt } from "../../src/log/hash.ts";
import { boundDigest, type Cells, ROW_TABLES, rowChanges } from "../../src/log/row-effects.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { migrate } from "../../src/store/migrate.ts";
import { StatedRows } from "../../src/verify/rows/stated-rows.ts";

let connection: Connection;
let log: [AuditEventBody, JsonObject][];
beforeEach(() => {
  connection = openConnection(":memory:");
  migrate(connection, WORKSPACE_MIGRATIONS);
  log = [];
});
afterEach(() => connection.close());

const random = new RandomPool();
const ONE = "snk_01jz8v6s3yf0abm5q2x9k7n4tc";
const OTHER = "snk_01jz8v6s3yf0abm5q2x9k7n4td";

function contentsOf(url: string): Cells {
  return { url, ca: null, client_certificate: "PEM", secrets: "aes-256-gcm:c2VjcmV0", salt: newSalt(random) };
}

const digestOf = (contents: Cells) => boundDigest(ROW_TABLES.sinks, contents);

/** Applies what an event states, as the writer does, and keeps the event. */
async function happen(operation: string, details: JsonObject, contents: Cells | null = null): Promise<void> {
  const event = { operation, seq: log.length, actor: "cli", timestamp: "2026-11-29T00:00:00.000Z", agent_id: null };
  const body = { ...event, result: "ok" } as AuditEventBody;
  await applyRows(connection, rowChanges(body, details) ?? [], contents);
  log.push([body, details]);
}

async function create(id: string, url: string): Promise<void> {
  const contents = contentsOf(url);
  const settings = { type: "webhook", format: "ocsf", filter: { results: ["ok"] }, include_details: false };
  const details = { ...settings, start: "now", enabled: true, settings_digest: digestOf(contents) };
  await happen("sink.create", { sink_id: id, ...details }, contents);
}

async function found(): Promise<string[]> {
  const problems: string[] = [];
  const rows = new StatedRows((code, _agent, seq, _message, row) => problems.push(`${code} ${seq} ${row?.key ?? ""}`));
  for (const [event, details] of log) rows.add(event, details);
  await rows.compare(connection);
  return problems;
}

test("rows that are as the events left them are in order", async () => {
  await create(ONE, "https://one.example/");
  await create(OTHER, "https://other.example/");
  await happen("sink.change", { sink_id: ONE, enabled: false });
  const contents = contentsOf("https://new.example/");
  await happen("sink.rotate", { sink_id: OTHER, settings_digest: digestOf(contents) }, contents);
  expect(await found()).toEqual([]);
  expect(connection.value("SELECT url FROM sinks WHERE id = ?", [OTHER])).toBe("https://new.example/");
  await happen("sink.remove", { sink_id: ONE });
  expect(await found()).toEqual([]);
  expect(connection.all("SELECT id FROM sinks")).toEqual([[OTHER]]);
});

test("each changed column, a removed row, an added one and two that were exchanged are found", async () => {
  await create(ONE, "https://one.example/");
  await create(OTHER, "https://other.example/");
  const columns = connection.all<[string, string]>("SELECT name, type FROM pragma_table_info('sinks')");
  for (const [column, type] of columns) {
    connection.exec("SAVEPOINT tampering");
    connection.run(`UPDATE sinks SET ${column} = ? WHERE id = ?`, [type === "TEXT" ? "snk_x" : 7, ONE]);
    const expected = column === "id" ? ["row_added null snk_x", `row_missing 0 ${ONE}`] : [`row_changed 0 ${ONE}`];
    expect(await found(), column).toEqual(expected);
    connection.exec("ROLLBACK TO tampering");
  }
  connection.run("DELETE FROM sinks WHERE id = ?", [OTHER]);
  expect(await found()).toEqual([`row_missing 1 ${OTHER}`]);
  connection.exec("ROLLBACK TO tampering");
  connection.run("UPDATE sinks SET id = CASE id WHEN ? THEN 'x' ELSE ? END", [ONE, ONE]);
  connection.run("UPDATE sinks SET id = ? WHERE id = 'x'", [OTHER]);
  expect((await found()).toSorted()).toEqual([`row_changed 0 ${ONE}`, `row_changed 1 ${OTHER}`]);
});

test("events that cannot be are found, and are not applied", async () => {
  await create(ONE, "https://one.example/");
  const again = { ...(log[0] as [AuditEventBody, JsonObject])[1] };
  await expect(create(ONE, "https://one.example/")).rejects.toThrow();
  await expect(happen("sink.remove", { sink_id: OTHER })).rejects.toThrow("does not fit");
  await expect(happen("sink.rotate", { sink_id: ONE, settings_digest: "0".repeat(64) })).rejects.toThrow("contents");
  const event = (operation: string, details: JsonObject) =>
    log.push([{ ...(log[0] as [AuditEventBody, JsonObject])[0], operation, seq: log.length }, details]);
  event("sink.create", again);
  event("sink.remove", { sink_id: OTHER });
  event("sink.change", { sink_id: 7 });
  expect((await found()).slice(0, 3)).toEqual([
    "operation_impossible 1 ",
    "operation_impossible 2 ",
    "details_malformed 3 ",
  ]);
});
