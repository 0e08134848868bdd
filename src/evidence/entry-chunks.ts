/** The present entries of each agent in chunks, which threads have read where there are many. */
import type { Reader } from "../store/transaction.ts";
import { integer } from "./columns.ts";
import type { DatabaseThreads } from "./database-threads.ts";
import { type EntryPlace, type EntryRange, FIRST_PLACE, type PackedEntries } from "./entry-part.ts";

/** A range, and what was read of it; null when nobody did, or its rows are to go the thorough way. */
export interface EntryChunk {
  range: EntryRange;
  entries: PackedEntries | null;
}

/** To be asked for one agent after another, in the order of their first events. */
export interface EntryChunks {
  of(agent: number): AsyncGenerator<EntryChunk>;
}

const wholeAgent = (agent: number): EntryRange => ({ agent, after: FIRST_PLACE, upTo: null });

/** Nobody reads ahead. */
export const NOT_AHEAD: EntryChunks = {
  async *of(agent) {
    yield { range: wholeAgent(agent), entries: null };
  },
};

/** About how many entries a thread reads at once. */
const ENTRIES_AT_ONCE = 4_096;
const RANGES_AT_ONCE = 256;
const AGENTS_AT_ONCE = 500;

/** Threads read ahead. */
export class ChunksAhead implements EntryChunks {
  readonly #reader: Reader;
  readonly #chunks: AsyncGenerator<EntryChunk>;
  #next: EntryChunk | null = null;

  constructor(reader: Reader, threads: DatabaseThreads) {
    this.#reader = reader;
    this.#chunks = this.#read(threads);
  }

  async *of(agent: number): AsyncGenerator<EntryChunk> {
    let some = false;
    for (;;) {
      this.#next ??= (await this.#chunks.next()).value ?? null;
      if (this.#next?.range.agent !== agent) break;
      const chunk = this.#next;
      this.#next = null;
      some = true;
      yield chunk;
    }
    // Rows of agents that are not what they should be are met all the same.
    if (!some) yield { range: wholeAgent(agent), entries: null };
  }

  async *#read(threads: DatabaseThreads): AsyncGenerator<EntryChunk> {
    const asked: EntryRange[][] = [];
    const jobs = this.#jobs(asked);
    for await (const found of threads.verify(jobs)) {
      const parts = found?.kind === "entries" ? found.parts : [];
      const ranges = asked.shift() as EntryRange[];
      for (const [index, range] of ranges.entries()) yield { range, entries: parts[index] ?? null };
    }
  }

  async *#jobs(asked: EntryRange[][]) {
    for await (const ranges of this.#batches()) {
      asked.push(ranges);
      yield { kind: "entries", ranges } as const;
    }
  }

  async *#batches(): AsyncGenerator<EntryRange[]> {
    let batch: EntryRange[] = [];
    let entries = 0;
    for await (const [range, count] of this.#ranges()) {
      batch.push(range);
      entries += count;
      if (entries < ENTRIES_AT_ONCE && batch.length < RANGES_AT_ONCE) continue;
      yield batch;
      batch = [];
      entries = 0;
    }
    if (batch.length > 0) yield batch;
  }

  /** Ranges, and about how many entries each has. */
  async *#ranges(): AsyncGenerator<[EntryRange, number]> {
    const sql = `SELECT first_seq, ${integer("live_entries")} FROM agents WHERE first_seq > ? ORDER BY first_seq LIMIT ?`;
    for (let last = Number.MIN_SAFE_INTEGER; ; ) {
      const page = await this.#reader.all<[number, number | null]>(sql, [last, AGENTS_AT_ONCE]);
      for (const [agent, live] of page) {
        if ((live ?? 0) <= ENTRIES_AT_ONCE) yield [wholeAgent(agent), live ?? 0];
        else for await (const range of this.#divided(agent)) yield [range, ENTRIES_AT_ONCE];
      }
      if (page.length < AGENTS_AT_ONCE) return;
      last = (page.at(-1) as [number, number | null])[0];
    }
  }

  async *#divided(agent: number): AsyncGenerator<EntryRange> {
    const sql = `SELECT updated_at, id FROM entries INDEXED BY entries_by_age
      WHERE agent = ? AND (updated_at, id) > (?, ?) ORDER BY updated_at, id LIMIT 1 OFFSET ?`;
    for (let after = FIRST_PLACE; ; ) {
      const bound = [agent, after.updatedAt, after.id, ENTRIES_AT_ONCE - 1];
      const [updatedAt, id] = (await this.#reader.get<[unknown, number]>(sql, bound)) ?? [null, 0];
      const upTo: EntryPlace | null = typeof updatedAt === "number" ? { updatedAt, id } : null;
      yield { agent, after, upTo };
      if (upTo === null) return;
      after = upTo;
    }
  }
}
