/**
 * The epochs of a log: the origin in force at each size of its tree, and the seals over lost events that its restores
 * name. Keys and restores are added in order of seq. For a window, only those inside it are known.
 */
import { type DeclaredRestore, epochProblem, isNamedLost } from "../../log/restores.ts";
import { parseOrigin, type Seal } from "../../log/seal.ts";

/** A sealing key that event `seq` names by its fingerprint, and the origin that the event states. */
export interface NamedKey {
  fingerprint: string;
  seq: number;
  origin: string | null;
}

/** An auditor's seal over lost events, and the restore at event `seq`, which names it. */
export interface ExplainedSeal {
  origin: string;
  size: number;
  seq: number;
}

export const FOREIGN = "a seal is of another epoch: its origin is not the one that was in force at its size";

interface Epoch {
  /** The smallest tree size that is sealed under the origin. */
  from: number;
  /** Null when unknown: a window has no genesis. */
  origin: string | null;
}

export class Epochs {
  #epochs: Epoch[] = [{ from: 0, origin: null }];
  /** The restores, with the epoch that each one ended. */
  readonly #restores: { restore: DeclaredRestore; ended: Epoch }[] = [];
  readonly #keys: NamedKey[] = [];
  /** Kept seals that a restore names, with the position of the restore. */
  readonly #lost: { seal: Seal; seq: number }[] = [];

  noteKey(key: NamedKey): void {
    this.#keys.push(key);
    if (key.seq === 0) this.#present.origin = key.origin;
  }

  /** Adds a restore. Returns what is wrong with the epoch that it begins, or null. */
  noteRestore(restore: DeclaredRestore): string | null {
    const { seq, epoch } = restore;
    const ended = this.#present;
    const signingKey = this.#keys.findLast((key) => key.seq < seq)?.fingerprint ?? null;
    const problem = epochProblem(restore, { origin: ended.origin, signingKey });
    this.#restores.push({ restore, ended });
    if (epoch === null) this.#epochs.push({ from: seq + 1, origin: null });
    else if (problem === null && epoch !== "malformed") {
      ended.origin = epoch.previous_origin;
      this.#epochs.push({ from: seq + 1, origin: epoch.origin });
    }
    return problem;
  }

  /** Drops keys and restores, since the caller adds all restores of the log next. Accepted seals stay accepted. */
  forgetRestores(): void {
    this.#epochs = [{ from: 0, origin: null }];
    this.#restores.length = 0;
    this.#keys.length = 0;
  }

  /**
   * Reports whether a seal's origin is not the one in force at its size. A window may lack epochs that began before the
   * seal's size.
   */
  isForeign({ origin, size }: Seal, whole: boolean): boolean {
    const inForce = this.#epochs.findLast(({ from }) => from <= size)?.origin ?? null;
    if (inForce === null || origin === inForce) return false;
    const [own, expected] = [parseOrigin(origin), parseOrigin(inForce)];
    return whole || own.base !== expected.base || own.epoch < expected.epoch;
  }

  /** Accepts a kept seal of another epoch if a restore names it as one over lost events. Returns false if none does. */
  takeLost(seal: Seal, whole: boolean): boolean {
    const found = this.isForeign(seal, whole) && this.#restores.find(({ restore }) => isNamedLost(restore, seal));
    if (found) this.#lost.push({ seal, seq: found.restore.seq });
    return Boolean(found);
  }

  /**
   * Returns the accepted kept seals. A restore explains them only under a seal by a trusted key: otherwise anyone who
   * can write the file could have added the restore.
   *
   * @param sealedThrough the last event under such a seal
   */
  lost(sealedThrough: number): { explained: ExplainedSeal[]; unproved: { seal: Seal; message: string }[] } {
    const isProved = ({ seq }: { seq: number }): boolean => seq <= sealedThrough;
    return {
      explained: this.#lost.filter(isProved).map(({ seal: { origin, size }, seq }) => ({ origin, size, seq })),
      unproved: this.#lost
        .filter((lost) => !isProved(lost))
        .map(({ seal, seq }) => ({
          seal,
          message: `the given seal covers ${seal.size} events. The restore at event ${seq} names it, but no seal by a trusted key covers this restore`,
        })),
    };
  }

  /**
   * Returns why the log may have been rolled back behind a kept seal that it does not continue: the seal covers a
   * declared restore that does not name it. Returns null when it covers no restore. The seal does not show which
   * restore it was, so the message names the first possible one.
   */
  whyRolledBack({ origin, size }: Seal): string | null {
    const over = this.#restores.find(
      ({ restore: { seq }, ended }) => seq < size && origin === (ended.origin ?? origin),
    );
    if (over === undefined) return null;
    const { seq } = over.restore;
    const lost = seq === size - 1 ? `event ${seq}` : `events ${seq} to ${size - 1}`;
    const are = seq === size - 1 ? "is" : "are";
    return `the given seal covers ${size} events. This log was put back from a backup at event ${seq} and went on otherwise: ${lost} under that seal ${are} not in it`;
  }

  get #present(): Epoch {
    return this.#epochs.at(-1) as Epoch;
  }
}
