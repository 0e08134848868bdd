/**
 * The reads and the stored writes of a log, in blocks: what lineage needs of them, in memory. A block is read from the log
 * when a walk needs it, and kept while there is room, so nothing is done for workspaces that nobody asks about, and writers
 * pay nothing. The newest block, which is filling, is read each time. A block is dropped when an erasure or a pruning
 * changes its events.
 */
import type { SeqRange } from "../../../log/effects.ts";
import { ERASING, namesWithEffect } from "../../../operations.ts";
import { PackedRows, packed, pageOf } from "../../../store/packed.ts";
import type { Reader } from "../../../store/transaction.ts";
import { sqlTexts } from "../../../store/values.ts";
import { headOf } from "../log/events.ts";
import { PRUNE } from "../log/pruning.ts";

/** The positions of a block: block `n` has the events from `n * BLOCK` on. */
export const BLOCK = 1_024;

/** The most memory of the blocks that one thread keeps, of all its workspaces, bytes. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Who acted, and in which session. */
export interface Who {
  readonly actor: string;
  readonly session: string | null;
}

/** The reads that list what they returned, and the stored writes, of one block, in their order. Erased ones are not in it. */
export interface Block {
  readonly count: number;
  /** The position of each. */
  readonly seqs: Positions;
  /** The time of each, ms since the Unix epoch. */
  readonly times: Float64Array;
  /** Of each, 1 for a write. */
  readonly isWrite: Uint8Array;
  /** Of each, the index in `people` of who did it, and in `agents` of the agent whose data it is about. */
  readonly who: Uint16Array;
  readonly agent: Uint16Array;
  readonly people: readonly Who[];
  readonly agents: readonly (string | null)[];
  /** Of each, the end of what it returned in `returned`, which begins at the end of the one before it. A write has nothing. */
  readonly ends: Uint32Array;
  /** The positions of the versions that reads returned. */
  readonly returned: Positions;
  /** An estimate of its memory, bytes. */
  readonly bytes: number;
}

type Positions = Uint32Array | Float64Array;

const STORED = `(operation IN (${sqlTexts(namesWithEffect("put"))}) AND result = 'allowed')`;
/** Excludes most events that returned nothing, and costs less than parsing their details. */
const MAY_LIST = `instr(details, '"returned":[') > 0`;

const COLUMNS = [
  ...["seq", "time", "actor", `CASE WHEN instr(details, '"session":') > 0 THEN details ->> '$.session' END`],
  ...["coalesce(agent_id, details ->> '$.agent_id')", STORED, `CASE WHEN ${MAY_LIST} THEN details -> '$.returned' END`],
];
const [SEQ, TIME, ACTOR, SESSION, AGENT, IS_STORED, RETURNED] = [0, 1, 2, 3, 4, 5, 6] as const;

/** SQL: the events of a block. */
const PAGE = pageOf(
  packed(COLUMNS),
  `FROM events WHERE seq >= ? AND seq <= ? AND details IS NOT NULL AND (${STORED} OR ${MAY_LIST}) ORDER BY seq`,
);

/** Reads the events of a block up to the position `last`. */
async function readBlock(reader: Reader, number: number, last: number): Promise<Block> {
  const page = await reader.value<Buffer | null>(PAGE, [number * BLOCK, Math.min((number + 1) * BLOCK - 1, last)]);
  const draft = new Draft();
  const rows = page == null ? null : new PackedRows(page, COLUMNS.length);
  while (rows?.next()) {
    const isStored = rows.integer(IS_STORED) === 1;
    if (isStored || !rows.isNull(RETURNED)) draft.add(rows, isStored);
  }
  return draft.block(last);
}

/** A block that is being read. */
class Draft {
  readonly #seqs: number[] = [];
  readonly #times: number[] = [];
  readonly #isWrite: number[] = [];
  readonly #who: number[] = [];
  readonly #agent: number[] = [];
  readonly #ends: number[] = [];
  readonly #returned: number[] = [];
  readonly #people = new Distinct<Who>();
  readonly #agents = new Distinct<string | null>();

  add(rows: PackedRows, isStored: boolean): void {
    this.#seqs.push(rows.integer(SEQ) as number);
    this.#times.push(rows.integer(TIME) as number);
    this.#isWrite.push(isStored ? 1 : 0);
    const [actor, session, agentId] = [rows.latin1(ACTOR), rows.text(SESSION), rows.text(AGENT)];
    this.#who.push(this.#people.indexOf(session === null ? actor : `${actor} ${session}`, { actor, session }));
    this.#agent.push(this.#agents.indexOf(agentId ?? "", agentId));
    if (!isStored) for (const seq of JSON.parse(rows.latin1(RETURNED)) as number[]) this.#returned.push(seq);
    this.#ends.push(this.#returned.length);
  }

  /** Returns the block. @param last the position of the newest event, the greatest in it */
  block(last: number): Block {
    const positions = (list: readonly number[]): Positions =>
      last < 2 ** 32 ? Uint32Array.from(list) : Float64Array.from(list);
    const [people, agents] = [this.#people, this.#agents];
    return {
      count: this.#seqs.length,
      seqs: positions(this.#seqs),
      times: Float64Array.from(this.#times),
      isWrite: Uint8Array.from(this.#isWrite),
      who: Uint16Array.from(this.#who),
      agent: Uint16Array.from(this.#agent),
      people: people.list,
      agents: agents.list,
      ends: Uint32Array.from(this.#ends),
      returned: positions(this.#returned),
      bytes:
        BLOCK_BYTES +
        EVENT_BYTES * this.#seqs.length +
        POSITION_BYTES * this.#returned.length +
        people.bytes +
        agents.bytes,
    };
  }
}

/** Different values in the order in which they came. */
class Distinct<T> {
  readonly #indexes = new Map<string, number>();
  readonly list: T[] = [];
  /** An estimate of their memory, bytes. */
  bytes = 0;

  indexOf(name: string, value: T): number {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    this.#indexes.set(name, this.list.length);
    this.bytes += VALUE_BYTES + name.length;
    return this.list.push(value) - 1;
  }
}

/** The memory of an empty block, of each event, of each position that it returned, and of each different value, bytes. */
const [BLOCK_BYTES, EVENT_BYTES, POSITION_BYTES, VALUE_BYTES] = [900, 21, 4, 64];

/** The blocks of one workspace. */
interface Kept {
  blocks: Map<number, Block>;
  /** The newest event when erasures were last looked for, and its hash; -1 before that. */
  seq: number;
  hash: string;
  bytes: number;
  /** Counts how often blocks were dropped. */
  drops: number;
}

const newlyKept = (): Kept => ({ blocks: new Map(), seq: -1, hash: "", bytes: 0, drops: 0 });

/** What this thread keeps, by workspace, the longest unused first. */
const workspaces = new Map<string, Kept>();

/** The memory of the blocks that this thread keeps, bytes. */
const keptBytes = (): number => workspaces.values().reduce((sum, { bytes }) => sum + bytes, 0);

/** The blocks of a log, as it is at one position. */
export class LogBlocks {
  private constructor(
    private readonly reader: Reader,
    private readonly kept: Kept,
    /** The position of the newest event. */
    readonly head: number,
  ) {}

  /** Returns the blocks up to the newest event. @param pause called between steps */
  static async of(reader: Reader, pause: () => Promise<void>): Promise<LogBlocks> {
    const workspaceId = (await reader.value<string>("SELECT workspace_id FROM head")) as string;
    const kept = workspaces.get(workspaceId) ?? newlyKept();
    workspaces.delete(workspaceId);
    workspaces.set(workspaceId, kept);
    const head = await headOf(reader);
    await dropChanged(reader, kept, head, pause);
    return new LogBlocks(reader, kept, head);
  }

  async get(number: number): Promise<Block> {
    const { blocks, drops } = this.kept;
    const known = blocks.get(number);
    if (known !== undefined) return known;
    const block = await readBlock(this.reader, number, this.head);
    const isFull = (number + 1) * BLOCK <= this.head + 1;
    // Blocks may have been dropped since this one was read, which then may be of before the erasure.
    if (isFull && drops === this.kept.drops && !blocks.has(number) && makeRoom(this.kept, block.bytes)) {
      blocks.set(number, block);
      this.kept.bytes += block.bytes;
    }
    return block;
  }
}

/** Drops other workspaces' blocks, the longest unused first. Returns false when there is no room even so. */
function makeRoom(own: Kept, bytes: number): boolean {
  let all = keptBytes() + bytes;
  for (const [workspaceId, kept] of workspaces) {
    if (all <= MOST_BYTES) return true;
    if (kept === own) continue;
    all -= kept.bytes;
    workspaces.delete(workspaceId);
  }
  return all <= MOST_BYTES;
}

/** The events among which erasures are looked for at once. */
const EVENTS_AT_ONCE = 50_000;
const CHANGING = sqlTexts([...ERASING, PRUNE]);

/** Drops the blocks whose events an erasure or a pruning has changed since they were read, and all of another log. */
async function dropChanged(reader: Reader, kept: Kept, head: number, pause: () => Promise<void>): Promise<void> {
  const hashAt = async (seq: number) =>
    (await reader.value<string>("SELECT hex(hash) FROM events WHERE seq = ?", [seq])) ?? "";
  // A file that was set back has another event there, and so has a transaction that was rolled back.
  if (kept.seq >= 0 && (await hashAt(kept.seq)) !== kept.hash) dropAll(kept);
  // Without blocks, there is nothing to look for, but one that is being read now is not kept.
  if (kept.blocks.size === 0) kept.drops++;
  const from = kept.blocks.size === 0 ? head : kept.seq;
  const hash = await hashAt(head);
  for (let after = from; after < head; after += EVENTS_AT_ONCE) {
    const rows = await reader.all<[string, string | null]>(
      `SELECT operation, details -> '$.erased' FROM events
       WHERE seq > ? AND seq <= ? AND operation IN (${CHANGING}) AND result = 'ok'`,
      [after, Math.min(after + EVENTS_AT_ONCE, head)],
    );
    for (const [operation, erased] of rows) {
      if (operation === PRUNE || erased === null) dropAll(kept);
      else for (const range of JSON.parse(erased) as SeqRange[]) drop(kept, range);
    }
    await pause();
  }
  if (head > kept.seq) Object.assign(kept, { seq: head, hash });
}

function drop(kept: Kept, [from, to]: SeqRange): void {
  kept.drops++;
  for (let number = Math.floor(from / BLOCK); number <= Math.floor(to / BLOCK); number++) {
    kept.bytes -= kept.blocks.get(number)?.bytes ?? 0;
    kept.blocks.delete(number);
  }
}

function dropAll(kept: Kept): void {
  kept.drops++;
  kept.bytes = 0;
  kept.blocks.clear();
  kept.seq = -1;
}
