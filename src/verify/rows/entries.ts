/** Compares the stored entries of one agent with the log. */
import type { Reader } from "../../store/transaction.ts";
import { type AgentName, allOf, type ProblemRow, type Report } from "../problems.ts";
import { Visibility } from "./checkpoints.ts";
import { entryProblem, type StoredLife, type StoredVersion } from "./entry.ts";
import { type EntryOfFile, pagesOfEnded } from "./entry-pages.ts";
import type { Census } from "./expected/census.ts";
import type { AgentHistory } from "./expected/history.ts";
import { NEVER, type StoredWrite } from "./expected/writes.ts";

/** The facts about an agent that are known before its entries are read. */
interface EntryFacts {
  checkpoints: ConstructorParameters<typeof Visibility>[0];
  history: AgentHistory;
  census: Census;
  /** The number of present entries according to the agent's row. */
  liveEntries: number | null;
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

  /** Counts a present entry that the log proves. */
  proved({ seq, timeMs, expiresMs }: StoredWrite): void {
    this.rows += 1;
    this.#live += 1;
    this.#visibility?.add(seq, null, timeMs, expiresMs);
  }

  /** Checks an entry on the plain path. */
  other({ live, writtenSeq, version }: EntryOfFile): void {
    this.rows += 1;
    if (live) this.#live += 1;
    if (version === null) {
      const row = { table: "entries", key: null, names: [writtenSeq ?? -1] };
      this.report("row_mismatch", writtenSeq, "a stored entry has a column that is not of its type", row);
      return;
    }
    const { live_from: liveFrom, live_to: liveTo } = version;
    const problem = entryProblem(version, this.agent.agentId);
    if (problem !== null) this.report(problem.code, writtenSeq, problem.message, rowOf(version));
    const expiresMs = version.expires_at ?? NEVER;
    const seen = this.#visibility?.add(liveFrom, liveTo, version.updated_at, expiresMs) ?? false;
    if (!seen && liveTo !== null) {
      const row = { ...rowOf(version), whole: true };
      this.report("content_orphan", writtenSeq, "an ended entry is kept that no checkpoint sees", row);
    }
    this.#countRestored(version);
    this.sum(version);
  }

  /** Adds an entry to the sum that is compared with the log's. */
  sum(row: StoredLife): void {
    this.#facts.census.add(this.agent, row, this.report);
  }

  /** Checks the ended entries, and the counts over all of them. */
  async finish(reader: Reader): Promise<void> {
    for await (const page of pagesOfEnded(reader, this.agent.firstSeq)) {
      for (const entry of page) this.other(entry);
    }
    this.#visibility?.check(this.#facts.history.lastRemoval, this.report);
    for (const [seq, { counted, stated }] of this.#restored) {
      if (counted <= stated) continue;
      const message = "more stored entries say that a restore brought them back than it did";
      this.report("content_mismatch", seq, message, allOf("entries"));
    }
    if (this.#facts.liveEntries === this.#live) return;
    const message = "an agent's count of entries is not the count of its present entries";
    this.report("row_mismatch", this.agent.firstSeq, message, allOf("agents", this.agent.agentId));
  }

  #countRestored({ from, live_from: liveFrom, written_seq: writtenSeq }: StoredVersion): void {
    if (liveFrom === writtenSeq || from?.effect.kind !== "restore") return;
    const stated = from.effect.restored;
    this.#restored.getOrInsertComputed(liveFrom, () => ({ counted: 0, stated })).counted += 1;
  }
}

/** Returns how reports name a stored entry. An erased key is left out. */
function rowOf({ key, written, written_seq, created_seq, live_from, live_to }: StoredVersion): ProblemRow {
  const erased = written !== null && written.details === null;
  const names = [written_seq, created_seq, live_from, ...(live_to === null ? [] : [live_to])];
  return { table: "entries", key: erased ? null : key, names };
}
