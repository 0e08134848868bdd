import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CompactRange, EMPTY_ROOT } from "../../src/log/merkle.ts";
import { consistencyProof, inclusionProof, rangeProof, verifyInclusion, verifyRange } from "../../src/log/proof.ts";
import { partialWidth, TILE_WIDTH, TileWriter } from "../../src/log/tiles.ts";
import { verifyConsistency } from "./consistency.ts";
import { auditPath, consistency, leafHash, leaves, MemoryTiles, mth } from "./tree.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function frontierOf(hashes: readonly Uint8Array[]): CompactRange {
  const frontier = new CompactRange();
  for (const hash of hashes) frontier.append(hash);
  return frontier;
}

async function tilesOf(hashes: readonly Uint8Array[], batch = 100): Promise<MemoryTiles> {
  const tiles = new MemoryTiles();
  for (let at = 0; at < hashes.length; at += batch) {
    const writer = await TileWriter.open(at, tiles);
    for (const hash of hashes.slice(at, at + batch)) {
      tiles.tail.push(hash);
      writer.append(hash);
    }
    tiles.store(writer.takeTiles());
  }
  return tiles;
}

describe("the Merkle tree (RFC 6962)", () => {
  test("the roots that Certificate Transparency's own tests have", () => {
    const entries = [
      "",
      "00",
      "10",
      "2021",
      "3031",
      "40414243",
      "5051525354555657",
      "606162636465666768696a6b6c6d6e6f",
    ];
    const roots = [
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
      "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    const frontier = new CompactRange();
    expect(hex(frontier.root())).toBe(hex(EMPTY_ROOT));
    for (const [index, entry] of entries.entries()) {
      frontier.append(leafHash(Buffer.from(entry, "hex")));
      expect(hex(frontier.root())).toBe(roots[index] as string);
    }
  });

  test("the frontier has the root of every size, and can be taken up anywhere", () => {
    const all = leaves(300);
    const frontier = new CompactRange();
    for (const [index, leaf] of all.entries()) {
      const again = CompactRange.of(0, frontier.end, frontier.roots);
      frontier.append(leaf);
      again.append(leaf);
      expect(hex(frontier.root())).toBe(hex(mth(all.slice(0, index + 1))));
      expect(hex(again.root())).toBe(hex(frontier.root()));
    }
  });

  test("runs of leaves put together are the same as their leaves", () => {
    const all = leaves(60);
    for (let first = 0; first <= 60; first += 7) {
      for (let second = first; second <= 60; second += 5) {
        const runs = [
          [0, first],
          [first, second],
          [second, 60],
        ].map(([start, end]) => {
          const run = new CompactRange(start as number);
          for (const leaf of all.slice(start, end)) run.append(leaf);
          return run;
        }) as [CompactRange, CompactRange, CompactRange];
        const [whole, middle, last] = runs;
        middle.appendRange(last);
        if (second > 0) expect(() => last.root()).toThrow(RangeError);
        whole.appendRange(middle);
        expect(hex(whole.root())).toBe(hex(mth(all)));
        expect(whole.roots.length).toBeLessThan(7);
      }
    }
    expect(() => CompactRange.of(0, 3, [])).toThrow(RangeError);
    expect(() => new CompactRange().appendRange(new CompactRange(1))).toThrow(RangeError);
  });
});

describe("proofs", () => {
  test("inclusion and consistency are RFC 6962's, for every leaf and size up to 40", async () => {
    const all = leaves(40);
    for (let size = 1; size <= 40; size++) {
      const tree = { size, root: mth(all.slice(0, size)) };
      const tiles = await tilesOf(all.slice(0, size));
      for (let index = 0; index < size; index++) {
        const path = await inclusionProof(index, size, tiles);
        expect(path.map(hex)).toEqual(auditPath(index, all.slice(0, size)).map(hex));
        expect(verifyInclusion(all[index] as Buffer, index, tree, path)).toBe(true);
        const older = { size: index, root: mth(all.slice(0, index)) };
        const proof = await consistencyProof(index, size, tiles);
        if (index > 0) expect(proof.map(hex)).toEqual(consistency(index, all.slice(0, size)).map(hex));
        expect(verifyConsistency(older, tree, proof)).toBe(true);
      }
      expect(verifyConsistency(tree, tree, [])).toBe(true);
    }
  });

  test("in a large tree they read O(log n) rows, and tiles stored in any batches say the same", async () => {
    const all = leaves(70_000);
    const tree = { size: all.length, root: frontierOf(all).root() };
    const tiles = await tilesOf(all, 1000);
    expect((await TileWriter.open(all.length, tiles)).root()).toEqual(tree.root);
    // C2SP tlog-tiles: 273 full tiles of level 0, one full and one partial of level 1, one of level 2.
    const count = (level: number): number =>
      [...tiles.tiles.keys()].filter((key) => key.startsWith(`${level}/`)).length;
    expect([count(0), count(1), count(2), count(3)]).toEqual([273, 2, 1, 0]);
    expect([partialWidth(0, 70_000), partialWidth(1, 70_000), partialWidth(2, 70_000)]).toEqual([112, 17, 1]);
    for (const index of [0, 1, 255, 256, 65_535, 65_536, 69_887, 69_888, 69_999]) {
      tiles.reads = 0;
      const path = await inclusionProof(index, all.length, tiles);
      expect(verifyInclusion(all[index] as Buffer, index, tree, path)).toBe(true);
      expect(tiles.reads).toBeLessThan(40);
      const older = { size: index, root: frontierOf(all.slice(0, index)).root() };
      expect(verifyConsistency(older, tree, await consistencyProof(index, all.length, tiles))).toBe(true);
    }
  });

  test("no proof holds with anything changed", async () => {
    const all = leaves(50);
    const other = leafHash(Buffer.from("other"));
    const sizes = fc.integer({ min: 1, max: 50 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(49), fc.nat(10), fc.nat(4), async (size, at, place, how) => {
        const index = at % size;
        const tiles = await tilesOf(all.slice(0, size));
        const tree = { size, root: mth(all.slice(0, size)) };
        const leaf = all[index] as Buffer;
        const path = await inclusionProof(index, size, tiles);
        if (how === 0) expect(verifyInclusion(other, index, tree, path)).toBe(false);
        if (how === 1) expect(verifyInclusion(leaf, index, { ...tree, root: other }, path)).toBe(false);
        if (how === 2 && path.length > 0) {
          expect(verifyInclusion(leaf, index, tree, path.with(place % path.length, other))).toBe(false);
          expect(verifyInclusion(leaf, index, tree, path.toSpliced(place % path.length, 1))).toBe(false);
        }
        if (how === 3) expect(verifyInclusion(leaf, index, tree, [...path, other])).toBe(false);
        if (how === 4 && size > 1) expect(verifyInclusion(leaf, (index + 1) % size, tree, path)).toBe(false);
        const older = { size: index, root: mth(all.slice(0, index)) };
        const proof = await consistencyProof(index, size, tiles);
        if (index > 0) expect(verifyConsistency({ ...older, root: other }, tree, proof)).toBe(false);
        if (index > 0) expect(verifyConsistency(older, { ...tree, root: other }, proof)).toBe(false);
        expect(verifyConsistency(older, tree, [...proof, other])).toBe(false);
        if (proof.length > 0) expect(verifyConsistency(older, tree, proof.slice(1))).toBe(false);
      }),
    );
  });

  test("a run of leaves is proved gapless by O(log n) hashes", async () => {
    const all = leaves(70);
    const tree = { size: 70, root: mth(all) };
    const tiles = await tilesOf(all);
    for (let start = 0; start <= 70; start += 3) {
      for (let end = start; end <= 70; end += 5) {
        const proof = await rangeProof(start, end, 70, tiles);
        const check = (run: readonly Uint8Array[], by = proof): boolean => {
          const range = new CompactRange(start);
          for (const leaf of run) range.append(leaf);
          return verifyRange(range, tree, by);
        };
        expect(check(all.slice(start, end))).toBe(true);
        if (end > start) expect(check(all.slice(start, end - 1))).toBe(false);
        if (end > start + 1)
          expect(check([all[start + 1] as Buffer, all[start] as Buffer, ...all.slice(start + 2, end)])).toBe(false);
        expect(check(all.slice(start, end), { ...proof, after: [...proof.after, mth([])] })).toBe(false);
      }
    }
  });
});

test("a full tile has the 256 hashes of C2SP tlog-tiles", () => expect(TILE_WIDTH).toBe(256));
