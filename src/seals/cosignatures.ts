/** Cosignatures of witnesses, kept with the seal that they are of. */
import { formatNote } from "../log/note.ts";
import { parseSeal } from "../log/seal.ts";
import { replaceNote, type StoredSeal, sealOfSize } from "../state/seals.ts";
import type { Transaction } from "../store/transaction.ts";

/** Adds the signatures that a stored seal lacks; answers the seal as it is now, null when nothing is new. */
export async function keepCosignatures(
  tx: Transaction,
  size: number,
  note: string,
): Promise<StoredSeal | null> {
  const stored = await sealOfSize(tx, size);
  if (stored === null) return null;
  const [before, cosigned] = [parseSeal(stored.note).note, parseSeal(note).note];
  if (before.text !== cosigned.text) return null;
  const known = new Set(before.signatures.map(({ name, keyId }) => `${name} ${keyId}`));
  const added = cosigned.signatures.filter(({ name, keyId }) => !known.has(`${name} ${keyId}`));
  if (added.length === 0) return null;
  const all = formatNote({ text: before.text, signatures: [...before.signatures, ...added] });
  await replaceNote(tx, stored.id, all);
  return { ...stored, note: all };
}
