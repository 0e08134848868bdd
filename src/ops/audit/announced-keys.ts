/** The chain of keys in exports and receipts after a rotation (log/key-chain.ts), and the restores in exports. */

import { eventAt } from "../../core/rows/log/events.ts";
import { sealingKeys, sealOfSize } from "../../core/rows/log/seals.ts";
import { treeReader } from "../../core/rows/log/tree.ts";
import type { JsonObject } from "../../json.ts";
import type { ExportRestores } from "../../log/export-schema.ts";
import type { KeyChain } from "../../log/key-chain.ts";
import { parseVerifierKey } from "../../log/note.ts";
import { presentEvent } from "../../log/present.ts";
import { inclusionProof } from "../../log/proof.ts";
import { hexOf } from "../../log/rows.ts";
import type { Reader } from "../../store/transaction.ts";

const bytesOf = ({ verifierKey }: { verifierKey: string }): string => hexOf(parseVerifierKey(verifierKey).publicKey);

/**
 * Returns the keys up to the one that seals a log of `size` events, each with its announcement; none when that is the
 * log's first key.
 */
export async function announcedKeys(reader: Reader, size: number): Promise<{ keys?: KeyChain }> {
  // A key does not seal its own announcement. A restore announces no key, only a new name of the present one.
  const keys = (await sealingKeys(reader))
    .filter(({ announcedSeq: seq }) => seq === 0 || seq < size - 1)
    .filter((key, at, all) => at === 0 || bytesOf(key) !== bytesOf(all[at - 1] as typeof key));
  const chain: KeyChain = [];
  for (const { announcedSeq, verifierKey } of keys) {
    // The genesis is shown under the seal over the first rotation, which the first key made.
    const seal = await sealOfSize(reader, Math.max(announcedSeq, keys[1]?.announcedSeq ?? 0) + 1);
    const stored = await eventAt(reader, null, announcedSeq);
    if (stored === undefined || seal === null) return {};
    const event = presentEvent(stored);
    const path = (await inclusionProof(announcedSeq, seal.size, treeReader(reader))).map(hexOf);
    chain.push({ public_key: verifierKey, event: event as unknown as JsonObject, path, seal: seal.note });
  }
  return chain.length > 1 ? { keys: chain } : {};
}

/**
 * Returns the positions of the restores that began an epoch. Such a restore names the present key with a new origin.
 */
export async function epochRestores(reader: Reader): Promise<number[]> {
  const keys = await sealingKeys(reader);
  const renamed = keys.filter((key, at) => at > 0 && bytesOf(key) === bytesOf(keys[at - 1] as typeof key));
  return renamed.map(({ announcedSeq }) => announcedSeq);
}

/**
 * Returns the restores that began an epoch of a log of `size` events, each with its proof in the seal of that size;
 * none when there are none.
 */
export async function shownRestores(reader: Reader, size: number): Promise<{ restores?: ExportRestores }> {
  const restores: ExportRestores = [];
  for (const seq of await epochRestores(reader)) {
    if (seq >= size) continue;
    const stored = await eventAt(reader, null, seq);
    if (stored === undefined) throw new Error("a restore is missing");
    const path = (await inclusionProof(seq, size, treeReader(reader))).map(hexOf);
    restores.push({ event: presentEvent(stored) as unknown as JsonObject, path });
  }
  return restores.length > 0 ? { restores } : {};
}
