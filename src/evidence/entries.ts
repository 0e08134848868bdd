/** All stored entries of one agent against the log. */
import type { Reader } from "../store/transaction.ts";
import type { Census } from "./census.ts";
import { entryProblem, type StoredVersion } from "./entry.ts";
import type { EntryChunks } from "./entry-chunks.ts";
import { type EntryOfFile, pagesOfEnded } from "./entry-pages.ts";
import type { AgentName, Report } from "./findings.ts";
import { takeChunk } from "./present-entries.ts";
import type { AgentTally } from "./tally.ts";
import { type CountedCheckpoint, Visibility } from "./visibility.ts";

/** What was met. */
export interface EntryCounts {
  rows: number;
  live: number;
}

/** What is known of the agent beforehand. */
export interface EntryFacts {
  checkpoints: readonly CountedCheckpoint[];
  tally: Readonly<AgentTally>;
  census: Census;
  chunks: EntryChunks;
}

/** Checks every row, counts it in the census, and checks that each checkpoint sees as many entries as its event says. */
export async function checkEntries(
  reader: Reader,
  agent: AgentName,
  { checkpoints, tally, census, chunks }: EntryFacts,
  report: Report,
): Promise<EntryCounts> {
  const counts: EntryCounts = { rows: 0, live: 0 };
  const visibility = new Visibility(checkpoints);
  const restored = new RestoredCounts();
  const other = (page: readonly EntryOfFile[]): void => {
    for (const { live, writtenSeq, version } of page) {
      counts.rows += 1;
      if (live) counts.live += 1;
      if (version === null) {
        report("row_mismatch", writtenSeq, "a stored entry has a column that is not of its type");
        continue;
      }
      const problem = entryProblem(version, agent.agentId);
      if (problem !== null) report(problem.code, version.writtenSeq, problem.message);
      const seen = visibility.add(version.liveFrom, version.liveTo, version.updatedAt);
      if (!seen && version.liveTo !== null) {
        report("content_orphan", version.writtenSeq, "an ended entry is kept that no checkpoint sees");
      }
      restored.add(version);
      census.add(agent, version, report);
    }
  };
  const proved = (liveFrom: number, updatedAt: number): void => {
    counts.rows += 1;
    counts.live += 1;
    visibility.add(liveFrom, null, updatedAt);
  };
  const sink = { agent, census, report, proved, other };
  for await (const chunk of chunks.of(agent.firstSeq)) await takeChunk(reader, chunk, sink);
  for await (const page of pagesOfEnded(reader, agent.firstSeq)) other(page);
  checkCheckpointCounts(visibility, tally, report);
  restored.check(report);
  return counts;
}

function checkCheckpointCounts(visibility: Visibility, tally: Readonly<AgentTally>, report: Report): void {
  for (const { asOfSeq, expected, counted } of visibility.counted()) {
    if (counted > expected) {
      report("content_mismatch", asOfSeq, "a checkpoint sees more entries than there were when it was made");
    } else if (counted < expected && tally.lastRemoval < asOfSeq) {
      report("content_missing", asOfSeq, "a checkpoint sees fewer entries than there were when it was made");
    }
  }
}

/** How many stored entries say of each restore that it brought them back: one number for a restore. */
class RestoredCounts {
  readonly #counts = new Map<number, { counted: number; stated: number }>();

  add({ from, liveFrom, writtenSeq }: StoredVersion): void {
    const stated = from?.details?.entries_restored;
    if (liveFrom === writtenSeq || typeof stated !== "number") return;
    const count = this.#counts.get(liveFrom);
    if (count === undefined) this.#counts.set(liveFrom, { counted: 1, stated });
    else count.counted += 1;
  }

  check(report: Report): void {
    for (const [seq, { counted, stated }] of this.#counts) {
      if (counted > stated) {
        report(
          "content_mismatch",
          seq,
          "more stored entries say that a restore brought them back than it did",
        );
      }
    }
  }
}
