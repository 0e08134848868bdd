/**
 * Seals: signed tree heads of a workspace's log, after C2SP tlog-checkpoint (docs/audit-format.md). They are signed under
 * the origin as key name. Extension lines are neither made nor accepted. Signatures of other keys may follow
 * (cosignatures of witnesses, see witness.ts).
 */
import type { EventName } from "../operations.ts";
import { GENESIS } from "./event.ts";
import { HASH_BYTES } from "./merkle.ts";
import {
  checkSignature,
  fromBase64,
  isKeyName,
  NoteError,
  type NoteSigner,
  parseNote,
  type SignedNote,
  signNote,
  verifierKey,
} from "./note.ts";

/** The operation that announces the log's next sealing key; its details carry `signing_key`. */
export const ROTATE_SEAL_KEY = "seal.rotate_key" satisfies EventName;

/** The operation that declares a restore (restores.ts). */
export const LOG_RESTORE = "log.restore" satisfies EventName;

/** Reports whether the details of an operation name a sealing key. The genesis names the first one. */
export const namesSealKey = (operation: string): boolean => operation === GENESIS || operation === ROTATE_SEAL_KEY;

/** Reports whether the details of an operation may name the key under which the log is sealed next. */
export const mayNameSealKey = (operation: string): boolean => namesSealKey(operation) || operation === LOG_RESTORE;

/** A signed tree head. */
export interface Seal {
  origin: string;
  size: number;
  root: Uint8Array;
  /** The note as read, including its signatures. */
  note: SignedNote;
}

/** Returns the text that is signed. */
export function sealText(origin: string, size: number, root: Uint8Array): string {
  if (!isKeyName(origin)) throw new NoteError("an origin is not empty and has neither spaces nor +");
  return `${origin}\n${size}\n${Buffer.from(root).toString("base64")}\n`;
}

/** Returns the text of a new seal. The name of the signers is the origin. */
export function makeSeal(
  tree: { origin: string; size: number; root: Uint8Array },
  signers: readonly NoteSigner[],
): string {
  return signNote(sealText(tree.origin, tree.size, tree.root), signers);
}

/** Parses a seal without checking its signature. @throws NoteError when the text is not a seal */
export function parseSeal(text: string): Seal {
  const note = parseNote(text);
  const lines = note.text.split("\n");
  const [origin, size, root] = lines as [string, string, string];
  if (lines.length !== 4 || origin === "") throw new NoteError("a seal has three lines before its signatures");
  if (!/^(0|[1-9][0-9]{0,15})$/.test(size) || !Number.isSafeInteger(Number(size))) {
    throw new NoteError("the seal's tree size is not a number");
  }
  const hash = fromBase64(root);
  if (hash?.length !== HASH_BYTES) throw new NoteError("the seal's root is not a hash");
  return { origin, size: Number(size), root: hash, note };
}

/** An origin taken apart. `base` is the origin of the first epoch, `<host>/<workspace id>`, which has no number. */
interface Origin {
  base: string;
  workspaceId: string;
  epoch: number;
}

/** Takes an origin apart. Epochs count from 1, and only the later ones are in the origin. */
export function parseOrigin(origin: string): Origin {
  const parts = /^(.*)\/([2-9]|[1-9][0-9]{1,14})$/.exec(origin);
  const base = parts?.[1] ?? origin;
  return { base, workspaceId: base.slice(base.lastIndexOf("/") + 1), epoch: Number(parts?.[2] ?? 1) };
}

/** Returns the workspace of a seal, from its origin. */
export const sealedWorkspace = (seal: Seal): string => parseOrigin(seal.origin).workspaceId;

/** Checks the signature of one key (32 raw bytes) on a seal, under the seal's origin. */
export function checkSeal(seal: Seal, publicKey: Uint8Array): "good" | "bad" | "absent" {
  if (!isKeyName(seal.origin)) return "absent";
  return checkSignature(seal.note, verifierKey(seal.origin, publicKey));
}
