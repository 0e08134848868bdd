/** What events state about rows: the store applies it, and the verifier finds every change of what was applied. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { applyRows, type BoundContents } from "../../src/core/rows/apply.ts";
import { WORKSPACE_MIGRATIONS } from "../../src/core/writer/file.ts";
import { RandomPool } from "../../src/ids.ts";
import type { JsonObject } from "../../src/json.ts";
import type { AuditEventBody } from "../../src/log/event.ts";
import { newSalt } from "../../src/log/hash.ts";
import { boundDigest, type Cells, ROW_TABLES, rowChanges } from "../../src/log/row-effects.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { migrate } from "../../src/store/migrate.ts";
import { StatedRows } from "../../src/verify/rows/stated-rows.ts";
import { typeId } from "../log/sample.ts";

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
const WORKSPACE = typeId("ws", 1);
const [OWNER, GUEST, GROUPED] = [1, 2, 3].map((number) => typeId("usr", number)) as [string, string, string];
const [USED, OPEN, WITHDRAWN] = [1, 2, 3].map((number) => typeId("inv", number)) as [string, string, string];

function contentsOf(url: string): Cells {
  return { url, ca: null, client_certificate: "PEM", secrets: "aes-256-gcm:c2VjcmV0", salt: newSalt(random) };
}

const digestOf = (contents: Cells) => boundDigest(ROW_TABLES.sinks, contents);

/** Applies what an event states, as the writer does, and keeps the event. */
async function happen(operation: string, details: JsonObject, contents: BoundContents = {}): Promise<void> {
  const event = { operation, seq: log.length, actor: "cli", timestamp: "2026-11-29T00:00:00.000Z", agent_id: null };
  const body = { ...event, workspace_id: WORKSPACE, result: "ok" } as AuditEventBody;
  await applyRows(connection, rowChanges(body, details) ?? [], contents);
  log.push([body, details]);
}

async function create(id: string, url: string): Promise<void> {
  const contents = contentsOf(url);
  const settings = { type: "webhook", format: "ocsf", filter: { results: ["ok"] }, include_details: false };
  const details = { ...settings, start: "now", enabled: true, settings_digest: digestOf(contents) };
  await happen("sink.create", { sink_id: id, ...details }, { sinks: contents });
}

async function found(): Promise<string[]> {
  const problems: string[] = [];
  const rows = new StatedRows(
    (code, _agent, seq, _message, row) => problems.push(`${code} ${seq} ${row?.key ?? ""}`),
    0,
  );
  for (const [event, details] of log) rows.add(event, details);
  await rows.compare(connection);
  return problems;
}

test("rows that are as the events left them are in order", async () => {
  await create(ONE, "https://one.example/");
  await create(OTHER, "https://other.example/");
  await happen("sink.change", { sink_id: ONE, enabled: false });
  const contents = contentsOf("https://new.example/");
  await happen("sink.rotate", { sink_id: OTHER, settings_digest: digestOf(contents) }, { sinks: contents });
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
    "details_invalid 3 ",
  ]);
});

/** Makes a workspace with an owner, a guest whose role was lowered, a role of an issuer's groups, and invitations. */
async function makePeople(): Promise<void> {
  await happen("workspace.create", { owner: OWNER });
  for (const [number, id] of [USED, OPEN, WITHDRAWN].entries()) {
    const of = {
      link_digest: `${number}`.repeat(64),
      role: "member",
      label: null,
      expires_at: "2026-12-06T00:00:00.000Z",
    };
    await happen("member.invite", { invitation_id: id, ...of });
  }
  await happen("member.join", { account_id: GUEST, role: "member", invitation_id: USED });
  await happen("member.uninvite", { invitation_id: WITHDRAWN });
  await happen("member.join", { account_id: GROUPED, role: "member", issuer: "https://id.example.org" });
  await happen("member.change", { account_id: GUEST, role: "auditor", role_before: "member" });
  await happen("workspace.change", { second_factor_since: "2026-11-29T00:00:00.000Z" });
}

test("members, invitations and the row of the workspace are as the events left them", async () => {
  await makePeople();
  expect(await found()).toEqual([]);
  expect(connection.all("SELECT * FROM members ORDER BY joined_seq")).toEqual([
    [OWNER, "owner", null, 0, 0],
    [GUEST, "auditor", null, 4, 7],
    [GROUPED, "member", "https://id.example.org", 6, 6],
  ]);
  expect(connection.all("SELECT id, created_seq, ended_seq, used_by FROM invitations ORDER BY created_seq")).toEqual([
    [USED, 1, 4, GUEST],
    [OPEN, 2, null, null],
    [WITHDRAWN, 3, 5, null],
  ]);
  expect(connection.all("SELECT * FROM workspace")).toEqual([[WORKSPACE, Date.UTC(2026, 10, 29), null]]);
  await happen("member.remove", { account_id: GROUPED, role: "member" });
  await happen("workspace.change", { second_factor_since: null });
  expect(await found()).toEqual([]);
  expect(connection.all("SELECT account_id FROM members ORDER BY joined_seq")).toEqual([[OWNER], [GUEST]]);
});

test.each([
  ["members", "account_id", GUEST, 7],
  ["invitations", "id", USED, 4],
  ["workspace", "id", WORKSPACE, 8],
] as const)("a change of %s is found, in each column, and a row that is gone or added", async (table, key, id, seq) => {
  await makePeople();
  const columns = connection.all<[string, string]>("SELECT name, type FROM pragma_table_info(?)", [table]);
  connection.exec("SAVEPOINT tampering");
  for (const [column, type] of columns) {
    connection.run(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, [type === "TEXT" ? "x" : 77, id]);
    const changed = column === key ? ["row_added null x", `row_missing ${seq} ${id}`] : [`row_changed ${seq} ${id}`];
    expect(await found(), column).toEqual(changed);
    connection.exec("ROLLBACK TO tampering");
  }
  connection.run(`DELETE FROM ${table} WHERE ${key} = ?`, [id]);
  expect(await found()).toEqual([`row_missing ${seq} ${id}`]);
  connection.exec("ROLLBACK TO tampering");
  const others = columns.map(([column]) => (column === key || column === "digest" ? "'x'" : column)).join();
  connection.run(`INSERT INTO ${table} SELECT ${others} FROM ${table} WHERE ${key} = ?`, [id]);
  expect(await found()).toEqual(["row_added null x"]);
});

test("members and invitations that could not be changed so are found", async () => {
  await makePeople();
  const event = (operation: string, details: JsonObject, timestamp = "2026-11-29T00:00:00.000Z") =>
    log.push([{ ...(log[0] as [AuditEventBody, JsonObject])[0], operation, seq: log.length, timestamp }, details]);
  const late = "2026-12-06T00:00:00.000Z";
  const join = (invitation_id: string, role = "member") => ({ account_id: typeId("usr", 9), role, invitation_id });
  event("member.uninvite", { invitation_id: USED });
  event("member.uninvite", { invitation_id: typeId("inv", 9) });
  event("member.join", { ...join(OPEN), account_id: GUEST });
  event("member.change", { account_id: GUEST, role: "owner", role_before: "owner" });
  event("member.remove", { account_id: OWNER, role: "member" });
  event("member.remove", { account_id: OWNER, role: "owner" });
  event("member.invite", { invitation_id: "inv_1", link_digest: "ab", role: "owner", label: null, expires_at: late });
  event("member.join", join("inv_1", "member"));
  event("member.invite", { invitation_id: "inv_2", link_digest: "cd", role: "owner", label: null, expires_at: late });
  event("member.join", { ...join("inv_2", "owner"), account_id: "usr_2" }, late);
  event("member.invite", { invitation_id: "inv_3", link_digest: "ef", role: "owner", label: null });
  const codes = (await found()).filter((one) => !one.startsWith("row_"));
  expect(codes).toEqual([
    ...[9, 10, 11, 12, 13, 14, 16, 18].map((seq) => `operation_impossible ${seq} `),
    "details_invalid 19 ",
  ]);
});

test("links, sessions and workspaces that could not be changed so are found", async () => {
  await happen("workspace.create", { owner: null });
  const event = (operation: string, details: JsonObject, timestamp = "2026-11-29T00:00:00.000Z") =>
    log.push([{ ...(log[0] as [AuditEventBody, JsonObject])[0], operation, seq: log.length, timestamp }, details]);
  const expires_at = "2026-12-06T00:00:00.000Z";
  const link = (link_id: string, kind: string, account_id: string | null) =>
    event("account.link", { link_id, link_digest: link_id, kind, account_id, second_factor_ends: false, expires_at });
  const create = (account_id: string, link_id: string) => ({ account_id, account_digest: "ab", link_id });
  const reset = (account_id: string, link_id: string) => ({ ...create(account_id, link_id), passkeys_ended: [] });
  link("inv_1", "setup", null);
  event("account.create", create(OWNER, "inv_1"));
  event("account.create", create(GUEST, "inv_1"));
  link("inv_2", "setup", null);
  event("account.create", create(GROUPED, "inv_2"), expires_at);
  link("inv_3", "reset", OWNER);
  event("account.reset_password", reset(OWNER, "inv_3"), expires_at);
  link("inv_4", "reset", OWNER);
  event("account.reset_password", reset(GUEST, "inv_4"));
  event("account.unlink", { link_id: "inv_4" });
  const begun = { session_id: "ses_1", session_digest: "ab", expires_at, second_factor: null };
  event("account.sign_in", { account_id: OWNER, ...begun });
  event("account.sign_in", { account_id: OWNER, ...begun });
  event("account.end_sessions", { account_id: GUEST, sessions: ["ses_1"] });
  event("account.end_sessions", { account_id: OWNER, sessions: ["ses_1"] });
  event("installation.delete_workspace", { for_workspace_id: typeId("ws", 2) });
  event("account.sign_in", { account_id: OWNER, ...begun, session_digest: null });
  const codes = (await found()).filter((one) => !one.startsWith("row_"));
  expect(codes).toEqual([
    ...[3, 5, 7, 9, 10, 12, 13, 14, 15].map((seq) => `operation_impossible ${seq} `),
    "details_invalid 16 ",
  ]);
});
