/** Determines which witnesses have cosigned seals of a log, and which seals have time stamps. */
import { orNull } from "../../failure.ts";
import { hexId, NoteError, type VerifierKey } from "../../log/note.ts";
import type { Seal } from "../../log/seal.ts";
import { timestampLines } from "../../log/timestamp.ts";
import { cosignedAt } from "../../log/witness.ts";

/** The newest seal of a log that a witness has cosigned. */
export interface Witnessing {
  name: string;
  /** Which of the keys under this name, as verifier keys show it. */
  key_id: string;
  /** The last event under that seal. */
  through: number;
  /** When it was cosigned, RFC 3339. */
  time: string;
}

/** Returns which of the witnesses have cosigned a seal. @throws NoteError when a cosignature is wrong */
export function witnessesOf(seal: Seal, witnesses: readonly VerifierKey[]): Witnessing[] {
  return witnesses.flatMap((witness): Witnessing[] => {
    const time = cosignedAt(seal, witness);
    if (time === null || seal.size === 0) return [];
    // A year has four digits in RFC 3339.
    const ms = Math.min(Number(time) * 1000, Date.UTC(9999, 11, 31, 23, 59, 59));
    const { name, keyId } = witness;
    return [{ name, key_id: hexId(keyId), through: seal.size - 1, time: new Date(ms).toISOString() }];
  });
}

/** Collects the newest seal that each given witness has cosigned, and the newest that each authority has stamped. */
export class WitnessedSeals {
  readonly #found = new Map<string, Witnessing>();
  readonly #stamped = new Map<string, Seal>();

  constructor(private readonly witnesses: readonly VerifierKey[]) {}

  /** Records the witnesses that have cosigned a seal of the log. Returns false when a cosignature is wrong. */
  note(seal: Seal): boolean {
    for (const { name } of seal.size === 0 ? [] : timestampLines(seal)) {
      if (seal.size >= (this.#stamped.get(name)?.size ?? 0)) this.#stamped.set(name, seal);
    }
    const witnesses = orNull(NoteError, () => witnessesOf(seal, this.witnesses));
    for (const found of witnesses ?? []) {
      const key = `${found.name} ${found.key_id}`;
      if (found.through >= (this.#found.get(key)?.through ?? 0)) this.#found.set(key, found);
    }
    return witnesses !== null;
  }

  /** The newest seals with time stamps, which nobody has checked yet. */
  get stamped(): Seal[] {
    return [...new Set(this.#stamped.values())];
  }

  /** The given witnesses that have cosigned a seal; null when no witnesses were given. */
  get found(): Witnessing[] | null {
    return this.witnesses.length > 0 ? [...this.#found.values()] : null;
  }
}
