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
      last < 2 ** 32 ? new Uint32Array(list) : new Float64Array(list);
    const [people, agents] = [this.#people, this.#agents];
    return {
      count: this.#seqs.length,
      seqs: positions(this.#seqs),
      times: new Float64Array(this.#times),
      isWrite: new Uint8Array(this.#isWrite),
      who: new Uint16Array(this.#who),
      agent: new Uint16Array(this.#agent),
      people: people.list,
      agents: agents.list,
      ends: new Uint32Array(this.#ends),
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
interface OfWorkspace {
  blocks: Map<number, Block>;
  /** The newest event when erasures were last looked for, and its hash; -1 before that. */
  seq: number;
  hash: string;
  bytes: number;
  /** Counts how often blocks were dropped. */
  drops: number;
}

/** The blocks that are kept in memory, of several workspaces. */
export class KeptBlocks {
  /** By workspace, the longest unused first. */
  readonly #workspaces = new Map<string, OfWorkspace>();

  /** @param mostBytes the most memory of all blocks */
  constructor(private readonly mostBytes: number) {}

  /** Their memory, bytes. */
  get bytes(): number {
    return this.#workspaces.values().reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Returns those of a workspace, which is now the last one to be dropped. */
  of(workspaceId: string): OfWorkspace {
    const own = this.#workspaces.get(workspaceId) ?? { blocks: new Map(), seq: -1, hash: "", bytes: 0, drops: 0 };
    this.#workspaces.delete(workspaceId);
    this.#workspaces.set(workspaceId, own);
    return own;
  }

  /** Keeps a block if there is room, once other workspaces' are dropped. */
  add(own: OfWorkspace, number: number, block: Block): void {
    // Its own ones may have been dropped for another workspace's while it was read.
    if (!this.#workspaces.values().some((one) => one === own)) return;
    let all = this.bytes + block.bytes;
    for (const [workspaceId, other] of this.#workspaces) {
      if (all <= this.mostBytes) break;
      if (other === own) continue;
      all -= other.bytes;
      this.#workspaces.delete(workspaceId);
    }
    if (all > this.mostBytes) return;
    own.blocks.set(number, block);
    own.bytes += block.bytes;
  }
}

/** The most memory of the blocks that one thread keeps, bytes. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Those of this thread. */
const OF_THREAD = new KeptBlocks(MOST_BYTES);

/** The blocks of a log, as it is at one position. */
export class LogBlocks {
  private constructor(
    private readonly reader: Reader,
    private readonly kept: KeptBlocks,
    private readonly own: OfWorkspace,
    /** The position of the newest event. */
    readonly head: number,
  ) {}

  /** Returns the blocks up to the newest event. @param pause called between steps */
  static async of(reader: Reader, pause: () => Promise<void>, kept = OF_THREAD): Promise<LogBlocks> {
    const own = kept.of((await reader.value<string>("SELECT workspace_id FROM head")) as string);
    const head = await headOf(reader);
    await dropChanged(reader, own, head, pause);
    return new LogBlocks(reader, kept, own, head);
  }

  async get(number: number): Promise<Block> {
    const { blocks, drops } = this.own;
    const known = blocks.get(number);
    if (known !== undefined) return known;
    const block = await readBlock(this.reader, number, this.head);
    const isFull = (number + 1) * BLOCK <= this.head + 1;
    // Blocks may have been dropped since this one was read, which then may be of before the erasure.
    if (isFull && drops === this.own.drops && !blocks.has(number)) this.kept.add(this.own, number, block);
    return block;
  }
}

/** The events among which erasures are looked for at once. */
const EVENTS_AT_ONCE = 50_000;
const CHANGING = sqlTexts([...ERASING, PRUNE]);

/** Drops the blocks whose events an erasure or a pruning has changed since they were read, and all of another log. */
async function dropChanged(reader: Reader, own: OfWorkspace, head: number, pause: () => Promise<void>): Promise<void> {
  const hashAt = async (seq: number) =>
    (await reader.value<string>("SELECT hex(hash) FROM events WHERE seq = ?", [seq])) ?? "";
  // A file that was set back has another event there, and so has a transaction that was rolled back.
  if (own.seq >= 0 && (await hashAt(own.seq)) !== own.hash) dropAll(own);
  // Without blocks, there is nothing to look for, but one that is being read now is not kept.
  if (own.blocks.size === 0) own.drops++;
  const from = own.blocks.size === 0 ? head : own.seq;
  const hash = await hashAt(head);
  for (let after = from; after < head; after += EVENTS_AT_ONCE) {
    const rows = await reader.all<[string, string | null]>(
      `SELECT operation, details -> '$.erased' FROM events
       WHERE seq > ? AND seq <= ? AND operation IN (${CHANGING}) AND result = 'ok'`,
      [after, Math.min(after + EVENTS_AT_ONCE, head)],
    );
    for (const [operation, erased] of rows) {
      if (operation === PRUNE || erased === null) dropAll(own);
      else for (const range of JSON.parse(erased) as SeqRange[]) drop(own, range);
    }
    await pause();
  }
  if (head > own.seq) Object.assign(own, { seq: head, hash });
}

function drop(own: OfWorkspace, [from, to]: SeqRange): void {
  own.drops++;
  for (const [number, { bytes }] of own.blocks) {
    if (number * BLOCK > to || (number + 1) * BLOCK <= from) continue;
    own.bytes -= bytes;
    own.blocks.delete(number);
  }
}

function dropAll(own: OfWorkspace): void {
  own.drops++;
  own.bytes = 0;
  own.blocks.clear();
  own.seq = -1;
}
