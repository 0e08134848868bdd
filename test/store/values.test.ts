/** Binding: what the driver must never see is refused before it, whatever it is. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { type SqlValue, UnbindableValue } from "../../src/store/values.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

let directory: TemporaryDirectory;
let connection: Connection;

beforeAll(() => {
  directory = temporaryDirectory();
  connection = openConnection(join(directory.path, "values.db"));
  connection.exec("CREATE TABLE kept (value)");
});
afterAll(() => {
  connection.close();
  directory[Symbol.dispose]();
});

const back = (value: SqlValue) => connection.get<[unknown]>("SELECT ?", [value])?.[0];

const HOSTILE: unknown[] = [
  true,
  false,
  undefined,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Symbol("s"),
  () => 1,
  {},
  [],
  [1],
  new Date(0),
  new Map(),
  new ArrayBuffer(4),
  new DataView(new ArrayBuffer(4)),
  new Float64Array(2),
  new String("boxed"),
  Object.create(null),
  "\u0000",
  "a\u0000b",
];

for (const [i, hostile] of HOSTILE.entries()) {
  test(`value ${i}, ${typeof hostile}, is refused by every call, at every position`, () => {
    const value = hostile as SqlValue;
    for (const parameters of [[value], [1, value], [value, "x"]]) {
      const sql = `SELECT ${parameters.map(() => "?").join(", ")}`;
      expect(() => connection.get(sql, parameters)).toThrow(UnbindableValue);
      expect(() => connection.all(sql, parameters)).toThrow(UnbindableValue);
      expect(() => connection.run("INSERT INTO kept VALUES (?)", parameters)).toThrow(UnbindableValue);
    }
    expect(connection.get<[number]>("SELECT count(*) FROM kept")?.[0]).toBe(0);
  });
}

test.each([{}, { 0: 1, length: 1 }, "text", 1, true, null, new Uint8Array(3)])(
  "%p in place of the list of parameters is refused",
  (parameters) => {
    expect(() => connection.get("SELECT ?", parameters as never)).toThrow(UnbindableValue);
  },
);

test("what a refusal says does not hold the value", () => {
  for (const hostile of ["hunter2\u0000", { hunter2: 1 }, ["hunter2"]]) {
    expect(() => back(hostile as SqlValue)).toThrow(expect.not.stringContaining("hunter2") as never);
  }
});

test("any other string, number and bytes are read back unchanged", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      if (!text.includes("\u0000")) expect(back(text)).toBe(text);
    }),
  );
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      expect(Object.is(back(number), number) || back(number) === number).toBe(true);
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(Buffer.from(back(bytes) as Uint8Array)).toEqual(Buffer.from(bytes));
    }),
  );
  expect(back(null)).toBeNull();
  expect(back(Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER);
  expect(back(42n)).toBe(42);
});
