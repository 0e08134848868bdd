/**
 * The search indexes of one reader thread, in memory. An index is built from the live entries on an agent's first
 * search, then follows the agent's audit trail, and is dropped when memory is short. Writes do not pay for it.
 */
import { AgentIndex } from "../../search/index/agent-index.ts";
import type { Reader } from "../../store/transaction.ts";
import { goOn } from "../../store/walk.ts";
import { nextTurn } from "../../timer.ts";
import type { AgentState } from "./agents.ts";
import { hasEmbeddings, vectorsAfter } from "./embeddings.ts";
import { contentOf } from "./entries.ts";
import { changesAfter } from "./entry-changes.ts";

/** The entries that are read at once while an index is built. Other queries have turns in between. */
const ENTRIES_AT_ONCE = 500;
/** The most changed keys that are followed one by one. Beyond that, comparing all entries is cheaper. */
const MAX_FOLLOWED_KEYS = 20_000;

type DocumentRow = [id: number, key: string, value: string, metadata: string, writtenSeq: number];

interface Loaded {
  index: AgentIndex;
  /** The row of each key, and its indexed write. */
  rows: Map<string, { id: number; writtenSeq: number }>;
  /** The agent's events up to this number are in the index. */
  throughAgentSeq: number;
  /** The external model whose vectors are in the index, and up to which number; null for none. */
  vectors: { model: string; throughMade: number } | null;
  /** The memory of the index after its last use, bytes. */
  bytes: number;
}

/** The estimated memory of an entry in `rows`, bytes, without its key, which the index shares. */
const ROW_BYTES = 112;

const nameOf = (workspaceId: string, agent: AgentState): string => `${workspaceId}/${agent.agentId}`;

export class SearchIndexes {
  /** The indexes in order of last use, the oldest first. */
  readonly #loaded = new Map<string, Loaded>();
  /** By agent, the end of the last work on its index: work on one index runs one after another. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** The agents whose index alone exceeds the limit, and the number of their entries when that was found. */
  readonly #misfits = new Map<string, number>();

  /**
   * @param maxBytes the most memory of all indexes of this thread; the one in use is kept in any case
   * @param fullTextFrom agents with more live entries than this should be searched by full text
   */
  constructor(
    private readonly maxBytes: number,
    private readonly fullTextFrom = Number.POSITIVE_INFINITY,
  ) {}

  /** Whether an agent is so large that full text should replace its index. */
  isTooLarge(workspaceId: string, agent: AgentState): boolean {
    if (agent.liveEntries > this.fullTextFrom) return true;
    const misfit = this.#misfits.get(nameOf(workspaceId, agent));
    return misfit !== undefined && 2 * agent.liveEntries > misfit;
  }

  /** Drops an agent's index unless it is in use. */
  drop(workspaceId: string, agent: AgentState): void {
    const name = nameOf(workspaceId, agent);
    if (this.#turns.has(name)) return;
    this.#loaded.get(name)?.index.close();
    this.#loaded.delete(name);
  }

  /** Runs `use` with the agent's index, which includes everything that was committed before this call. */
  async with<T>(
    reader: Reader,
    workspaceId: string,
    agent: AgentState,
    use: (index: AgentIndex) => T,
    model: string | null = null,
  ): Promise<T> {
    const name = nameOf(workspaceId, agent);
    const before = this.#turns.get(name) ?? Promise.resolve();
    const turn = before.then(async () => {
      const loaded = await this.#current(reader, name, agent, model);
      const result = use(loaded.index);
      this.#measure(name, loaded);
      return result;
    });
    const settled = turn.catch(() => {});
    this.#turns.set(name, settled);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(name) === settled) this.#turns.delete(name);
      this.#evict(name);
    }
  }

  async #current(reader: Reader, name: string, agent: AgentState, model: string | null): Promise<Loaded> {
    const known = this.#loaded.get(name);
    const loaded = known ?? { index: new AgentIndex(), rows: new Map(), throughAgentSeq: 0, vectors: null, bytes: 0 };
    this.#loaded.delete(name);
    try {
      if (known === undefined) await compareAll(reader, agent, loaded);
      else await follow(reader, agent, loaded);
      loaded.throughAgentSeq = agent.headSeq;
      if (model !== null) await takeUpVectors(reader, agent, loaded, model);
    } catch (error) {
      loaded.index.close();
      throw error;
    }
    this.#loaded.set(name, loaded);
    return loaded;
  }

  #measure(name: string, loaded: Loaded): void {
    const { index, rows } = loaded;
    loaded.bytes = index.memoryBytes + rows.size * ROW_BYTES;
    if (loaded.bytes > this.maxBytes) this.#misfits.set(name, rows.size);
    else this.#misfits.delete(name);
  }

  /** Drops indexes, the longest unused first, until the others fit. */
  #evict(inUse: string): void {
    let bytes = this.memoryBytes;
    for (const [name, loaded] of this.#loaded) {
      if (bytes <= this.maxBytes) return;
      if (name === inUse || this.#turns.has(name)) continue;
      bytes -= loaded.bytes;
      this.#loaded.delete(name);
      loaded.index.close();
    }
  }

  /** The agents whose index is in memory, as `<workspace id>/<agent id>`, the longest unused first. */
  get loaded(): string[] {
    return [...this.#loaded.keys()];
  }

  /** Drops all indexes and frees their memory. */
  close(): void {
    for (const { index } of this.#loaded.values()) index.close();
    this.#loaded.clear();
  }

  /** The memory of the indexes, bytes. */
  get memoryBytes(): number {
    return this.#loaded.values().reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

/** Adds vectors that were made meanwhile. Vectors of contents that are not indexed yet are added next time. */
async function takeUpVectors(reader: Reader, agent: AgentState, loaded: Loaded, model: string) {
  if (!(await hasEmbeddings(reader))) return;
  if (loaded.vectors?.model !== model) loaded.vectors = { model, throughMade: 0 };
  const { index, rows } = loaded;
  for (;;) {
    const page = await vectorsAfter(reader, agent.firstSeq, model, loaded.vectors.throughMade);
    if (page.length === 0) return;
    for (const { made, entry, writtenSeq, vectors } of page) {
      const key = index.keyOf(entry);
      // The entry was written after this index was brought up to date.
      if (key === undefined || rows.get(key)?.writtenSeq !== writtenSeq) return;
      index.setVectors(entry, model, vectors);
      loaded.vectors.throughMade = goOn(loaded.vectors.throughMade, made);
    }
  }
}

/** Brings an index up to the agent's newest event. */
async function follow(reader: Reader, agent: AgentState, loaded: Loaded): Promise<void> {
  if (agent.headSeq === loaded.throughAgentSeq) return;
  const changes = await changesAfter(reader, agent.agentId, {
    after: loaded.throughAgentSeq,
    through: agent.headSeq,
    limit: MAX_FOLLOWED_KEYS + 1,
  });
  if (changes === null || changes.length > MAX_FOLLOWED_KEYS) return compareAll(reader, agent, loaded);
  const keys = new Set<string>();
  for (const { changed } of changes) {
    // An event that names no key, or whose key was erased, may have changed any entry.
    if (typeof changed === "string") return compareAll(reader, agent, loaded);
    keys.add(changed.key);
  }
  let followed = 0;
  for (const key of keys) {
    await followKey(reader, agent, loaded, key);
    if (++followed % ENTRIES_AT_ONCE === 0) await nextTurn();
  }
}

async function followKey(reader: Reader, agent: AgentState, loaded: Loaded, key: string): Promise<void> {
  const row = await reader.get<DocumentRow>(
    `SELECT id, key, value, metadata, written_seq FROM entries
     WHERE agent = ? AND key = ? AND live_to IS NULL`,
    [agent.firstSeq, key],
  );
  setRow(loaded, key, row);
}

/** Sets the row of a key, or removes the key. */
function setRow({ index, rows }: Loaded, key: string, row: DocumentRow | undefined): void {
  const indexed = rows.get(key);
  if (indexed !== undefined && indexed.id !== row?.[0]) {
    // The id may belong to another key by now, whose row stays.
    if (index.keyOf(indexed.id) === key) index.remove(indexed.id);
    rows.delete(key);
  }
  if (row === undefined) return;
  const [id, , value, metadata, writtenSeq] = row;
  if (indexed?.id === id && indexed.writtenSeq === writtenSeq) return;
  index.add(id, contentOf(key, value, metadata));
  rows.set(key, { id, writtenSeq });
}

/** Compares an index with all live entries, in key order, and corrects what differs. */
async function compareAll(reader: Reader, agent: AgentState, loaded: Loaded): Promise<void> {
  const stale = new Set(loaded.rows.keys());
  let after = "";
  for (;;) {
    const rows = await reader.all<DocumentRow>(
      `SELECT id, key, value, metadata, written_seq FROM entries
       WHERE agent = ? AND live_to IS NULL AND key > ? ORDER BY key LIMIT ?`,
      [agent.firstSeq, after, ENTRIES_AT_ONCE],
    );
    for (const row of rows) {
      stale.delete(row[1]);
      setRow(loaded, row[1], row);
    }
    if (rows.length < ENTRIES_AT_ONCE) break;
    after = goOn(after, (rows.at(-1) as DocumentRow)[1]);
    await nextTurn();
  }
  for (const key of stale) setRow(loaded, key, undefined);
}
