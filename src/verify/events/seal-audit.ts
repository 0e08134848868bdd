/**
 * Compares seals with their log. A seal is good when the events have its root at its size and a key of this log signed
 * it. The log itself names its keys: the first in its genesis, later ones in `seal.rotate_key` events, which the old
 * key seals. Which keys to trust is the auditor's decision: trust begins with the given key (without one, with the key
 * that the genesis names), and extends to every key that is named under a seal by a trusted key.
 */

import { sameHash } from "../../log/merkle.ts";
import { fingerprintOf } from "../../log/note.ts";
import type { DeclaredRestore } from "../../log/restores.ts";
import { checkSeal, type Seal, sealedWorkspace } from "../../log/seal.ts";
import type { ProblemCode } from "../codes.ts";
import type { Problem } from "../problems.ts";
import type { SealAuditOptions, SealReport } from "./contract.ts";
import { Epochs, FOREIGN, type NamedKey } from "./epochs.ts";
import { WitnessedSeals } from "./witnesses.ts";

const BAD_SIGNATURE = "a seal's signature is not right";
const UNNAMED = "a seal is signed by no key that this log names";
const OF_ANOTHER = "a stored seal is of another workspace";
const DAMAGED = "the given seal is damaged: its signature is not right";

/** To be given seals in the order of their sizes, before the events that they cover; then call {@link finish}. */
export class SealAudit {
  readonly #options: SealAuditOptions;
  readonly #report: (problem: Problem) => void;
  readonly #own: Seal[] = [];
  readonly #anchors: Seal[] = [];
  /** The fingerprints of the keys that the log names, with the tree size from which each may sign. */
  readonly #named = new Map<string, number>();
  /** The available keys that the log names, by fingerprint. */
  readonly #keys = new Map<string, Uint8Array>();
  readonly #offered: Uint8Array[] = [];
  readonly #trusted = new Set<string>();
  readonly #epochs = new Epochs();
  /** Whether all restores of the log are known, because an export's seal proves them. */
  #restoresShown = false;
  readonly #witnessed: WitnessedSeals;
  #newestSize = 0;
  #sealedThrough: number | null = null;
  /** Whether a trusted key made any of the seals. (The seal of an export without events covers none of it.) */
  #signed = false;
  #anchoredThrough: number | null = null;
  #checked = 0;
  #unverified = 0;
  readonly #undetermined: string[] = [];
  /** The smallest tree size with which a seal must be compared; Infinity when none must. */
  nextSize = Number.POSITIVE_INFINITY;

  constructor(options: SealAuditOptions, report: (problem: Problem) => void) {
    this.#options = options;
    this.#report = report;
    this.#witnessed = new WitnessedSeals(options.witnesses ?? []);
    for (const key of options.offered) this.offerKey(key);
    for (const key of options.trusted) {
      this.#keys.set(fingerprintOf(key), key);
      this.#trusted.add(fingerprintOf(key));
    }
  }

  /** Adds stored seals, in the order in which they were made. */
  expect(seals: readonly Seal[]): void {
    for (const seal of seals) {
      if (seal.size < this.#newestSize) {
        this.#problem("seal_invalid", seal, "a seal covers fewer events than the one made before it");
        continue;
      }
      this.#newestSize = seal.size;
      this.#own.push(seal);
    }
    this.#wait();
  }

  /** Adds a seal that the auditor kept elsewhere. */
  anchor(seal: Seal): void {
    this.#anchors.push(seal);
    this.#anchors.sort((a, b) => a.size - b.size);
    this.#wait();
  }

  /** Adds a key that came with the evidence, 32 raw bytes. */
  offerKey(key: Uint8Array): void {
    this.#offered.push(key);
    this.#keys.set(fingerprintOf(key), key);
  }

  /** Adds the keys of the log in order, each of which is announced under a seal by the previous key. */
  follow(keys: readonly Uint8Array[]): void {
    for (const key of keys) this.offerKey(key);
    const from = keys.findIndex((key) => this.#trusted.has(fingerprintOf(key)));
    if (from >= 0) for (const key of keys.slice(from)) this.#trusted.add(fingerprintOf(key));
  }

  /** Adds a sealing key that an event names. */
  nameKey(key: NamedKey): void {
    const { fingerprint, seq } = key;
    this.#epochs.noteKey(key);
    if (!this.#named.has(fingerprint)) this.#named.set(fingerprint, seq === 0 ? 0 : seq + 1);
    if (seq === 0 && this.#options.trusted.length === 0) this.#trusted.add(fingerprint);
  }

  /** Adds a restore from a backup. Returns what is wrong with the epoch that it begins, or null. */
  noteRestore(restore: DeclaredRestore): string | null {
    return this.#epochs.noteRestore(restore);
  }

  /** Drops the restores so far: all restores of the log follow, which the seal of the export proves. */
  forgetRestores(): void {
    this.#epochs.forgetRestores();
    this.#restoresShown = true;
  }

  /** Compares every seal of this size with the tree. */
  reached(tree: { size: number; root: Uint8Array }, workspaceId: string): void {
    while (this.#own[0]?.size === tree.size) this.#compareOwn(this.#own.shift() as Seal, tree.root, workspaceId);
    while (this.#anchors[0]?.size === tree.size) {
      const through = tree.size > 0 ? tree.size - 1 : null;
      this.compareAnchor(this.#anchors.shift() as Seal, tree.root, workspaceId, through, null);
    }
    this.#wait();
  }

  /**
   * Accepts a seal whose root was proved, without the whole tree, to cover event `through` and the events that were fed
   * before it.
   *
   * @param whole whether all epochs under the seal are known
   * @param key the key that signed it, or the first of those that lead to it, if all events under the seal were fed, so
   *   that they name it
   */
  proved(seal: Seal, through: number | null, whole: boolean, key: Uint8Array | null): void {
    this.#checked += 1;
    if (key !== null && this.#named.size > 0 && !this.#named.has(fingerprintOf(key)))
      this.#problem("seal_signature", seal, UNNAMED);
    else this.#checkSignature(seal, through, whole);
    if (!this.#witnessed.note(seal)) this.#problem("seal_signature", seal, "a witness's cosignature is not right");
  }

  /** Drops the remaining seals, since the log is so damaged that nothing can be compared. */
  abandon(): void {
    this.#own.length = 0;
    this.#anchors.length = 0;
    this.#undetermined.push("events are missing or repeated, so later seals could not be compared with the log");
    this.#wait();
  }

  /**
   * Removes and returns the auditor's seals that were not compared yet, and cannot be compared with the events here.
   */
  takeAnchors(): Seal[] {
    const waiting = this.#anchors.splice(0);
    this.#wait();
    return waiting;
  }

  /** Adds a requested check whose result cannot be established. */
  cannotTell(reason: string): void {
    this.#undetermined.push(reason);
  }

  /** Checks a seal's signature with the available keys. */
  signatureOf(seal: Seal): "good" | "bad" | "absent" {
    const verdicts = [...this.#keys].map(([fingerprint, key]) => ({ fingerprint, verdict: checkSeal(seal, key) }));
    if (verdicts.some(({ verdict }) => verdict === "bad")) return "bad";
    const isTrusted = (fingerprint: string) => this.#trusted.size === 0 || this.#trusted.has(fingerprint);
    return verdicts.some(({ fingerprint, verdict }) => verdict === "good" && isTrusted(fingerprint))
      ? "good"
      : "absent";
  }

  /** Returns what the seals establish. Remaining seals cover more events than the log has. */
  finish(workspaceId: string | null): SealReport {
    for (const seal of this.#own) {
      // A seal that is wrong by itself does not say anything about the end of the log.
      const isOther = workspaceId !== null && sealedWorkspace(seal) !== workspaceId;
      if (isOther) this.#problem("seal_invalid", seal, OF_ANOTHER);
      else if (this.signatureOf(seal) === "bad") this.#problem("seal_signature", seal, BAD_SIGNATURE);
      else this.#beyond(seal);
    }
    for (const seal of this.#anchors) {
      if (this.#isDamaged(seal)) this.#undetermined.push(DAMAGED);
      else if (!this.#epochs.takeLost(seal, true) && !this.#rolledBack(seal)) this.#beyond(seal);
    }
    const proved = this.#restoresShown && this.#signed ? Number.POSITIVE_INFINITY : (this.#sealedThrough ?? -1);
    const { explained, unproved } = this.#epochs.lost(proved);
    for (const { seal, message } of unproved) this.#problem("rolled_back", seal, message);
    if (this.#options.trusted.length > 0 && !this.#signed) this.#undetermined.push(this.#whyNoneSigned());
    return {
      sealedThrough: this.#sealedThrough,
      anchoredThrough: this.#anchoredThrough,
      keyGiven: this.#options.trusted.length > 0,
      checked: this.#checked,
      unverified: this.#unverified,
      undetermined: this.#undetermined,
      witnesses: this.#witnessed.found,
      stamped: this.#witnessed.stamped,
      explained,
    };
  }

  /** Returns why no seal leads to a key that the auditor trusts. */
  #whyNoneSigned(): string {
    // A fingerprint and a raw key have the same form.
    const named = new Set([...this.#named.keys(), ...this.#offered.map(fingerprintOf)]);
    if (this.#options.trusted.some((key) => named.has(Buffer.from(key).toString("hex"))))
      return "the given key is the fingerprint of this log's key: give the key itself";
    if (this.#options.trusted.some((key) => named.has(fingerprintOf(key))))
      return "the given key is one of this log's, and no seal here is by it or a later one: give an earlier key";
    if (this.#checked === 0) return "there is no seal that the given key could have signed";
    return "the given key does not lead to the key that sealed this log: it is another log's key, or somebody replaced this log and its seals";
  }

  #compareOwn(seal: Seal, root: Uint8Array, workspaceId: string): void {
    this.#checked += 1;
    if (sealedWorkspace(seal) !== workspaceId) {
      this.#problem("seal_invalid", seal, OF_ANOTHER);
    } else if (!sameHash(seal.root, root)) {
      // An edited seal does not say anything about the events.
      if (this.signatureOf(seal) === "bad") this.#problem("seal_signature", seal, BAD_SIGNATURE);
      else this.#problem("root_mismatch", seal, `the first ${seal.size} events are not the ones that were sealed`);
    } else {
      this.#checkSignature(seal, seal.size > 0 ? seal.size - 1 : null, true);
      if (!this.#witnessed.note(seal)) this.#problem("seal_signature", seal, "a witness's cosignature is not right");
    }
  }

  #checkSignature(seal: Seal, through: number | null, whole: boolean): void {
    const foreign = this.#epochs.isForeign(seal, whole);
    let missing = this.#named.size === 0;
    const candidates = new Set([...this.#trusted, ...this.#named.keys()]);
    for (const fingerprint of candidates) {
      if ((this.#named.get(fingerprint) ?? 0) > seal.size) continue;
      const key = this.#keys.get(fingerprint);
      const verdict = key === undefined ? "absent" : checkSeal(seal, key);
      missing ||= key === undefined;
      if (verdict === "bad") this.#problem("seal_signature", seal, BAD_SIGNATURE);
      else if (verdict === "good" && foreign) this.#problem("seal_origin", seal, FOREIGN);
      else if (verdict === "good" && this.#trusted.has(fingerprint)) this.#sealed(seal, through);
      if (verdict !== "absent") return;
    }
    // If the log names no key, a key that came with it proves nothing, but its signature must be valid.
    const enclosed = this.#named.size === 0 ? this.#offered.map((key) => checkSeal(seal, key)) : [];
    if (enclosed.includes("bad")) this.#problem("seal_signature", seal, BAD_SIGNATURE);
    else if (enclosed.length > 0 && !enclosed.includes("good")) {
      this.#problem("seal_signature", seal, "the key that came with the seal did not sign it");
    } else if (!missing) this.#problem("seal_signature", seal, UNNAMED);
    else if (foreign) this.#problem("seal_origin", seal, FOREIGN);
    else this.#unverified += 1;
  }

  /**
   * Records a good seal by a trusted key: the events that it covers are sealed, and the keys that they name are
   * trusted.
   */
  #sealed(seal: Seal, through: number | null): void {
    this.#signed = true;
    if (through !== null) this.#sealedThrough = Math.max(this.#sealedThrough ?? 0, through);
    for (const [fingerprint, from] of this.#named) if (from <= seal.size) this.#trusted.add(fingerprint);
  }

  /**
   * Compares a seal of the auditor with the root of its tree.
   *
   * @param through the last event here that it covers
   * @param own the seal from which the root is known; null when all events were fed
   */
  compareAnchor(seal: Seal, root: Uint8Array, workspaceId: string, through: number | null, own: Seal | null): void {
    const whole = own === null;
    if (sealedWorkspace(seal) !== workspaceId) {
      this.#undetermined.push("the given seal is of another workspace");
    } else if (this.#isDamaged(seal)) {
      this.#undetermined.push(DAMAGED);
    } else if (this.#epochs.takeLost(seal, whole)) {
      return;
    } else if (this.#epochs.isForeign(seal, whole) || (own !== null && own.origin !== seal.origin)) {
      this.#foreign(seal);
    } else if (sameHash(seal.root, root)) {
      if (!this.#witnessed.note(seal)) {
        this.#undetermined.push("the given seal is damaged: a witness's cosignature is not right");
      } else if (through !== null) this.#anchoredThrough = Math.max(this.#anchoredThrough ?? 0, through);
    } else if (!this.#rolledBack(seal)) {
      this.#problem("anchor_mismatch", seal, `the first ${seal.size} events are not the ones of the given seal`);
    }
  }

  /**
   * Accepts an auditor's seal of another epoch than the one in force at its size, in an export whose seal by a trusted
   * key proves all restores. Returns false for any other seal, which must be compared with events.
   */
  takeOtherEpoch(seal: Seal): boolean {
    if (!this.#restoresShown || !this.#signed || this.#isDamaged(seal)) return false;
    if (this.#epochs.takeLost(seal, false)) return true;
    if (!this.#epochs.isForeign(seal, false)) return false;
    this.#foreign(seal);
    return true;
  }

  #foreign(seal: Seal): void {
    if (!this.#rolledBack(seal)) this.#problem("seal_origin", seal, FOREIGN);
  }

  /** Whether the signature of an auditor's seal is wrong. */
  #isDamaged(seal: Seal): boolean {
    return this.#options.trusted.some((key) => checkSeal(seal, key) === "bad");
  }

  #beyond(seal: Seal): void {
    this.#problem("seal_beyond_log", seal, `a seal covers ${seal.size} events, more than the log holds`);
  }

  /**
   * Reports a kept seal that the log does not continue, if a declared restore may be the reason. Returns whether it is.
   */
  #rolledBack(seal: Seal): boolean {
    const message = this.#epochs.whyRolledBack(seal);
    if (message !== null) this.#problem("rolled_back", seal, message);
    return message !== null;
  }

  #problem(code: ProblemCode, seal: Seal, message: string): void {
    this.#report({ code, seq: seal.size > 0 ? seal.size - 1 : null, id: null, message });
  }

  #wait(): void {
    const next = (seals: readonly Seal[]): number => seals[0]?.size ?? Number.POSITIVE_INFINITY;
    this.nextSize = Math.min(next(this.#own), next(this.#anchors));
  }
}
