/** The origin of a log, as evidence of it states it: the name under which its newest seals are made. Nothing is verified. */
import { statSync } from "node:fs";
import { sealingKey } from "../core/rows/log/seals.ts";
import { orNull } from "../failure.ts";
import { isKeyName, NoteError, parseVerifierKey } from "../log/note.ts";
import { parseReceipt, ReceiptError } from "../log/receipt.ts";
import { parseSeal, type Seal } from "../log/seal.ts";
import { ProofError, parseProof } from "../log/state/proof.ts";
import type { Reader } from "../store/transaction.ts";
import { type ExportTarget, unreadable } from "./events/export-lines.ts";
import { ExportReader } from "./events/export-reader.ts";
import { linesOf } from "./events/lines.ts";

/** Returns the origin of a workspace; null when its file names none. @throws the driver's error when it cannot be read */
export async function originOfWorkspace(reader: Reader): Promise<string | null> {
  const key = await sealingKey(reader);
  return key === null ? null : orNull(NoteError, () => parseVerifierKey(key).name);
}

/** Returns the origin of a receipt's seal; null when the text is not a receipt. */
export const originOfReceipt = (text: string): string | null =>
  orNull(ReceiptError, () => signedOrigin(parseReceipt(text).seal));

/** Returns the origin of the seal of a proof; null when the bytes are not one. */
export const originOfProof = (bytes: Uint8Array): string | null =>
  orNull(ProofError, () => signedOrigin(parseProof(bytes).sealed.seal));

/** Returns an origin under which a key can sign. */
const signedOrigin = ({ origin }: Seal): string | null => (isKeyName(origin) ? origin : null);

/** Returns the origin of an export's seal; null when it has none or cannot be read. */
export async function originOfExport(path: string): Promise<string | null> {
  const target: ExportTarget = {
    ...{ header: null, trailer: null, scope: "workspace", vocabulary: undefined },
    event: () => {},
    ownLine: () => true,
    trailing: () => {},
  };
  const reader = new ExportReader(target);
  try {
    for await (const piece of linesOf(path, { from: 0, to: statSync(path).size })) {
      reader.push(piece);
      if (target.header !== null) break;
    }
    if (target.header === null) reader.end();
  } catch (error) {
    unreadable(error);
    return null;
  }
  const seal = target.header?.seal ?? null;
  return seal === null ? null : orNull(NoteError, () => signedOrigin(parseSeal(seal)));
}
