/**
 * Evidence that says the same in another form, or in a form that it must not have: numbers, nesting, white space, lines,
 * ends and names of texts, and values of another type in a database. All programs say the same of each.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { FULL_TEXT_SCHEMA } from "../../src/core/rows/full-text.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { temporaryDirectory } from "../temporary.ts";
import { compared, SecondVerifier } from "../verify/second-verifier.ts";
import { makeBase, type Places } from "./base.ts";
import { columnsOf } from "./databases.ts";
import { expectRight, type Form, Judge, type Tampering } from "./judge.ts";
import { throughServer } from "./through-server.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const directory = temporaryDirectory();
const second = new SecondVerifier();
let base: Places;
let judge: Judge;
beforeAll(async () => {
  mkdirSync(directory.join("base"));
  base = await makeBase(directory.join("base"), throughServer);
  judge = new Judge(directory.join("base"));
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  await judge[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** One in this many of the forms is tried, others of each text. */
const FORMS = effort({ usual: 3, long: 1 });
let judgedTexts = 0;

type Exit = Tampering["exit"];
type Written = readonly [to: string, exit: Exit, edit: (text: string) => string | Buffer];

/** Judges a text in other forms. An edit that changes nothing is a mistake of the test. */
async function judged(form: Form, original: string, all: readonly Written[]): Promise<void> {
  const wrong: unknown[] = [];
  for (const [to, exit, edit] of all.filter((_, index) => index % FORMS === judgedTexts % FORMS)) {
    const edited = edit(original);
    if (edited === original) wrong.push([form, to, "is not another text"]);
    const tampering = { form, kind: "written otherwise", to, exit } as const;
    wrong.push(await judge.wrong(tampering, judge.paper(edited), { keys: [base.publicKey] }, true));
  }
  judgedTexts += 1;
  expectRight(wrong);
}

const put = (from: string | RegExp, to: string) => (text: string) => text.replace(from, () => to);
const nested = (depth: number) => put('"details":{', `"details":{"z":${"[".repeat(depth)}${"]".repeat(depth)},`);
const atEnd = (more: string) => (text: string) => text.trimEnd() + more;

/** In both forms of an export. */
const EITHER: readonly Written[] = [
  ["a number with a fraction", 0, put('"seq":1,', '"seq":1.0,')],
  ["a number with an exponent", 0, put('"agent_seq":2,', '"agent_seq":2e0,')],
  ["zero with a sign", 0, put('"seq":0,', '"seq":-0,')],
  ["the number of events with a fraction", 0, (text) => text.replaceAll(/"event_count":(\d+)/g, '"event_count":$1.0')],
  ["a number with a zero before it", "refused", put('"seq":1,', '"seq":01,')],
  ["a number as a text", 1, put('"seq":1,', '"seq":"1",')],
  ["a number of thousands of digits", 1, put('"seq":1,', `"seq":1${"0".repeat(5_000)},`)],
  ["a number beyond all", 1, put('"seq":1,', '"seq":1e999,')],
  ["what is no number", "refused", put('"seq":1,', '"seq":NaN,')],
  ["details that are nested deeper", 1, nested(3_000)],
  ["details that are nested very deep", 1, nested(200_000)],
  ["an escape in a name", 0, put('"actor"', '"\\u0061ctor"')],
  ["an escape in a value", 0, put('"result":"ok"', '"result":"\\u006fk"')],
  ["spaces between", 0, (text) => text.replaceAll('":', '": ')],
  ["a name of objects", 1, put('"actor"', '"__proto__":1,"actor"')],
  ["blanks at its end", 0, atEnd("  \t\r\n\n")],
  ...["\f", "\u00a0", "\u2028", "\u0000", "\ufeff", "x"].map(
    (more): Written => [`character ${more.codePointAt(0)} at its end`, 1, atEnd(`\n${more}`)],
  ),
  ["a mark of byte order", 2, (text) => `\ufeff${text}`],
  ["UTF-16", 2, (text) => Buffer.from(text, "utf16le")],
  ["compressed", 2, (text) => Buffer.from(Bun.gzipSync(text))],
  ["there twice", "refused", (text) => text + text],
];

const lines = (change: (all: string[]) => string[]) => (text: string) => change(text.split("\n")).join("\n");
const lineOf = (line: string) => lines((all) => all.toSpliced(5, 0, line));

const NDJSON: readonly Written[] = [
  ...EITHER,
  ["with other ends of lines", 0, (text) => text.replaceAll("\n", "\r\n")],
  ["a line that is null", 1, lineOf("null")],
  ["a line that is a list", 1, lineOf("[]")],
  ["a line that is a number", 1, lineOf("5")],
  ["an empty line", "refused", lineOf("")],
  ["a type twice", 1, put('\n{"type":"event"', '\n{"type":"trailer","type":"event"')],
  ["two events exchanged", 1, lines((all) => [...all.slice(0, 4), all[5] ?? "", all[4] ?? "", ...all.slice(6)])],
  ["its trailer first", "refused", lines((all) => [all.at(-2) ?? "", ...all.slice(0, -2), ""])],
];

const JSON_FORM: readonly Written[] = [
  ...EITHER,
  ["its events first", 2, reordered((names) => ["events", ...names.filter((name) => name !== "events")])],
  ["its events last", 0, reordered((names) => [...names.filter((name) => name !== "events"), "events"])],
  ["indented", 0, (text) => JSON.stringify(JSON.parse(text), null, 2)],
];

function reordered(order: (names: string[]) => string[]) {
  return (text: string): string => {
    const all = JSON.parse(text);
    return JSON.stringify(Object.fromEntries(order(Object.keys(all)).map((name) => [name, all[name]])));
  };
}

test("an export in lines", () => judged("export", readFileSync(base.ndjson, "utf8"), NDJSON));
test("an export as a document", () => judged("export", readFileSync(base.json, "utf8"), JSON_FORM));

const signedBy = (name: string) => (text: string) => `${text}— ${name} ${Buffer.from("abcdefgh").toString("base64")}\n`;
const proofOf = (change: (path: string[]) => string[]) => (text: string) => {
  const [head = "", ...rest] = text.split("\n\n");
  const all = head.split("\n");
  return [[...all.slice(0, 3), ...change(all.slice(3))].join("\n"), ...rest].join("\n\n");
};

const RECEIPT: readonly Written[] = [
  ["with other ends of lines", 2, (text) => text.replaceAll("\n", "\r\n")],
  ["without its last end of line", 2, (text) => text.trimEnd()],
  ["a longer proof than there can be", "refused", proofOf((path) => Array(64).fill(path[0]))],
  ["two hashes exchanged", 1, proofOf(([first = "", other = "", ...path]) => [other, first, ...path])],
  ["an index with a zero", 2, put(/^index /m, "index 0")],
  ["a signature of a stranger", 0, signedBy("stranger.example")],
  ...["a\u0001b", "a\u0085b", "a\u00a0b", "a\u2003b", "a+b", ""].map(
    (name): Written => [`a signature of ${JSON.stringify(name)}`, 2, signedBy(name)],
  ),
];

test("a receipt", () => judged("receipt", readFileSync(base.receipt, "utf8"), RECEIPT));

compared("keys and seals that an auditor brings", async () => {
  const pem = readFileSync(base.publicKey, "utf8");
  const raw = Buffer.from(pem.split("\n").slice(1, -2).join(""), "base64").subarray(-32);
  const foreign = Buffer.concat([Buffer.from("302a300506032b656e032100", "hex"), raw]).toString("base64");
  const seal = readFileSync(base.earlySeal, "utf8");
  const brought: [option: string, text: string, exit: number][] = [
    ["--public-key", pem.replaceAll("\n", "\r\n"), 0],
    ["--public-key", `\ufeff${pem}`, 0],
    ["--public-key", raw.toString("hex"), 0],
    ["--public-key", raw.toString("base64"), 2],
    ["--public-key", `-----BEGIN PUBLIC KEY-----\n${foreign}\n-----END PUBLIC KEY-----\n`, 2],
    ["--seal", seal, 0],
    ["--seal", `${seal}\n`, 0],
    ["--seal", `${seal}\n\n`, 2],
    ["--seal", seal.replaceAll("\n", "\r\n"), 2],
    ["--seal", seal.slice(0, -9), 2],
    ["--seal", "", 2],
  ];
  for (const [option, text, exit] of brought) {
    const path = directory.join("brought");
    writeFileSync(path, text);
    const words = [base.ndjson, option, path];
    const [ours, theirs] = [await governd(["verify", ...words]), await second.run(...words)];
    expect([ours.code, theirs.code], `${option} ${JSON.stringify(text)}: ${theirs.out}`).toEqual([exit, exit]);
  }
});

/** Values of types that a column of a strict table does not hold. */
const TYPES: Readonly<Record<string, (column: string) => string>> = {
  blob: (column) => `CAST(${column} AS BLOB)`,
  fraction: () => "0.5",
  null: () => "NULL",
  "no text": (column) => `CAST(CAST(${column} AS BLOB) || x'ff' AS TEXT)`,
};
/** One in this many of the changes is made. */
const EVERY = effort({ usual: 11, long: 1 });

/** Changes the text of a table in the schema, which the next connection reads. */
function rewriteTable(path: string, table: string, text: (sql: string) => string): void {
  using connection = openConnection(path);
  const sql = connection.value<string>("SELECT sql FROM sqlite_schema WHERE name = ?", [table]) ?? "";
  connection.exec("PRAGMA writable_schema = ON");
  connection.run("UPDATE sqlite_schema SET sql = ? WHERE name = ?", [text(sql), table]);
  connection.exec(`PRAGMA schema_version = ${(connection.value<number>("PRAGMA schema_version") ?? 0) + 1}`);
  connection.truncateLog();
}

/** Returns the statement of a table without the types and constraints of its columns. */
const loose = (sql: string): string =>
  sql
    .replaceAll(/--[^\n]*/g, "")
    .replaceAll("NOT NULL", "")
    .replace(/CHECK \([^)]*\)/, "")
    .replace(/\)\s*STRICT$/, ")")
    .replaceAll(/(\w+)\s+(?:INTEGER|TEXT)(?!\s+(?:PRIMARY|GENERATED))/g, "$1 BLOB");

compared("values of another type in a database", async () => {
  const tables = withBase((connection) => [...columnsOf(connection, { alsoNoRecord: true })]);
  const cases = tables.flatMap(([table, columns]) =>
    columns.flatMap((column) => Object.entries(TYPES).map(([type, value]) => ({ table, column, type, value }))),
  );
  const wrong: unknown[] = [];
  for (const [index, { table, column, type, value }] of cases.entries()) {
    if (index % EVERY !== 0) continue;
    const path = directory.join(`typed-${index}.db`);
    copyFileSync(base.database, path);
    const sql = withBase((connection) =>
      connection.value<string>("SELECT sql FROM sqlite_schema WHERE name = ?", [table]),
    );
    rewriteTable(path, table, loose);
    const isChanged = changed(
      path,
      `UPDATE ${table} SET ${column} = ${value(column)} WHERE rowid = (SELECT max(rowid) FROM ${table} WHERE ${column} IS NOT NULL)`,
    );
    rewriteTable(path, table, () => sql ?? "");
    if (!isChanged) continue;
    const tampering = { form: "database", kind: "of another type", to: `${table}.${column} ${type}`, exit: 1 } as const;
    const said = await judge.wrong(tampering, path, { keys: [base.publicKey] }, true);
    // Where a column may be NULL or holds blobs, these are only other values.
    if (said !== null && !/^(answers|key_use|sink_positions|tiles)\./.test(tampering.to)) wrong.push(said);
  }
  expectRight(wrong);
});

const HIDDEN_ROWS = [
  "DROP INDEX search_rows_by_key",
  "CREATE UNIQUE INDEX search_rows_by_key ON search_rows (agent, key) WHERE agent < 0",
  "PRAGMA writable_schema = ON",
  "UPDATE sqlite_schema SET sql = replace(sql, ' WHERE agent < 0', '') WHERE name = 'search_rows_by_key'",
];

/** Nothing depends on a full-text index, which versions of SQLite check differently. It must hide no other index. */
compared("a full-text index, which is not covered", async () => {
  const cases: [to: string, exit: Exit, sql: readonly string[]][] = [
    ["as it is", 0, []],
    ["without words", 0, ["DELETE FROM search_texts_data WHERE id > 10"]],
    ["of another version", 0, ["UPDATE search_texts_config SET v = 9"]],
    ["that cannot be opened", 0, ["DELETE FROM search_texts_config"]],
    ["that cannot be opened, beside an index without rows", 1, ["DELETE FROM search_texts_config", ...HIDDEN_ROWS]],
    ["without words, beside an index without rows", 1, ["DELETE FROM search_texts_data", ...HIDDEN_ROWS]],
  ];
  const wrong: unknown[] = [];
  for (const [to, exit, sql] of cases) {
    const path = directory.join(`${to}.db`);
    copyFileSync(base.database, path);
    {
      using connection = openConnection(path);
      connection.exec(FULL_TEXT_SCHEMA);
      connection.exec("INSERT INTO search_rows SELECT id, agent, key, written_seq FROM entries WHERE live_to IS NULL");
      connection.exec("INSERT INTO search_texts (rowid, words) VALUES (1, 'first words'), (2, 'second words')");
      for (const text of sql) connection.exec(text);
      connection.truncateLog();
    }
    const tampering = { form: "database", kind: "full-text index", to, exit } as const;
    wrong.push(await judge.wrong(tampering, path, { keys: [base.publicKey] }, true));
    const { out } = await governd(["verify", path]);
    if (exit === 0) expect(out).toContain("not covered: search indexes");
  }
  expectRight(wrong);
});

function withBase<T>(look: (connection: Connection) => T): T {
  using connection = openConnection(base.database, { readOnly: true });
  return look(connection);
}

/** Runs a statement. Reports whether it changed a row: an integer key refuses values of another type. */
function changed(path: string, sql: string): boolean {
  using connection = openConnection(path);
  try {
    return connection.change(sql) > 0;
  } catch {
    return false;
  } finally {
    connection.truncateLog();
  }
}
