/**
 * Stores the vectors that an external model makes of a workspace's entries, and finds the entries that lack them.
 * Vectors follow the audit log in small steps between operations.
 */
import schema from "../../../sql/workspace/derived/embeddings.sql" with { type: "text" };
import { embeddingTexts } from "../../search/index/document.ts";
import type { Connection } from "../../store/connection.ts";
import { hasTable, type Reader, type Transaction } from "../../store/transaction.ts";
import { goOn } from "../../store/walk.ts";
import { sqlNames } from "./entry-changes.ts";

/** The tables. They are made when a model is first set. */
export const EMBEDDINGS_SCHEMA = schema;
/** The table whose existence shows that all tables exist. */
export const EMBEDDINGS_TABLE = "search_embedding";

/** The most entries in one batch. Each has at most 16 texts. */
const ENTRIES_AT_ONCE = 16;
const EVENTS_AT_ONCE = 1_000;
/** The most entries whose vectors a reader loads at once. */
const VECTORS_AT_ONCE = 500;

/** An entry that lacks vectors. */
interface ToEmbed {
  id: number;
  agent: number;
  writtenSeq: number;
  texts: string[];
}

/** The next entries, and the progress to record when their vectors are stored. */
export interface EmbeddingBatch {
  entries: ToEmbed[];
  after: number | null;
  throughSeq: number;
}

export const hasEmbeddings = (reader: Reader): Promise<boolean> => hasTable(reader, EMBEDDINGS_TABLE);

/**
 * Makes the tables unless they exist, and begins again if the model is another one; to be called inside a transaction.
 */
export async function ensureEmbeddingTables(connection: Connection, model: string): Promise<void> {
  if (!(await hasEmbeddings(connection))) connection.exec(EMBEDDINGS_SCHEMA);
  if (connection.value<string>("SELECT model FROM search_embedding") === model) return;
  connection.run("INSERT OR REPLACE INTO search_embedding SELECT 1, ?, 0, seq FROM head WHERE one = 1", [model]);
}

type EntryRow = [id: number, agent: number, writtenSeq: number, key: string, value: string];

const toEmbed = ([id, agent, writtenSeq, key, value]: EntryRow): ToEmbed => ({
  id,
  agent,
  writtenSeq,
  texts: embeddingTexts({ key, value: JSON.parse(value) as string }),
});

/** Returns the next batch; null when every live entry has its vectors. */
export async function nextBatch(reader: Reader): Promise<EmbeddingBatch | null> {
  const row = await reader.get<[model: string, after: number | null, throughSeq: number, headSeq: number]>(
    "SELECT s.model, s.after, s.through_seq, h.seq FROM search_embedding s, head h",
  );
  if (row === undefined) return null;
  const [model, after, throughSeq, headSeq] = row;
  if (after !== null) return passOn(reader, model, after, throughSeq);
  return throughSeq === headSeq ? null : follow(reader, throughSeq, headSeq);
}

/** Returns the next entries without vectors of this model, in the order of their ids. */
async function passOn(reader: Reader, model: string, after: number, throughSeq: number): Promise<EmbeddingBatch> {
  const rows = await reader.all<EntryRow>(
    `SELECT e.id, e.agent, e.written_seq, e.key, e.value FROM entries e
     WHERE e.id > ? AND e.live_to IS NULL
       AND NOT EXISTS (SELECT 1 FROM search_vectors v WHERE v.entry = e.id AND v.model = ?)
     ORDER BY e.id LIMIT ?`,
    [after, model, ENTRIES_AT_ONCE],
  );
  const last = rows.length < ENTRIES_AT_ONCE ? null : goOn(after, (rows.at(-1) as EntryRow)[0]);
  return { entries: rows.map(toEmbed), after: last, throughSeq };
}

/** Returns the live entries that the next events wrote. A restore starts a pass over all entries instead. */
async function follow(reader: Reader, throughSeq: number, headSeq: number): Promise<EmbeddingBatch> {
  const upTo = Math.min(headSeq, throughSeq + EVENTS_AT_ONCE);
  const count = `SELECT count(*) FROM events WHERE seq > ? AND seq <= ? AND operation NOT IN (${sqlNames("restore")})`;
  const others = await reader.value<number>(count, [throughSeq, upTo]);
  // An event was pruned or is a restore, so the entries that it wrote are unknown: a pass over all entries begins.
  if (others !== upTo - throughSeq) return { entries: [], after: 0, throughSeq: upTo };
  const rows = await reader.all<EntryRow>(
    `SELECT e.id, e.agent, e.written_seq, e.key, e.value FROM events v
     JOIN agents a ON a.agent_id = v.agent_id
     JOIN entries e ON e.agent = a.first_seq AND e.key = v.details ->> '$.key' AND e.live_to IS NULL
       AND e.written_seq = v.seq
     WHERE v.seq > ? AND v.seq <= ? AND v.operation IN (${sqlNames("put")}) ORDER BY v.seq LIMIT ?`,
    [throughSeq, upTo, ENTRIES_AT_ONCE],
  );
  const last = rows.length < ENTRIES_AT_ONCE ? upTo : goOn(throughSeq, (rows.at(-1) as EntryRow)[2]);
  return { entries: rows.map(toEmbed), after: null, throughSeq: last };
}

/**
 * Stores the vectors of a batch, in the order of its entries. Skips entries that have changed meanwhile, and all of
 * them if another model was set. To be called inside a transaction.
 */
export async function storeVectors(
  tx: Transaction,
  model: string,
  batch: EmbeddingBatch,
  vectors: readonly (readonly Float32Array[])[],
): Promise<void> {
  for (const [i, { id, agent, writtenSeq }] of batch.entries.entries()) {
    const own = vectors[i] ?? [];
    const dimensions = own[0]?.length;
    if (dimensions === undefined) continue;
    await tx.run(
      `INSERT OR REPLACE INTO search_vectors (entry, agent, written_seq, model, dimensions, vectors)
       SELECT id, agent, written_seq, ?, ?, ? FROM entries
       WHERE id = ? AND agent = ? AND written_seq = ? AND live_to IS NULL`,
      [model, dimensions, packed(own), id, agent, writtenSeq],
    );
  }
  const sql = "UPDATE search_embedding SET after = ?, through_seq = ? WHERE model = ?";
  await tx.run(sql, [batch.after, batch.throughSeq, model]);
}

/** Returns vectors as bytes: little-endian, since governd runs only on little-endian processors. */
const packed = (vectors: readonly Float32Array[]): Uint8Array =>
  Buffer.concat(vectors.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength)));

function unpacked(bytes: Uint8Array, dimensions: number): Float32Array[] {
  // Copied, since the driver's bytes may not be aligned.
  const { buffer } = Uint8Array.from(bytes);
  const size = dimensions * Float32Array.BYTES_PER_ELEMENT;
  const count = Math.floor(buffer.byteLength / size);
  return Array.from({ length: count }, (_, i) => new Float32Array(buffer.slice(i * size, (i + 1) * size)));
}

/** Returns the next vectors of an agent's live entries by this model, in the order in which they were made. */
export async function vectorsAfter(reader: Reader, agent: number, model: string, made: number) {
  const rows = await reader.all<[number, number, number, number, Uint8Array]>(
    `SELECT v.made, v.entry, v.written_seq, v.dimensions, v.vectors FROM search_vectors v
     JOIN entries e ON e.id = v.entry AND e.written_seq = v.written_seq AND e.live_to IS NULL
     WHERE v.agent = ? AND v.made > ? AND v.model = ? ORDER BY v.made LIMIT ?`,
    [agent, made, model, VECTORS_AT_ONCE],
  );
  return rows.map(([made, entry, writtenSeq, dimensions, vectors]) => ({
    made,
    entry,
    writtenSeq,
    vectors: unpacked(vectors, dimensions),
  }));
}

/** Returns the vectors of some live entries by this model, by the entries' ids. */
export async function vectorsOfEntries(reader: Reader, ids: readonly number[], model: string) {
  if (!(await hasEmbeddings(reader))) return new Map();
  const rows = await reader.all<[entry: number, dimensions: number, vectors: Uint8Array]>(
    `SELECT v.entry, v.dimensions, v.vectors FROM search_vectors v
     JOIN entries e ON e.id = v.entry AND e.written_seq = v.written_seq AND e.live_to IS NULL
     WHERE v.entry IN (SELECT value FROM json_each(?)) AND v.model = ?`,
    [JSON.stringify(ids), model],
  );
  return new Map(rows.map(([entry, dimensions, vectors]) => [entry, unpacked(vectors, dimensions)]));
}
