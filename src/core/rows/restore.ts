/**
 * Restores the data of a checkpoint. Only keys that differ between the checkpoint and the present are kept in memory
 * and changed, so the cost of a restore depends on the changes since, not on the size of the data.
 */
import { type Freshness, isFresh } from "../../screen/retention.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import { pagesByTwo } from "../../store/walk.ts";
import type { AgentState } from "./agents.ts";
import type { Moment } from "./entries.ts";
import { countHidden, FRESH, freshBounds } from "./expiry.ts";

/** What a restore will change. */
export interface RestorePlan {
  /** Ids of the past versions that are restored. */
  comeBack: number[];
  /** Ids of the present versions that end. */
  end: number[];
  /** The number of keys that the checkpoint's state does not have. */
  removed: number;
  /** The number of keys whose present entry equals the checkpoint's. */
  unchanged: number;
}

/**
 * Whether a restore keeps the present version of a key: it exists for who restores, and the same event wrote it and the
 * version to be restored, so an earlier restore has brought it back already.
 */
export const staysPresent = (
  present: Parameters<typeof isFresh>[0] & { written: number },
  fresh: Freshness,
  wanted: number | undefined,
): boolean => isFresh(present, fresh) && wanted === present.written;

/** The most rows that are read at once, and entries that are examined for them. */
const ROWS_AT_ONCE = 500;
const LOOKED_AT_ONCE = 2_000;

type PastRow = [id: number, key: string, writtenSeq: number, liveTo: number];
type PresentRow = [
  id: number,
  key: string,
  writtenSeq: number,
  updatedAt: number,
  expiresAt: number | null,
  aside: number | null,
];

const presentOf = ([, , written, updatedAt, expiresAt, aside]: PresentRow) => ({
  written,
  updatedAt,
  expiresAt,
  isSetAside: aside !== null,
});

/** Yields pages of the versions that were visible at `asOfSeq` and have ended since, in the order of their ends. */
function pastVersions(reader: Reader, agent: number, asOfSeq: number, fresh: Freshness) {
  const read = (sql: string, parameters: number[], limit: number) =>
    reader.all<PastRow>(
      `SELECT id, key, written_seq, live_to FROM entries
       WHERE agent = ? AND live_to ${sql} AND live_from <= ? AND ${FRESH} ORDER BY live_to, id LIMIT ?`,
      [agent, ...parameters, asOfSeq, ...freshBounds(fresh), limit],
    );
  return pagesByTwo(asOfSeq, ROWS_AT_ONCE, read, ([id, , , liveTo]) => [liveTo, id]);
}

/**
 * Yields pages of the present versions that were written after `asOfSeq`, by key. Each page examines a bounded number
 * of entries.
 */
async function* presentVersions(reader: Reader, agent: number, asOfSeq: number): AsyncGenerator<PresentRow[]> {
  const LIVE = "FROM entries WHERE agent = ? AND live_to IS NULL AND key > ?";
  for (let after: string | undefined = ""; after !== undefined; ) {
    const sql = `SELECT key ${LIVE} ORDER BY key LIMIT 1 OFFSET ?`;
    const last: string | undefined = await reader.value<string>(sql, [agent, after, LOOKED_AT_ONCE]);
    const end = last === undefined ? [] : [last];
    yield await reader.all<PresentRow>(
      `SELECT id, key, written_seq, updated_at, expires_at, quarantined ${LIVE} ${last === undefined ? "" : "AND key <= ?"} AND live_from > ?`,
      [agent, after, ...end, asOfSeq],
    );
    after = last;
  }
}

/**
 * Plans a restore: compares the state at `asOfSeq` with the present. Entries that do not exist now for who restores, since
 * they have expired or are set aside, are in neither.
 */
export async function planRestore(
  reader: Reader,
  agent: AgentState,
  asOfSeq: number,
  fresh: Freshness,
  { pause }: Pick<Moment, "pause">,
) {
  const pastByKey = new Map<string, PastRow>();
  for await (const rows of pastVersions(reader, agent.firstSeq, asOfSeq, fresh)) {
    for (const row of rows) pastByKey.set(row[1], row);
    await pause();
  }
  const changed: PresentRow[] = [];
  for await (const rows of presentVersions(reader, agent.firstSeq, asOfSeq)) {
    changed.push(...rows);
    await pause();
  }
  const ending = changed.filter((row) => {
    const stays = staysPresent(presentOf(row), fresh, pastByKey.get(row[1])?.[2]);
    if (stays) pastByKey.delete(row[1]);
    return !stays;
  });
  const endingFresh = ending.filter((row) => isFresh(presentOf(row), fresh));
  const hidden = await countHidden(reader, agent, fresh);
  return {
    comeBack: Array.from(pastByKey.values(), ([id]) => id),
    end: ending.map(([id]) => id),
    removed: endingFresh.filter(([, key]) => !pastByKey.has(key)).length,
    unchanged: agent.liveEntries - hidden - endingFresh.length,
  };
}

/**
 * Carries out a plan. Present versions that end are kept for the operation's safety checkpoint. Restored
 * versions keep the time of their write, so their retention continues, and stay set aside.
 */
export async function restoreEntries(tx: Transaction, plan: RestorePlan, moment: Moment): Promise<void> {
  for (const id of plan.end) {
    await moment.pause();
    await tx.run("UPDATE entries SET live_to = ? WHERE id = ?", [moment.seq, id]);
  }
  for (const id of plan.comeBack) {
    await moment.pause();
    await tx.run(
      `INSERT INTO entries
         (agent, key, value, metadata, salt, written_seq, created_seq, live_from, created_at, updated_at, expires_at, quarantined)
       SELECT agent, key, value, metadata, salt, written_seq, created_seq, ?, created_at, updated_at, expires_at, quarantined
       FROM entries WHERE id = ?`,
      [moment.seq, id],
    );
  }
}
