/**
 * Seals one workspace: signs the head of its tree, stores the seal in the same transaction, and appends it to the
 * workspace's seal file once the transaction is on disk.
 *
 * It never signs two different logs. Before it makes a seal, it compares the newest seal with the present tree. So a
 * log whose sealed part was changed or truncated is not sealed again.
 */
import type { KeyObject } from "node:crypto";
import { sameHash } from "../../log/merkle.ts";
import { ed25519Signer, formatNote, NoteError, parseVerifierKey, type VerifierKey } from "../../log/note.ts";
import { makeSeal, parseSeal } from "../../log/seal.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import {
  insertSeal,
  newestSeal,
  replaceNote,
  type StoredSeal,
  sealingKey,
  sealOfSize,
  sealsAfter,
} from "../rows/log/seals.ts";
import { storeTilesUpTo, TreeIncomplete, treeRoot } from "../rows/log/tree.ts";
import type { SealKeyring } from "./keyring.ts";
import { appendSeals, lastFiledSeal } from "./seal-file.ts";

/** Why a workspace is not sealed, for the daemon's log. The message contains no data. */
export class SealRefused extends Error {
  override readonly name = "SealRefused";
}

interface SealerOptions {
  keyring: SealKeyring;
  /** The workspace's seal file. */
  file: string;
  /** Called with every new seal once it is on disk. */
  onSealed?: (seal: StoredSeal) => void;
}

export class WorkspaceSealer {
  /** Seals of transactions that are not committed yet. */
  #made: StoredSeal[] = [];
  /** Seals that are on disk, but not yet in the seal file. */
  #unfiled: StoredSeal[] = [];
  #sealedSize = 0;

  constructor(private readonly options: SealerOptions) {}

  /**
   * Loads the state of the workspace; to be called first. Adds seals to the seal file that are missing after a crash. A
   * file that is not a seal file is left unchanged, and sealing refuses it.
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

  /** The number of events under the newest seal that this process knows. */
  get sealedSize(): number {
    return this.#sealedSize;
  }

  /**
   * Seals the first `size` events, including those that this transaction appended. Returns the seal over them, which is
   * an earlier one if nothing was appended since.
   * @throws {SealRefused} when the log must not or cannot be sealed; nothing is changed then
   */
  async seal(tx: Transaction, size: number): Promise<StoredSeal> {
    const newest = await newestSeal(tx);
    if (newest !== null && newest.size === size) return newest;
    await storeTilesUpTo(tx, size);
    try {
      if (newest !== null) await this.#requireContinuation(tx, newest, size);
      const { name, privateKey } = await this.#requireKey(tx);
      const signer = ed25519Signer(name, privateKey);
      const note = makeSeal({ origin: name, size, root: await treeRoot(tx, size) }, [signer]);
      const seal = await insertSeal(tx, { size, note });
      this.#made.push(seal);
      return seal;
    } catch (error) {
      if (error instanceof NoteError || error instanceof TreeIncomplete) throw new SealRefused(error.message);
      throw error;
    }
  }

  /** To be called when the transaction is on disk. @throws the system's error when the seal file cannot be written */
  committed(): void {
    if (this.#made.length === 0) return;
    const made = this.#made;
    this.#made = [];
    this.#unfiled.push(...made);
    this.#sealedSize = (made.at(-1) as StoredSeal).size;
    for (const seal of made) this.options.onSealed?.(seal);
    this.#file();
  }

  /** To be called when the transaction was rolled back. */
  abandoned(): void {
    this.#made = [];
  }

  /** Appends a seal to the seal file again, with its new signature lines. */
  fileAgain(seal: StoredSeal): void {
    this.#unfiled.push(seal);
    this.#file();
  }

  #file(): void {
    if (this.#unfiled.length === 0) return;
    appendSeals(
      this.options.file,
      this.#unfiled.map(({ note }) => note),
    );
    this.#unfiled = [];
  }

  async #findUnfiled(reader: Reader, newest: StoredSeal | null): Promise<void> {
    const last = lastFiledSeal(this.options.file);
    if (newest === null || (last !== null && last.seal.size >= newest.size)) return;
    for (let after = 0; ; ) {
      const page = await sealsAfter(reader, after);
      this.#unfiled.push(...page.filter(({ size }) => size > (last?.seal.size ?? -1)));
      const end = page.at(-1);
      if (end === undefined || end.id === newest.id) return;
      after = end.id;
    }
  }

  /** Checks that the tree continues the newest seals in the database and in the seal file. */
  async #requireContinuation(tx: Reader, newest: StoredSeal, size: number): Promise<void> {
    const last = lastFiledSeal(this.options.file);
    for (const seal of [parseSeal(newest.note), ...(last === null ? [] : [last.seal])]) {
      if (seal.size > size) {
        throw new SealRefused(
          "a seal covers more events than the log has: the workspace was restored from an older copy, or its log was truncated",
        );
      }
      if (sameHash(await treeRoot(tx, seal.size), seal.root)) continue;
      throw new SealRefused("the log is not the one that was sealed before: `governd verify` says where it differs");
    }
  }

  /** Returns the key that seals this log, and its name. */
  async #requireKey(tx: Reader): Promise<{ name: string; privateKey: KeyObject }> {
    const text = await sealingKey(tx);
    if (text === null) throw new SealRefused("the log names no sealing key");
    const named: VerifierKey = parseVerifierKey(text);
    const key = this.options.keyring.find(named.publicKey);
    if (key === null) {
      throw new SealRefused(
        "the present sealing key is not the one that the log names: restore that key, or announce the present one with `governd rotate-seal-key`",
      );
    }
    return { name: named.name, privateKey: key.privateKey };
  }
}

/** Adds cosignatures of witnesses, and time stamps, to a stored seal. Returns the seal with them, or null when none is new. */
export async function keepCosignatures(tx: Transaction, size: number, note: string): Promise<StoredSeal | null> {
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
