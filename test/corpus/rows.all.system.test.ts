/**
 * Every column of every table of a workspace's file: changed, blanked, emptied, made no text, or taken from another row;
 * and one row or all rows of every table removed. The first program reports each as one problem, and both find it. The change is in
 * the database itself, or only in the write-ahead log.
 */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { copyFileSync } from "node:fs";
import { Value } from "@sinclair/typebox/value";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { Report, type ReportedProblem } from "../../src/verify/report-schema.ts";
import { governd } from "../cli/governd.ts";
import { effort } from "../effort.ts";
import { HASHED } from "../support/event-rows.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { codesOf, compared, SecondVerifier } from "../verify/second-verifier.ts";
import { makeBase, type Places } from "./base.ts";
import { throughServer } from "./through-server.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const directory = temporaryDirectory();
let base: Places;
let second: SecondVerifier;
let copies = 0;
beforeAll(async () => {
  base = await makeBase(directory.join("base"), throughServer);
  second = new SecondVerifier();
}, PROCESS_TEST_MS);
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** A row of each table, and another one of the same kind, by SQL conditions. */
const ROWS: Record<string, { one: string; other: string; columns: string[] }> = {
  events: { one: "seq = 3", other: "seq = 4", columns: [...HASHED, "hash", "details", "details_salt"] },
  agents: { one: "agent_id = 'alpha'", other: "agent_id = 'beta'", columns: ["first_seq", "agent_id"] },
  configs: {
    one: "version = 1",
    other: "version = 2",
    columns: ["agent", "version", "config", "salt", "created_seq", "rolled_back_from"],
  },
  entries: {
    one: "key = 'k1' AND live_to IS NULL",
    other: "key = 'k2' AND live_to IS NULL",
    columns: [
      ...["agent", "key", "value", "metadata", "salt", "written_seq", "created_seq"],
      ...["live_from", "live_to", "created_at", "updated_at", "expires_at"],
    ],
  },
  checkpoints: {
    one: "label = 'c'",
    other: "label IS NULL",
    columns: ["id", "agent", "as_of_seq", "event_seq", "config_version", "entry_count", "label", "metadata"],
  },
  tiles: { one: "level = 0", other: "level = 1", columns: ["level", "tile", "hashes"] },
  seal_keys: { one: "announced_seq = 0", other: "1", columns: ["announced_seq", "verifier_key"] },
  seals: { one: "id = 1", other: "id = 2", columns: ["size", "note"] },
  keys: {
    one: "label = 'ended' AND ended_seq IS NOT NULL",
    other: "label = 'limited'",
    columns: [
      ...["id", "digest", "label", "scope", "agents", "networks", "expires_at"],
      ...["created_seq", "ended_seq", "replaced_by"],
    ],
  },
  members: {
    one: "issuer IS NOT NULL",
    other: "role = 'auditor'",
    columns: ["account_id", "role", "issuer", "joined_seq", "role_seq"],
  },
  invitations: {
    one: "label = 'used'",
    other: "label = 'withdrawn'",
    columns: ["id", "digest", "role", "label", "expires_at", "created_seq", "ended_seq", "used_by"],
  },
  workspace: { one: "1", other: "1", columns: ["id", "second_factor_since"] },
  sinks: {
    one: "enabled = 0",
    other: "enabled = 1",
    columns: [
      ...["id", "type", "format", "filter", "include_details", "start", "enabled", "created_seq"],
      ...["url", "ca", "client_certificate", "secrets", "salt"],
    ],
  },
  head: { one: "one = 1", other: "1", columns: ["workspace_id", "format", "vocabulary", "seq", "hash"] },
};

/** The changes of a column, as SQL for its new value. */
const CHANGES: Record<string, (column: string, table: string, other: string) => string> = {
  changed: (column) =>
    `CASE typeof(${column}) WHEN 'integer' THEN ${column} + 1 WHEN 'null' THEN 1 WHEN 'blob' THEN randomblob(length(${column}))
     ELSE replace(replace(${column} || '1', '"}1', '1"}'), '}1', ',"z":1}') END`,
  blanked: () => "NULL",
  emptied: (column) => `CASE typeof(${column}) WHEN 'integer' THEN 0 WHEN 'blob' THEN x'' ELSE '' END`,
  "taken from another row": (column, table, other) => `(SELECT ${column} FROM ${table} WHERE ${other} LIMIT 1)`,
  "moved far": (column) => `CASE typeof(${column}) WHEN 'integer' THEN ${column} + 1000000 ELSE 'z' || ${column} END`,
  "made no text": (column) => `CASE typeof(${column}) WHEN 'text' THEN CAST(x'ff' AS TEXT) ELSE ${column} END`,
};

interface Case {
  name: string;
  sql: string;
}

const CASES: Case[] = Object.entries(ROWS).flatMap(([table, { one, other, columns }]) => [
  ...columns.flatMap((column) =>
    Object.entries(CHANGES).map(([name, value]) => ({
      name: `${table}.${column} ${name}`,
      sql: `UPDATE ${table} SET ${column} = ${value(column, table, other)} WHERE ${one}`,
    })),
  ),
  { name: `${table} removed`, sql: `DELETE FROM ${table} WHERE ${one}` },
  { name: `${table} all removed`, sql: `DELETE FROM ${table}` },
]);

/** Makes a change in a copy. Returns null when SQLite refuses it, or it changes nothing. */
function changed({ sql }: Case, log: boolean): { path: string; release: () => void } | null {
  const path = directory.join(`copy-${copies++}.db`);
  copyFileSync(base.database, path);
  const connection: Connection = openConnection(path);
  const before = digestOf(connection);
  try {
    connection.run(sql);
  } catch {
    connection.close();
    return null;
  }
  const same = digestOf(connection) === before;
  if (!log || same) {
    connection.truncateLog();
    connection.close();
  }
  if (same) return null;
  return { path, release: () => log && connection.close() };
}

const digestOf = (connection: Connection): string =>
  Object.entries(ROWS)
    .map(([table, { columns }]) =>
      Bun.hash(
        JSON.stringify(
          connection.all(
            `SELECT ${columns.map((name) => `hex(CAST(${name} AS BLOB)), typeof(${name})`).join()} FROM ${table}`,
          ),
        ),
      ),
    )
    .join();

/** The expected code: for a change of a column, else for the column, else for the table. */
const CODES: Record<string, string> = {
  events: "hash_mismatch",
  "events.details": "details_mismatch",
  "events.details_salt": "details_mismatch",
  "events removed": "seq_gap",
  "events all removed": "head_mismatch",
  agents: "row_mismatch",
  "agents removed": "content_missing",
  "agents all removed": "content_missing",
  configs: "content_mismatch",
  "configs.agent": "content_missing",
  "configs.version": "content_missing",
  "configs removed": "content_missing",
  "configs all removed": "content_missing",
  entries: "content_mismatch",
  "entries.agent": "content_changed",
  "entries.created_seq": "content_orphan",
  "entries.live_from": "content_orphan",
  "entries.live_to": "content_orphan",
  "entries removed": "content_changed",
  "entries all removed": "content_changed",
  checkpoints: "content_mismatch",
  "checkpoints.agent": "content_missing",
  "checkpoints.event_seq": "content_orphan",
  "checkpoints removed": "content_missing",
  "checkpoints all removed": "content_missing",
  tiles: "row_mismatch",
  seal_keys: "content_missing",
  "seal_keys.verifier_key": "content_mismatch",
  seals: "seal_invalid",
  "seals.note moved far": "seal_signature",
  "configs.agent emptied": "content_mismatch",
  "entries.agent emptied": "content_orphan",
  "entries.written_seq emptied": "content_orphan",
  "entries.written_seq moved far": "content_orphan",
  "checkpoints.agent emptied": "content_orphan",
  "checkpoints.agent taken from another row": "content_orphan",
  keys: "row_changed",
  "keys.id": "row_missing",
  "keys removed": "row_missing",
  "keys all removed": "row_missing",
  members: "row_changed",
  "members.account_id": "row_missing",
  "members removed": "row_missing",
  "members all removed": "row_missing",
  invitations: "row_changed",
  "invitations.id": "row_missing",
  "invitations removed": "row_missing",
  "invitations all removed": "row_missing",
  workspace: "row_changed",
  "workspace.id": "row_missing",
  "workspace removed": "row_missing",
  "workspace all removed": "row_missing",
  sinks: "row_changed",
  "sinks.id": "row_missing",
  "sinks removed": "row_missing",
  "sinks all removed": "row_missing",
  head: "head_mismatch",
  "head.workspace_id": "hash_mismatch",
  "seal_keys.verifier_key made no text": "content_mismatch",
};

/** Changes after which columns have not the form of an event: all events, when nothing names their workspace. */
const MALFORMED: ReadonlySet<string> = new Set([
  ...["actor changed", "actor moved far", "blocked_by changed"].map((name) => `events.${name}`),
  ...["actor", "agent_id", "agent_seq", "blocked_by", "config_version", "details_commitment", "operation"].map(
    (name) => `events.${name} emptied`,
  ),
  ...["previous_hash", "random", "result"].map((name) => `events.${name} emptied`),
  ...["actor", "agent_id", "blocked_by", "operation", "result"].map((name) => `events.${name} made no text`),
  ...["head removed", "head all removed", "head.workspace_id emptied", "head.workspace_id made no text"],
  ...["head.workspace_id moved far", "head.workspace_id changed"],
]);

/** No tampering: other seals cover what one covered. Without any seal, nothing is known of the given key. */
const HARMLESS: Record<string, { exit: number; codes: string[] }> = {
  "seals removed": { exit: 0, codes: [] },
  "seals all removed": { exit: 2, codes: ["seal_missing"] },
};

const expectedOf = (name: string): { exit: number; codes: (string | undefined)[] } => {
  const [, place = "", table = ""] = /^((\w+)[.\w]*)/.exec(name) ?? [];
  const own = CODES[place] ?? CODES[table];
  if (MALFORMED.has(name)) return { exit: 1, codes: ["event_malformed"] };
  // What cannot be read is not compared with the content that the log states.
  const isUnread = name.endsWith("made no text") && own === "content_mismatch";
  const code = CODES[name] ?? (isUnread ? "row_mismatch" : own);
  return HARMLESS[name] ?? { exit: 1, codes: [code] };
};

/** The second program judges one in this many; with GOVERND_TEST_LONG=1 each. An odd number meets both places. */
const SECOND_LOOKS_AT = effort({ usual: 3, long: 1 });

/** One in this many of the changes of columns is tried, others of each column. */
const EVERY = effort({ usual: 3, long: 1 });
const TRIED = CASES.filter(({ name }, index) => name.endsWith("removed") || index % EVERY === 0);

let tried = 0;

describe("a change of one column or row", () => {
  for (const [index, one] of TRIED.entries()) {
    compared(one.name, async () => {
      // Every second change is in the write-ahead log alone.
      const copy = changed(one, index % 2 === 1);
      if (copy === null) return;
      tried += 1;
      const words = ["--public-key", base.publicKey];
      const ours = await governd(["verify", copy.path, "--json", ...words], { released: false });
      const theirs = index % SECOND_LOOKS_AT === 0 ? await second.run(...words, copy.path) : null;
      copy.release();
      const report = ours.json<{ sources: { problems: ReportedProblem[] }[] }>();
      expect(Value.Check(Report, report), "the form of the report").toBe(true);
      const problems = report.sources.flatMap((source) => source.problems);
      const { exit, codes } = expectedOf(one.name);
      expect(ours.code).toBe(exit);
      expect([...new Set(problems.map(({ code }) => code))]).toEqual(codes as never);
      if (theirs !== null)
        expect([theirs.code, codesOf(theirs.codes)], theirs.out).toEqual([exit, codesOf(codes as string[])]);
      for (const { seq, operation, code } of problems) {
        const isThere = seq !== null && seq < 1_000_000 && code !== "event_malformed";
        if (isThere) expect(operation).not.toBeNull();
      }
    });
  }
});

compared("enough changes were possible", () => {
  expect(tried).toBeGreaterThanOrEqual(160 / EVERY);
});
