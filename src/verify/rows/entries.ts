/** The stored entries of one agent against the log. */
import type { Reader } from "../../store/transaction.ts";
import type { ProblemRow } from "../problems.ts";
import { entryProblem, type StoredLife, type StoredVersion } from "./entry.ts";
import { type EntryOfFile, pagesOfEnded } from "./entry-pages.ts";
import type { Census } from "./expected/census.ts";
import type { AgentHistory } from "./expected/history.ts";
import { type AgentName, allOf, type Report } from "./findings.ts";
import { type CountedCheckpoint, Visibility } from "./visibility.ts";

/** What is known of the agent before its entries are read. */
export interface EntryFacts {
  checkpoints: readonly CountedCheckpoint[];
  history: AgentHistory;
  census: Census;
  /** The present entries, as the agent's row counts them. */
  liveEntries: number | null;
}

/**
 * Checks every row, adds it to the census, and checks that each checkpoint sees as many entries as its event says.
 * It is given the present entries in any order, between those of other agents; {@link finish} reads the ended ones.
 */
export class EntryCheck {
  /** Rows that were checked. */
  rows = 0;
  #live = 0;
  readonly #visibility: Visibility | null;
  readonly #restored = new RestoredCounts();
  readonly #facts: EntryFacts;

  constructor(
    readonly agent: AgentName,
    facts: EntryFacts,
    readonly report: Report,
  ) {
    this.#facts = facts;
    // Agents are many, and of most there is no checkpoint.
    this.#visibility = facts.checkpoints.length === 0 ? null : new Visibility(facts.checkpoints);
  }

  /** Counts a present entry that is as the log left it. */
  proved(liveFrom: number, updatedAt: number): void {
    this.rows += 1;
    this.#live += 1;
    this.#visibility?.add(liveFrom, null, updatedAt);
  }

  /** Checks an entry on the plain path. */
  other({ live, writtenSeq, version }: EntryOfFile): void {
    this.rows += 1;
    if (live) this.#live += 1;
    if (version === null) {
      this.report("row_mismatch", writtenSeq, "a stored entry has a column that is not of its type", {
        table: "entries",
        key: null,
        names: [writtenSeq ?? -1],
      });
      return;
    }
    const problem = entryProblem(version, this.agent.agentId);
    if (problem !== null) this.report(problem.code, version.writtenSeq, problem.message, rowOf(version));
    const seen = this.#visibility?.add(version.liveFrom, version.liveTo, version.updatedAt) ?? false;
    if (!seen && version.liveTo !== null) {
      this.report("content_orphan", version.writtenSeq, "an ended entry is kept that no checkpoint sees", {
        ...rowOf(version),
        whole: true,
      });
    }
    this.#restored.add(version);
    this.sum(version);
  }

  /** Counts an entry in the sum that is compared with the log's. */
  sum(row: StoredLife): void {
    this.#facts.census.add(this.agent, row, this.report);
  }

  /** Checks the ended entries, and the counts over all of them. */
  async finish(reader: Reader): Promise<void> {
    for await (const page of pagesOfEnded(reader, this.agent.firstSeq)) {
      for (const entry of page) this.other(entry);
    }
    const { report } = this;
    if (this.#visibility !== null) checkCheckpointCounts(this.#visibility, this.#facts.history, report);
    this.#restored.check(report);
    if (this.#facts.liveEntries === this.#live) return;
    const message = "an agent's count of entries is not the count of its present entries";
    report("row_mismatch", this.agent.firstSeq, message, allOf("agents", this.agent.agentId));
  }
}

/** How a stored entry is named in reports. Its key is left out when it was erased. */
const rowOf = ({ key, written, writtenSeq, createdSeq, liveFrom, liveTo }: StoredVersion): ProblemRow => ({
  table: "entries",
  key: written !== null && written.details === null ? null : key,
  names: [writtenSeq, createdSeq, liveFrom, ...(liveTo === null ? [] : [liveTo])],
});

function checkCheckpointCounts(visibility: Visibility, history: AgentHistory, report: Report): void {
  const of = (id: string) => allOf("checkpoints", id);
  for (const { id, asOfSeq, expected, counted } of visibility.counted()) {
    if (counted > expected) {
      report("content_mismatch", asOfSeq, "a checkpoint sees more entries than there were when it was made", of(id));
    } else if (counted < expected && history.lastRemoval < asOfSeq) {
      report("content_missing", asOfSeq, "a checkpoint sees fewer entries than there were when it was made", of(id));
    }
  }
}

/** For each restore, how many stored entries say that it brought them back. */
class RestoredCounts {
  readonly #counts = new Map<number, { counted: number; stated: number }>();

  add({ from, liveFrom, writtenSeq }: StoredVersion): void {
    if (liveFrom === writtenSeq || from?.effect.kind !== "restore") return;
    const count = this.#counts.get(liveFrom);
    if (count === undefined) this.#counts.set(liveFrom, { counted: 1, stated: from.effect.restored });
    else count.counted += 1;
  }

  check(report: Report): void {
    for (const [seq, { counted, stated }] of this.#counts) {
      if (counted > stated) {
        report(
          "content_mismatch",
          seq,
          "more stored entries say that a restore brought them back than it did",
          allOf("entries"),
        );
      }
    }
  }
}
