/** What SQLite finds wrong with the structure of a file. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { openConnection } from "../../src/store/connection.ts";
import { integrityProblem } from "../../src/store/snapshot.ts";
import { temporaryDirectory } from "../temporary.ts";

/** A file with one row and an index over it, of which these texts were replaced by others of the same length. */
function problemAfter(changes: readonly (readonly [from: string, to: string, which: "first" | "all"])[]) {
  using directory = temporaryDirectory();
  const path = directory.join("x.db");
  {
    using connection = openConnection(path);
    connection.exec("PRAGMA journal_mode = DELETE; CREATE TABLE t (a); CREATE INDEX by_a ON t (a)");
    connection.exec("INSERT INTO t VALUES ('stored value')");
  }
  let bytes = readFileSync(path, "latin1");
  for (const [from, to, which] of changes)
    bytes = which === "all" ? bytes.replaceAll(from, to) : bytes.replace(from, to);
  writeFileSync(path, bytes, "latin1");
  using connection = openConnection(path, { readOnly: true });
  return integrityProblem(connection);
}

test("nothing in an honest file", () => {
  expect(problemAfter([])).toBeNull();
});

test("an index that differs from its table, also when its name is no text any more", () => {
  const value = ["stored value", "edited value", "first"] as const;
  expect(problemAfter([value])).toContain("by_a");
  expect(problemAfter([value, ["by_a", "\xff\xfe_a", "all"]])).toContain("_a");
});
