/** The state roots that a log states: each is computed again from the log, while the log is replayed. */
import { rootOfLeaves } from "../../log/state/tree.ts";
import { STATE_ROOT } from "../../operations.ts";
import type { Reader } from "../../store/transaction.ts";
import type { LogVerifier } from "../events/log-verifier.ts";
import { allOf } from "../problems.ts";
import type { Reached, Replay } from "../rows/expected/replay.ts";

/** The most leaves of all roots that are computed again: the newest roots count first. */
const MOST_LEAVES = 5_000_000;

/** A state root as its event states it. */
interface StatedRoot {
  /** The position of the event. */
  eventSeq: number;
  /** The position of the newest event of the state. */
  seq: number;
  /** The time of that event, ms; null when the event is gone. */
  timeMs: number | null;
  root: string;
  count: number;
}

/** How many state roots were computed again, and of how many that was not possible. */
export interface StateRootCounts {
  recomputed: number;
  not_recomputed: number;
}

type Row = [eventSeq: number, seq: unknown, root: unknown, count: unknown, timeMs: number | null];

const STATED = `SELECT e.seq, e.details ->> '$.seq', e.details ->> '$.root', e.details ->> '$.count', s.time
  FROM events e LEFT JOIN events s ON s.seq = e.details ->> '$.seq'
  WHERE e.agent_id IS NULL AND e.operation = ? AND json_valid(e.details) ORDER BY e.seq DESC`;

/** Returns the state roots that a log states, the newest first. Events without the form of one are reported with the log. */
async function statedRoots(reader: Reader): Promise<StatedRoot[]> {
  const rows = await reader.all<Row>(STATED, [STATE_ROOT]);
  return rows.flatMap(([eventSeq, seq, root, count, timeMs]) =>
    typeof seq === "number" && typeof root === "string" && typeof count === "number"
      ? [{ eventSeq, seq, root, count, timeMs }]
      : [],
  );
}

export class StateRoots implements Reached {
  #recomputed = 0;
  /** The positions of events that state another root than the log leaves. */
  readonly #wrong: number[] = [];

  /** @param due those to compute again, the newest state first @param left how many others there are */
  private constructor(
    private readonly due: StatedRoot[],
    private left: number,
  ) {}

  get counts(): StateRootCounts {
    return { recomputed: this.#recomputed, not_recomputed: this.left + this.due.length };
  }

  /** @param start the position from which the log is replayed */
  static async load(reader: Reader, start: number): Promise<StateRoots> {
    const all = await statedRoots(reader);
    const known = all.filter(({ seq, timeMs }) => timeMs !== null && seq > start);
    let leaves = 0;
    const due = known.filter(({ count }, at) => {
      leaves += count;
      return at === 0 || leaves <= MOST_LEAVES;
    });
    return new StateRoots(
      due.sort((a, b) => b.seq - a.seq),
      all.length - due.length,
    );
  }

  reach(seq: number, replay: Replay): void {
    for (let next = this.due.at(-1); next !== undefined && next.seq < seq; next = this.due.at(-1)) {
      this.due.pop();
      this.#compare(next, replay);
    }
  }

  /** Computes those that are left, after the last event, and reports what is wrong. */
  finish(replay: Replay, verifier: LogVerifier): void {
    this.reach(Number.POSITIVE_INFINITY, replay);
    const message = "the event states another root of all entries than the events before it leave";
    for (const seq of this.#wrong) verifier.report("operation_impossible", null, seq, message, allOf("entries"));
  }

  #compare({ eventSeq, seq, timeMs, root, count }: StatedRoot, replay: Replay): void {
    const leaves = replay.leavesAfter(seq, timeMs as number);
    if (leaves === null) {
      this.left += 1;
      return;
    }
    this.#recomputed += 1;
    const found = rootOfLeaves(leaves);
    if (found.root !== root || found.count !== count) this.#wrong.push(eventSeq);
  }
}
