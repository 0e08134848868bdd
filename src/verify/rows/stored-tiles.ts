/** Compares the stored tiles of the tree with the events, while these are read. */
import { HASH_BYTES, sameHash } from "../../log/merkle.ts";
import { rootOfRow, TILE_BYTES, TILE_WIDTH } from "../../log/tiles.ts";
import type { Reader } from "../../store/transaction.ts";
import type { LogVerifier } from "../events/log-verifier.ts";
import { allOf } from "../problems.ts";

const TILES = allOf("tiles");

/** A partial tile, as it must be stored. */
interface Row {
  hashes: Uint8Array;
  count: number;
  tile: number;
}

const newRow = (tile: number): Row => ({ hashes: new Uint8Array(TILE_BYTES), count: 0, tile });

/** Reports whether a tile is stored with these hashes. */
export async function isStoredTile(
  reader: Reader,
  { level, tile, hashes }: { level: number; tile: number; hashes: Uint8Array },
): Promise<boolean> {
  const stored = await reader.value("SELECT hashes FROM tiles WHERE level = ? AND tile = ?", [level, tile]);
  return stored instanceof Uint8Array && sameHash(stored, hashes);
}

export class TileCheck {
  readonly #rows: Row[] = [];
  /** The tiles that are full and were not compared yet. */
  readonly #full: { level: number; row: Row }[] = [];
  #met = 0;
  #wrong: number | null = null;

  constructor(
    private readonly reader: Reader,
    private readonly verifier: LogVerifier,
  ) {}

  /** Adds a full tile of leaves and its root, in order. */
  add(tile: number, hashes: Uint8Array, root: Uint8Array): void {
    this.#full.push({ level: 0, row: { hashes, count: TILE_WIDTH, tile } });
    this.#push(1, root, tile);
  }

  /** Adds the root of a full tile of leaves that was compared elsewhere. */
  async addCompared(tile: number, root: Uint8Array): Promise<void> {
    this.#met += 1;
    this.#push(1, root, tile);
    await this.compare();
  }

  /** Adds a full tile of leaves whose events were pruned. */
  async addLeaves(tile: number, hashes: Uint8Array): Promise<void> {
    this.add(tile, hashes, rootOfRow(hashes));
    await this.compare();
  }

  /** Compares the full tiles with the stored ones. */
  async compare(): Promise<void> {
    for (const { level, row } of this.#full.splice(0)) await this.#compare(level, row);
  }

  /** Reports problems; to be called after the last event. */
  async finish(): Promise<void> {
    for (const [level, row] of this.#rows.entries()) {
      if (level > 0 && row.count > 0) await this.#compare(level, row);
    }
    const stored = (await this.reader.value<number>("SELECT count(*) FROM tiles")) ?? 0;
    if (this.#wrong !== null) {
      this.verifier.report("row_mismatch", null, this.#wrong, "the stored tree is not the one of the events", TILES);
    } else if (stored > this.#met) {
      this.verifier.report("row_mismatch", null, null, "a part of a tree is stored that the log does not have", TILES);
    }
  }

  /** @param index the number of the hash on its level */
  #push(level: number, hash: Uint8Array, index: number): void {
    this.#rows[level] ??= newRow(Math.floor(index / TILE_WIDTH));
    const row = this.#rows[level] as Row;
    row.hashes.set(hash.subarray(0, HASH_BYTES), row.count * HASH_BYTES);
    row.count += 1;
    if (row.count < TILE_WIDTH) return;
    this.#full.push({ level, row });
    this.#rows[level] = newRow(row.tile + 1);
    this.#push(level + 1, rootOfRow(row.hashes), row.tile);
  }

  async #compare(level: number, { hashes, count, tile }: Row): Promise<void> {
    this.#met += 1;
    const expected = hashes.subarray(0, count * HASH_BYTES);
    if (await isStoredTile(this.reader, { level, tile, hashes: expected })) return;
    this.#wrong ??= tile * TILE_WIDTH ** (level + 1);
  }
}
