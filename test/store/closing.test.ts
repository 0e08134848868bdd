/** Closed connections: what they refuse, and that their statements let go of their files. */
import { expect, test } from "bun:test";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { temporaryDirectory } from "../temporary.ts";

test("a closed connection refuses statements, has no transaction, and can be closed again", () => {
  const connection = openConnection(":memory:");
  connection.exec("CREATE TABLE t (a); BEGIN");
  connection.run("INSERT INTO t VALUES (1)");
  connection.close();
  connection.close();
  expect(connection.inTransaction).toBe(false);
  const uses = [
    () => connection.exec("SELECT 1"),
    () => connection.value("SELECT a FROM t"),
    () => connection.run("INSERT INTO t VALUES (1)"),
  ];
  for (const use of uses) expect(use).toThrow("The database connection is not open");
});

interface Statement {
  stmt: object | null;
}

/** Returns the driver's statements of a connection, also those that it prepares later. */
function statementsOf(connection: Connection): Statement[] {
  const { driver } = connection as unknown as { driver: { prepare(sql: string): Statement } };
  const statements: Statement[] = [];
  const prepare = driver.prepare.bind(driver);
  driver.prepare = (sql) => {
    const statement = prepare(sql);
    statements.push(statement);
    return statement;
  };
  return statements;
}

test("the statements of a closed connection are unlinked, so that a collection closes its file", () => {
  using directory = temporaryDirectory();
  const connection = openConnection(directory.join("a.db"));
  const statements = statementsOf(connection);
  connection.exec("CREATE TABLE t (a)");
  connection.run("INSERT INTO t VALUES (1)");
  connection.run("INSERT INTO t VALUES (2)");
  expect(statements.map(({ stmt }) => typeof stmt)).toEqual(["object", "object"]);
  expect(statements.every(({ stmt }) => stmt !== null)).toBe(true);
  connection.close();
  expect(statements.every(({ stmt }) => stmt === null)).toBe(true);
});
