import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { storeTiles, TreeIncomplete, treeReader, treeRoot } from "../../src/core/rows/log/tree.ts";
import { WORKSPACE_MIGRATIONS } from "../../src/core/writer/file.ts";
import { consistencyProof, inclusionProof, verifyInclusion } from "../../src/log/proof.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { migrate } from "../../src/store/migrate.ts";
import { verifyConsistency } from "../log/consistency.ts";
import { mth } from "../log/tree.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { temporaryDirectory } from "../temporary.ts";
import { Driver } from "../verify/sample-workspace.ts";

function emptyWorkspace(path: string): Connection {
  const connection = openConnection(path);
  migrate(connection, WORKSPACE_MIGRATIONS);
  return connection;
}

const hashOf = (seq: number): Buffer => createHash("sha256").update(`event ${seq}`).digest();

const INSERT = `INSERT INTO events (seq, agent_seq, operation, result, actor, time, random, previous_hash,
    details_commitment, hash, entries)
  VALUES (?1, ?1, 'data.write', 'allowed', 'cli', 0, x'', x'', x'', ?2, 0)`;

/** A file with events that are nothing but hashes, appended in groups as the writer does. */
async function grow(connection: Connection, from: number, to: number, group: number): Promise<void> {
  for (let at = from; at < to; at += group) {
    const end = Math.min(at + group, to);
    connection.exec("BEGIN");
    for (let seq = at; seq < end; seq++) {
      connection.run(INSERT, [seq, hashOf(seq)]);
    }
    await storeTiles(connection, at, end);
    connection.exec("COMMIT");
  }
}

const hex = (hash: Uint8Array): string => Buffer.from(hash).toString("hex");

describe("the tree of a workspace", () => {
  test("has the root of RFC 6962 at every size, whatever the groups were", async () => {
    using directory = temporaryDirectory();
    const connection = emptyWorkspace(directory.join("w.db"));
    await grow(connection, 0, 700, 37);
    await grow(connection, 700, 1500, 512);
    const leaves = Array.from({ length: 1500 }, (_, seq) => hashOf(seq));
    for (const size of [0, 1, 2, 3, 255, 256, 257, 511, 512, 513, 700, 1023, 1024, 1025, 1499, 1500]) {
      expect(hex(await treeRoot(connection, size))).toBe(hex(mth(leaves.slice(0, size))));
    }
    await expect(treeRoot(connection, 1501)).rejects.toBeInstanceOf(TreeIncomplete);
    connection.close();
  });

  test(
    "stores a full tile's hash one level up, and reads a few rows for a proof of a large log",
    async () => {
      using directory = temporaryDirectory();
      const connection = emptyWorkspace(directory.join("w.db"));
      const size = 256 * 256 + 300;
      await grow(connection, 0, size, 4_096);
      const rows = connection.all<[number, number, number]>(
        "SELECT level, count(*), max(length(hashes)) FROM tiles GROUP BY level",
      );
      expect(rows).toEqual([
        [0, 257, 8192],
        [1, 2, 8192],
        [2, 1, 32],
      ]);
      const reader = treeReader(connection);
      const root = await treeRoot(connection, size);
      for (const index of [0, 255, 256, 40_000, 65_535, 65_536, size - 1]) {
        const path = await inclusionProof(index, size, reader);
        expect(verifyInclusion(hashOf(index), index, { size, root }, path)).toBe(true);
      }
      for (const old of [1, 256, 30_000, 65_536, size - 1]) {
        const path = await consistencyProof(old, size, reader);
        const older = { size: old, root: await treeRoot(connection, old) };
        expect(verifyConsistency(older, { size, root }, path)).toBe(true);
      }
      connection.close();
    },
    PROCESS_TEST_MS,
  );

  test("is kept by the writer, and by two writers in turn", async () => {
    using directory = temporaryDirectory();
    const path = directory.join("w.db");
    const first = await Driver.create(path);
    const second = new Driver(path, first.nowMs + 1_000_000);
    const write = (driver: Driver, count: number) =>
      driver.performAll(
        Array.from(
          { length: count },
          (_, i) => ["data.write", { agentId: "a", key: `k${i}`, value: "v", metadata: {} }] as const,
        ),
      );
    for (const count of [200, 55, 1, 130, 300, 2]) {
      await write(first, count);
      await write(second, count + 1);
    }
    const { connection } = first;
    const leaves = connection.all<[Buffer]>("SELECT hash FROM events ORDER BY seq").map(([hash]) => hash);
    expect(hex(await treeRoot(connection, leaves.length))).toBe(hex(mth(leaves)));
    expect(connection.get("SELECT count(*) FROM tiles WHERE level = 0")).toEqual([Math.floor(leaves.length / 256)]);
    first.close();
    second.close();
  });
});
