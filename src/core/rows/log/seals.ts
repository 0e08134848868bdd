/** The stored seals of a workspace, and the keys that made them. */
import type { Reader, Transaction } from "../../../store/transaction.ts";

/** A stored seal. `id` counts seals in the order in which they were made. */
export interface StoredSeal {
  id: number;
  /** The number of events that the seal covers. */
  size: number;
  /** The signed note. */
  note: string;
}

const SELECT = "SELECT id, size, note FROM seals";
type SealRow = [id: number, size: number, note: string];

const toSeal = ([id, size, note]: SealRow): StoredSeal => ({ id, size, note });

/** The most seals that are read at once. */
const SEALS_AT_ONCE = 1_000;

/** Returns the newest seal; null when there is none yet. */
export async function newestSeal(reader: Reader): Promise<StoredSeal | null> {
  const row = await reader.get<SealRow>(`${SELECT} ORDER BY id DESC LIMIT 1`);
  return row === undefined ? null : toSeal(row);
}

/** Returns the newest seal over exactly `size` events; null when there is none. */
export async function sealOfSize(reader: Reader, size: number): Promise<StoredSeal | null> {
  const row = await reader.get<SealRow>(`${SELECT} WHERE size = ? ORDER BY id DESC LIMIT 1`, [size]);
  return row === undefined ? null : toSeal(row);
}

/** Returns the seals that were made after seal number `id`, in order, at most {@link SEALS_AT_ONCE}. */
export async function sealsAfter(reader: Reader, id: number): Promise<StoredSeal[]> {
  const rows = await reader.all<SealRow>(`${SELECT} WHERE id > ? ORDER BY id LIMIT ?`, [id, SEALS_AT_ONCE]);
  return rows.map(toSeal);
}

/** Returns the first seals over the event at a position, in order, at most {@link SEALS_AT_ONCE}. */
export async function sealsOver(reader: Reader, seq: number): Promise<StoredSeal[]> {
  const rows = await reader.all<SealRow>(`${SELECT} WHERE size > ? ORDER BY size, id LIMIT ?`, [seq, SEALS_AT_ONCE]);
  return rows.map(toSeal);
}

/** Stores a new seal. */
export async function insertSeal(tx: Transaction, seal: { size: number; note: string }): Promise<StoredSeal> {
  await tx.run("INSERT INTO seals (size, note) VALUES (?, ?)", [seal.size, seal.note]);
  return (await newestSeal(tx)) as StoredSeal;
}

/** Replaces a seal's note by one with more cosignatures. */
export async function replaceNote(tx: Transaction, id: number, note: string): Promise<void> {
  await tx.run("UPDATE seals SET note = ? WHERE id = ?", [note, id]);
}

/** Returns the verifier key of the present seals; null when the log names none. */
export async function sealingKey(reader: Reader): Promise<string | null> {
  return (await reader.value("SELECT verifier_key FROM seal_keys ORDER BY announced_seq DESC LIMIT 1")) ?? null;
}

/** Returns the verifier key of a seal whose last event is `seq`; null when the log names none. */
export async function sealingKeyAt(reader: Reader, seq: number): Promise<string | null> {
  const sql = "SELECT verifier_key FROM seal_keys WHERE announced_seq < ? ORDER BY announced_seq DESC LIMIT 1";
  return (await reader.get<[string]>(sql, [seq]))?.[0] ?? null;
}

/** Returns all keys that the log names, the oldest first. */
export async function sealingKeys(reader: Reader): Promise<{ announcedSeq: number; verifierKey: string }[]> {
  const rows = await reader.all<[number, string]>(
    "SELECT announced_seq, verifier_key FROM seal_keys ORDER BY announced_seq",
  );
  return rows.map(([announcedSeq, verifierKey]) => ({ announcedSeq, verifierKey }));
}

/** Stores the key that event `announcedSeq` names. */
export async function insertSealingKey(tx: Transaction, announcedSeq: number, verifierKey: string): Promise<void> {
  await tx.run("INSERT INTO seal_keys (announced_seq, verifier_key) VALUES (?, ?)", [announcedSeq, verifierKey]);
}
