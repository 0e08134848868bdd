/**
 * Seals one workspace: signs the head of its tree, stores the seal in the same transaction, and once
 * that is on disk adds it to the workspace's file of seals.
 *
 * It never signs two logs: before a seal is made, the newest one is compared with the tree as it
 * stands now, so a log that was changed or cut off behind a seal is not sealed any further.
 */
import { sameHash } from "../log/merkle.ts";
import { ed25519Signer, formatNote, NoteError, parseVerifierKey, type VerifierKey } from "../log/note.ts";
import { makeSeal, parseSeal } from "../log/seal.ts";
import {
  insertSeal,
  newestSeal,
  replaceNote,
  type StoredSeal,
  sealingKey,
  sealOfSize,
  sealsAfter,
} from "../state/seals.ts";
import { storeTilesUpTo, TreeIncomplete, treeRoot } from "../state/tree.ts";
import type { Reader, Transaction } from "../store/transaction.ts";
import type { SealKeyring } from "./keyring.ts";
import { appendSeals, lastFiledSeal } from "./seal-file.ts";

/** Why a workspace is not sealed, in words for the operator's log. They hold no data. */
export class SealRefused extends Error {
  override readonly name = "SealRefused";
}

export interface SealerOptions {
  keyring: SealKeyring;
  /** The workspace's file of seals. */
  file: string;
  /** Told of every new seal once it is on disk. */
  onSealed?: (seal: StoredSeal) => void;
}

export class WorkspaceSealer {
  readonly #options: SealerOptions;
  /** Made in transactions that are not committed yet. */
  #made: StoredSeal[] = [];
  /** On disk, and not yet in the file. */
  #unfiled: StoredSeal[] = [];
  #sealedSize = 0;

  constructor(options: SealerOptions) {
    this.#options = options;
  }

  /**
   * Takes up a workspace; to be called before anything else. Its file of seals is repaired when a
   * crash left it behind the database. A file that is no file of seals is left alone: sealing refuses it.
   */
  async load(reader: Reader): Promise<void> {
    const newest = await newestSeal(reader);
    this.#sealedSize = newest?.size ?? 0;
    try {
      await this.#findUnfiled(reader, newest);
    } catch (error) {
      if (!(error instanceof NoteError)) throw error;
      return;
    }
    this.#file();
  }

  /** Events under the newest seal that this process knows of. */
  get sealedSize(): number {
    return this.#sealedSize;
  }

  /**
   * Seals the first `size` events, the last ones of which this transaction may have appended; answers
   * the seal over them, an earlier one if nothing was added since.
   * @throws {SealRefused} when the log must not or cannot be sealed; nothing is changed then
   */
  async seal(tx: Transaction, size: number): Promise<StoredSeal> {
    const newest = await newestSeal(tx);
    if (newest !== null && newest.size === size) return newest;
    await storeTilesUpTo(tx, size);
    try {
      if (newest !== null) await this.#requireContinuation(tx, newest, size);
      const name = await this.#requireKey(tx);
      const signer = ed25519Signer(name, this.#options.keyring.current().privateKey);
      const note = makeSeal({ origin: name, size, root: await treeRoot(tx, size) }, [signer]);
      const seal = await insertSeal(tx, { size, note });
      this.#made.push(seal);
      return seal;
    } catch (error) {
      if (error instanceof NoteError || error instanceof TreeIncomplete) throw new SealRefused(error.message);
      throw error;
    }
  }

  /** To be called when the transaction is on disk. @throws the system's error when the file takes no more */
  committed(): void {
    if (this.#made.length === 0) return;
    const made = this.#made;
    this.#made = [];
    this.#unfiled.push(...made);
    this.#sealedSize = (made.at(-1) as StoredSeal).size;
    for (const seal of made) this.#options.onSealed?.(seal);
    this.#file();
  }

  /** To be called when the transaction came to nothing. */
  abandoned(): void {
    this.#made = [];
  }

  /** Has the file carry a seal again, with the cosignatures that it has now. */
  fileAgain(seal: StoredSeal): void {
    this.#unfiled.push(seal);
    this.#file();
  }

  #file(): void {
    if (this.#unfiled.length === 0) return;
    appendSeals(
      this.#options.file,
      this.#unfiled.map(({ note }) => note),
    );
    this.#unfiled = [];
  }

  async #findUnfiled(reader: Reader, newest: StoredSeal | null): Promise<void> {
    const last = lastFiledSeal(this.#options.file);
    if (newest === null || (last !== null && last.seal.size >= newest.size)) return;
    for (let after = 0; ; ) {
      const page = await sealsAfter(reader, after);
      this.#unfiled.push(...page.filter(({ size }) => size > (last?.seal.size ?? -1)));
      const end = page.at(-1);
      if (end === undefined || end.id === newest.id) return;
      after = end.id;
    }
  }

  /** The tree still begins with what was sealed before, here and in the file of seals. */
  async #requireContinuation(tx: Reader, newest: StoredSeal, size: number): Promise<void> {
    const last = lastFiledSeal(this.#options.file);
    for (const seal of [parseSeal(newest.note), ...(last === null ? [] : [last.seal])]) {
      if (seal.size > size) {
        throw new SealRefused(
          "a seal covers more events than the log has: the workspace was put back from an older copy, or cut off",
        );
      }
      if (sameHash(await treeRoot(tx, seal.size), seal.root)) continue;
      throw new SealRefused(
        "the log is not the one that was sealed before: `governd verify` says where it differs",
      );
    }
  }

  /** The name that the key at hand seals this log under. */
  async #requireKey(tx: Reader): Promise<string> {
    const text = await sealingKey(tx);
    if (text === null) throw new SealRefused("the log names no sealing key");
    const named: VerifierKey = parseVerifierKey(text);
    if (!this.#options.keyring.has(named.publicKey)) {
      throw new SealRefused(
        "the sealing key at hand is not the one that the log names: bring that one back, or announce this one with `governd rotate-seal-key`",
      );
    }
    return named.name;
  }
}

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
