/**
 * Time stamps of RFC 3161 under seals. A token stands in a signature line of its own (C2SP signed-note, type 0xff), so it
 * is stored and handed out with the seal, and other readers of notes ignore it. It is over the seal as the daemon made it:
 * the text, the empty line and the first signature. timestamp-token.ts says what a token proves.
 */
import { formatNote, keyId, type NoteSignature } from "./note.ts";
import type { Seal } from "./seal.ts";

/** Type 0xff is followed by an identifier (signed-note). */
const SIGNATURE_OTHER = 0xff;
const IDENTIFIER = Buffer.from("governd/rfc3161");

/** Returns what is stamped. */
export const stampedText = ({ note: { text, signatures } }: Seal): string =>
  formatNote({ text, signatures: signatures.slice(0, 1) });

/** Returns the signature line of a token. @param place where the token is from: a name in a note that proves nothing */
export const timestampLine = (place: string, token: Uint8Array): NoteSignature => {
  return { name: place, keyId: keyIdOf(place), signature: token };
};

/** Returns the lines of a seal that have the form of a time stamp's. */
export const timestampLines = ({ note }: Seal): NoteSignature[] =>
  note.signatures.filter(({ name, keyId: id }) => id === keyIdOf(name));

const keyIdOf = (place: string): number => keyId(place, SIGNATURE_OTHER, IDENTIFIER);
