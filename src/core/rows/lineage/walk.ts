/**
 * Which versions led to a write, and which writes followed from a version, as far as the log says what was shown to whom.
 *
 * A version is a cause of a write when an earlier event says that the same actor was shown it: in the session of the write,
 * or, for a write without a session, at most ten minutes from it. The log's order says what is earlier, and the events'
 * times how far apart they are, whichever of the two is later: a clock may have been set back between them. What a read
 * returned is what its event lists; an event that has only a root over more than a thousand positions names none. A write
 * whose details are erased states no session, so it has no causes and is no effect.
 *
 * All of this points back in the log, so one pass finds every depth: forward for effects, backward for causes.
 */
import type { AgentLimit } from "../../../agent-id.ts";
import type { LineageDirection } from "../../../operation-facts.ts";
import type { Reader } from "../../../store/transaction.ts";
import { BLOCK, type Block, type KeptBlocks, LogBlocks, type Who } from "./blocks.ts";
import { Depths, type LineageItem, type Reached } from "./depths.ts";
import { Acts, nearer } from "./shown.ts";

/** The most steps from where a walk begins. */
export const MOST_DEPTH = 5;

/** What a walk looks for. */
export interface Walk {
  direction: LineageDirection;
  /** The most steps from the writes where the walk begins, 1 to {@link MOST_DEPTH}. */
  depth: number;
  /** The most items that are returned. */
  limit: number;
  /** Only items behind this one are returned. */
  after?: Pick<LineageItem, "depth" | "seq">;
  /** Only events about the data of these agents are looked at; null or absent for all. */
  agents?: AgentLimit | undefined;
  /** Gives other work a turn. */
  pause(): Promise<void>;
  /** Where what is read of the log is kept; by default, with the others of this thread. */
  kept?: KeptBlocks;
}

/**
 * Returns the writes that are connected with some writes, in the order of depth and position. The writes where it begins
 * are not among them. Each write comes once, with its smallest depth.
 * @param from the positions of stored writes
 */
export async function walkLineage(reader: Reader, from: readonly number[], walk: Walk): Promise<LineageItem[]> {
  const blocks = await LogBlocks.of(reader, walk.pause, walk.kept);
  const pass = new Pass(walk, from);
  const numberOf = (seq: number) => Math.floor(seq / BLOCK);
  const begin = Math.min(...from);
  if (walk.direction === "effects") {
    for (let number = numberOf(begin); number <= numberOf(blocks.head); number++) {
      pass.forward(await blocks.get(number));
      await walk.pause();
    }
  } else {
    for (let number = numberOf(Math.max(...from)); number >= 0; number--) {
      pass.backward(await blocks.get(number));
      await walk.pause();
    }
  }
  return pass.reached.list(walk.limit, walk.after);
}

/** One pass through the log. */
class Pass {
  /** The writes that were reached so far. Those where the walk begins have depth 0. */
  readonly reached = new Depths();
  /** Effects: the reads that showed them. Causes: the writes of which causes are looked for. */
  readonly #acts = new Acts();
  readonly #agents: ReadonlySet<string> | null;

  constructor(
    private readonly walk: Walk,
    from: readonly number[],
  ) {
    this.#agents = walk.agents == null ? null : new Set(walk.agents);
    for (const seq of from) this.reached.reach(seq, { depth: 0, from: seq, through: seq });
  }

  forward(block: Block): void {
    const isWithin = this.#within(block);
    for (let index = 0; index < block.count; index++) {
      const seq = block.seqs[index] as number;
      const who = block.people[block.who[index] as number] as Who;
      if (!isWithin[block.agent[index] as number]) continue;
      if (block.isWrite[index] === 1) this.#effect(seq, who, block.times[index] as number);
      else this.#shown(block, index, who);
    }
  }

  backward(block: Block): void {
    const isWithin = this.#within(block);
    for (let index = block.count - 1; index >= 0; index--) {
      const seq = block.seqs[index] as number;
      const who = block.people[block.who[index] as number] as Who;
      if (!isWithin[block.agent[index] as number]) continue;
      if (block.isWrite[index] === 1) this.#wanted(seq, who, block.times[index] as number);
      else this.#causes(block, index, who);
    }
  }

  /** Returns for each agent of a block whether events about it are looked at. */
  #within({ agents }: Block): boolean[] {
    const within = this.#agents;
    return agents.map((agentId) => within === null || (agentId !== null && within.has(agentId)));
  }

  /** Notes a read that showed something that was reached. */
  #shown(block: Block, index: number, who: Who): void {
    let depth = this.walk.depth;
    let from = 0;
    for (let at = startOf(block, index); at < (block.ends[index] as number); at++) {
      const own = this.reached.depthOf(block.returned[at] as number);
      if (own < depth) [depth, from] = [own, block.returned[at] as number];
    }
    if (depth === this.walk.depth) return;
    const act = { seq: block.seqs[index] as number, timeMs: block.times[index] as number, depth, from };
    if (who.session !== null) this.#acts.inSession(who, act);
    this.#acts.atTime(who, act);
  }

  /** Reaches a write whose actor was shown something that was reached. */
  #effect(seq: number, who: Who, timeMs: number): void {
    const read = who.session === null ? this.#acts.around(who, timeMs) : this.#acts.ofSession(who);
    if (read !== undefined) this.reached.reach(seq, { depth: read.depth + 1, from: read.from, through: read.seq });
  }

  /** Notes a write that was reached, so that its causes are found. */
  #wanted(seq: number, who: Who, timeMs: number): void {
    const depth = this.reached.depthOf(seq);
    if (depth >= this.walk.depth) return;
    const act = { seq, timeMs, depth, from: seq };
    if (who.session === null) this.#acts.atTime(who, act);
    else this.#acts.inSession(who, act);
  }

  /** Reaches the versions that a read showed to the actor of a write that was reached. */
  #causes(block: Block, index: number, who: Who): void {
    const inSession = who.session === null ? undefined : this.#acts.ofSession(who);
    const write = nearer(inSession, this.#acts.around(who, block.times[index] as number));
    if (write === undefined) return;
    const cause: Reached = { depth: write.depth + 1, from: write.from, through: block.seqs[index] as number };
    for (let at = startOf(block, index); at < (block.ends[index] as number); at++)
      this.reached.reach(block.returned[at] as number, cause);
  }
}

const startOf = ({ ends }: Block, index: number): number => (index === 0 ? 0 : (ends[index - 1] as number));
