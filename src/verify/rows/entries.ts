/** Compares the stored entries of one agent with the log. */
import { isJson } from "../../log/json-scan.ts";
import type { Reader } from "../../store/transaction.ts";
import { type AgentName, allOf, type Finding, type ProblemRow, type Report } from "../problems.ts";
import { Visibility } from "./checkpoints.ts";
import { digestOf, entryProblem, namedBy, type StoredRow, type StoredVersion, withEvents } from "./entry.ts";
import { pagesOfEnded, readNamedEvents, type StoredEntry } from "./entry-pages.ts";
import type { Census } from "./expected/census.ts";
import { type ErasedWrites, knownWrite } from "./expected/erased-writes.ts";
import type { AgentHistory } from "./expected/history.ts";
import { MultisetPrint, NEVER } from "./expected/versions.ts";

/** The facts about an agent that are known before its entries are read. */
interface EntryFacts {
  checkpoints: ConstructorParameters<typeof Visibility>[0];
  history: AgentHistory;
  census: Census;
  /** The number of present entries according to the row of the agent's newest event. */
  entries: number | null;
}

/** A row that must be compared with the events that it names. */
interface OpenEntry {
  check: EntryCheck;
  row: StoredRow;
  /** That the log holds a later row of its key; null when it does not. */
  stale: Finding | null;
}

/**
 * Checks every row, adds it to the census, and checks that each checkpoint sees as many entries as its event states.
 * Present entries come in any order, mixed with those of other agents; {@link finish} reads the ended ones.
 */
export class EntryCheck {
  /** The number of checked rows. */
  rows = 0;
  #live = 0;
  readonly #visibility: Visibility | null;
  /**
   * By restore, the number of stored entries that it brought back according to their rows, and according to its event.
   */
  readonly #restored = new Map<number, { counted: number; stated: number }>();
  readonly #facts: EntryFacts;

  constructor(
    readonly agent: AgentName,
    facts: EntryFacts,
    readonly report: Report,
  ) {
    this.#facts = facts;
    // There are many agents, and most have no checkpoints.
    this.#visibility = facts.checkpoints.length === 0 ? null : new Visibility(facts.checkpoints);
  }

  /** Takes an entry. Returns its row if it must be compared with the events that it names, and whether it is seen. */
  take({ live, writtenSeq, row }: StoredEntry): OpenEntry | null {
    this.rows += 1;
    if (live) this.#live += 1;
    if (row === null) {
      const place = { table: "entries", key: null, names: [writtenSeq ?? -1] };
      this.report("row_mismatch", writtenSeq, "a stored entry has a column that is not of its type", place);
      return null;
    }
    const { live_from: liveFrom, live_to: liveTo } = row;
    if (row.quarantined !== this.#facts.history.facts.quarantines.setAsideBy(row.written_seq)) {
      const message = "a stored entry is marked as set aside, or is not, other than the events say";
      this.report("content_mismatch", row.written_seq, message, {
        table: "entries",
        key: row.key,
        names: namedBy(row),
      });
    }
    const seen = this.#visibility?.add(liveFrom, liveTo, row.updated_at, row.expires_at ?? NEVER) ?? false;
    if (!seen && liveTo !== null && liveTo < this.#facts.history.facts.historyFrom) {
      const message = "an ended entry is kept that no checkpoint sees, and that ended before the history begins";
      this.report("content_orphan", row.written_seq, message, { ...rowOf(row, false), whole: true });
    }
    if (liveTo === null && this.#isProved(row)) return null;
    return { check: this, row, stale: this.#facts.census.add(this.agent.agentId, row) };
  }

  /** Compares an entry with the events that it names. */
  compare(version: StoredVersion, stale: Finding | null = null): void {
    const { written_seq: writtenSeq } = version;
    // That it is older than another one says least: it may be a row that no event made.
    const { erasedWrites } = this.#facts.census.histories;
    const known = erasedWrites.size === 0 ? version : withErasedWrites(version, erasedWrites);
    const problem = entryProblem(known, this.agent.agentId) ?? stale;
    const isErased = version.written !== null && version.written.details === null;
    if (problem !== null) this.report(problem.code, writtenSeq, problem.message, rowOf(version, isErased));
    this.#countRestored(version);
  }

  /** Whether a present row is what the replay of the log leaves, in all columns. */
  #isProved(row: StoredRow): boolean {
    const digest = isJson(row.metadata) ? digestOf(row) : null;
    return digest !== null && this.#facts.census.replay.proves(this.agent.agentId, row, digest);
  }

  /** Checks the ended entries, and the counts over all of them. */
  async finish(reader: Reader): Promise<void> {
    await this.#checkEnded(reader);
    this.#visibility?.check(this.#facts.history.lastRemoval, this.report);
    for (const [seq, { counted, stated }] of this.#restored) {
      if (counted <= stated) continue;
      const message = "more stored entries say that a restore brought them back than it did";
      this.report("content_mismatch", seq, message, allOf("entries"));
    }
    if (this.#facts.entries === this.#live) return;
    const message = "the row of an agent's newest event has another number of entries than the agent";
    this.report("row_mismatch", this.agent.firstSeq, message, allOf("agents", this.agent.agentId));
  }

  /**
   * Checks the ended entries: together, by a sum over their whole rows, where the replay determines them. If the sums differ,
   * each is compared with the events that it names.
   */
  async #checkEnded(reader: Reader): Promise<void> {
    const { census } = this.#facts;
    const expected = census.replay.endedOf(this.agent.agentId);
    const sum = new MultisetPrint();
    const nameOf = (row: StoredRow) =>
      expected === null
        ? null
        : census.wholeNameOf(this.agent.agentId, row, isJson(row.metadata) ? digestOf(row) : null);
    for await (const page of pagesOfEnded(reader, this.agent.firstSeq)) {
      const single: StoredRow[] = [];
      for (const entry of page) {
        const row = this.take(entry)?.row;
        const name = row === undefined ? null : nameOf(row);
        if (name !== null) sum.add(name);
        else if (row !== undefined) single.push(row);
      }
      await this.#compareAll(reader, single);
    }
    if (expected === null || sum.equals(expected)) return;
    for await (const page of pagesOfEnded(reader, this.agent.firstSeq)) {
      const summed = page.flatMap(({ row }) => (row !== null && nameOf(row) !== null ? [row] : []));
      await this.#compareAll(reader, summed);
    }
  }

  async #compareAll(reader: Reader, rows: readonly StoredRow[]): Promise<void> {
    const named = await readNamedEvents(reader, [...new Set(rows.flatMap(namedBy))]);
    for (const row of rows) this.compare(withEvents(row, named));
  }

  #countRestored({ from, live_from: liveFrom, written_seq: writtenSeq }: StoredVersion): void {
    if (liveFrom === writtenSeq || from?.effect.kind !== "restore") return;
    const stated = from.effect.restored;
    this.#restored.getOrInsertComputed(liveFrom, () => ({ counted: 0, stated })).counted += 1;
  }
}

/** Checks a page of entries. Those without an agent are skipped; the count of all rows detects them. */
export async function takeEntries(
  reader: Reader,
  page: readonly StoredEntry[],
  checkOf: (agent: number | null) => EntryCheck | undefined,
): Promise<void> {
  const open: OpenEntry[] = [];
  for (const entry of page) {
    const taken = checkOf(entry.agent)?.take(entry) ?? null;
    if (taken !== null) open.push(taken);
  }
  const named = await readNamedEvents(reader, [...new Set(open.flatMap(({ row }) => namedBy(row)))]);
  for (const { check, row, stale } of open) check.compare(withEvents(row, named), stale);
}

/** Returns a row with the keys of the events that it names whose versions alone were erased. */
function withErasedWrites(version: StoredVersion, writes: ErasedWrites): StoredVersion {
  const [created, to] = [version.created, version.to].map((named) => knownWrite(named, writes));
  return { ...version, created: created ?? null, to: to ?? null };
}

/** Returns how reports name a stored entry. An erased key is left out. */
function rowOf(row: StoredRow, isErased: boolean): ProblemRow {
  return { table: "entries", key: isErased ? null : row.key, names: namedBy(row) };
}
