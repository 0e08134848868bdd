/** Copies of a workspace's file with changed rows, as both programs see them. */
import { expect } from "bun:test";
import { copyFileSync } from "node:fs";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import type { ReportedProblem } from "../../src/verify/report-schema.ts";
import { governd } from "../cli/governd.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { codesOf, SecondVerifier } from "../verify/second-verifier.ts";
import { makeBase, type Places } from "./base.ts";
import { throughServer } from "./through-server.ts";

/** In how many of the two places each change is made. */
const PLACES = effort({ usual: 1, long: 2 });

export class ChangedFiles implements AsyncDisposable {
  readonly second = new SecondVerifier();
  #copies = 0;

  private constructor(
    readonly directory: TemporaryDirectory,
    private readonly database: string,
    private readonly places: Places | null,
  ) {}

  /** Copies of the file that {@link makeBase} makes. */
  static async make(): Promise<ChangedFiles> {
    const directory = temporaryDirectory();
    const places = await makeBase(directory.join("base"), throughServer);
    return new ChangedFiles(directory, places.database, places);
  }

  /** Copies of another file. */
  static of(directory: TemporaryDirectory, database: string): ChangedFiles {
    return new ChangedFiles(directory, database, null);
  }

  get base(): Places {
    if (this.places === null) throw new Error("the copies are of another file");
    return this.places;
  }

  /** Verifies a file with both programs, which must report the same codes. */
  async verified(path: string) {
    const ours = await governd(["verify", path, "--json"], { released: false });
    const theirs = await this.second.run(path);
    const { sources } = ours.json<{ sources: { problems: ReportedProblem[] }[] }>();
    const problems = sources.flatMap((source) => source.problems);
    const codes = codesOf(problems.map(({ code }) => code));
    expect(codesOf(theirs.codes), theirs.out).toEqual(codes);
    return { exits: [ours.code, theirs.code], codes, problems };
  }

  /** Makes a change in a copy. In the write-ahead log alone, the copy must stay open until it was looked at. */
  changed(change: (connection: Connection) => void, log: boolean) {
    const path = this.directory.join(`copy-${this.#copies++}.db`);
    copyFileSync(this.database, path);
    const connection = openConnection(path);
    change(connection);
    if (!log) {
      connection.truncateLog();
      connection.close();
    }
    return { path, [Symbol.dispose]: () => (log ? connection.close() : undefined) };
  }

  /**
   * Requires that both programs find a change with these codes, in the database itself and in the write-ahead log; in a
   * usual run in one of them, by turns.
   */
  async requireFound(sql: string, expected: readonly string[]): Promise<void> {
    const isInLog = (this.#copies + SEED) % 2 === 1;
    for (const log of [isInLog, !isInLog].slice(0, PLACES)) {
      using copy = this.changed((connection) => connection.exec(sql), log);
      const { exits, codes } = await this.verified(copy.path);
      expect({ sql, log, exits, codes }).toEqual({ sql, log, exits: [1, 1], codes: [...expected] });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.second[Symbol.asyncDispose]();
    this.directory[Symbol.dispose]();
  }
}

/** SQL: exchanges columns of two rows. Some are unique, so that the rows are taken out in between. */
export const exchange = (table: string, columns: string, one: string, other: string): string => `
  CREATE TEMP TABLE two AS SELECT * FROM ${table} WHERE ${one} OR ${other};
  DELETE FROM ${table} WHERE ${one} OR ${other};
  CREATE TEMP TABLE swapped AS SELECT * FROM two;
  UPDATE swapped SET (${columns}) = (SELECT ${columns} FROM two WHERE two.rowid <> swapped.rowid);
  INSERT INTO ${table} SELECT * FROM swapped`;
