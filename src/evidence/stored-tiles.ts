/** The stored tiles of the tree against the events, in step with them. */
import { HASH_BYTES, rootOfRow, sameHash } from "../log/merkle.ts";
import { TILE_WIDTH } from "../log/tiles.ts";
import type { LogVerifier } from "../log/verify.ts";
import type { Reader } from "../store/transaction.ts";
import type { FileEvent } from "./log-pages.ts";

/** A tile that is filling, as it must be stored. */
interface Row {
  hashes: Uint8Array;
  count: number;
  tile: number;
}

const newRow = (tile: number): Row => ({ hashes: new Uint8Array(TILE_WIDTH * HASH_BYTES), count: 0, tile });

export class TileCheck {
  readonly #reader: Reader;
  readonly #verifier: LogVerifier;
  readonly #rows: Row[] = [];
  /** Tiles that are full and not compared yet. */
  readonly #full: { level: number; row: Row }[] = [];
  #met = 0;
  #wrong: number | null = null;

  constructor(reader: Reader, verifier: LogVerifier) {
    this.#reader = reader;
    this.#verifier = verifier;
  }

  /** Takes the next events of the whole log. */
  async add(page: readonly FileEvent[]): Promise<void> {
    for (const { hash } of page) this.#push(0, Buffer.from(String(hash), "hex"));
    await this.#compareFull();
  }

  /** Takes leaves of which there are no events any more. */
  async addLeaves(leaves: Uint8Array): Promise<void> {
    for (let at = 0; at < leaves.length; at += HASH_BYTES) {
      this.#push(0, leaves.subarray(at, at + HASH_BYTES));
    }
    await this.#compareFull();
  }

  /** Says what is wrong, after the last event. */
  async finish(): Promise<void> {
    for (const [level, row] of this.#rows.entries()) {
      if (level > 0 && row.count > 0) await this.#compare(level, row);
    }
    const stored = (await this.#reader.get<[number]>("SELECT count(*) FROM tiles"))?.[0] ?? 0;
    if (this.#wrong !== null) {
      this.#verifier.report(
        "row_mismatch",
        null,
        this.#wrong,
        "the stored tree is not the one of the events",
      );
    } else if (stored > this.#met) {
      this.#verifier.report(
        "row_mismatch",
        null,
        null,
        "a part of a tree is stored that the log does not have",
      );
    }
  }

  #push(level: number, hash: Uint8Array): void {
    this.#rows[level] ??= newRow(0);
    const row = this.#rows[level];
    row.hashes.set(hash.subarray(0, HASH_BYTES), row.count * HASH_BYTES);
    row.count += 1;
    if (row.count < TILE_WIDTH) return;
    this.#full.push({ level, row });
    this.#rows[level] = newRow(row.tile + 1);
    this.#push(level + 1, rootOfRow(row.hashes));
  }

  async #compareFull(): Promise<void> {
    for (const { level, row } of this.#full.splice(0)) await this.#compare(level, row);
  }

  async #compare(level: number, { hashes, count, tile }: Row): Promise<void> {
    const row = await this.#reader.get<[unknown]>("SELECT hashes FROM tiles WHERE level = ? AND tile = ?", [
      level,
      tile,
    ]);
    this.#met += 1;
    const expected = hashes.subarray(0, count * HASH_BYTES);
    if (row?.[0] instanceof Uint8Array && sameHash(row[0], expected)) return;
    this.#wrong ??= tile * TILE_WIDTH ** (level + 1);
  }
}
