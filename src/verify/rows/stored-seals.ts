/**
 * Reads the stored seals and sealing keys of a log, and the seals in its seal file, while the events are read, so that
 * memory does not grow with their number.
 */

import type { FiledSeal } from "../../core/seals/seal-file.ts";
import { orNull } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import type { AuditEventBody } from "../../log/event.ts";
import { fingerprintOf, NoteError, parseVerifierKey, type VerifierKey } from "../../log/note.ts";
import { mayNameSealKey, parseSeal, type Seal } from "../../log/seal.ts";
import { decodeText } from "../../store/packed.ts";
import type { Reader } from "../../store/transaction.ts";
import { pages } from "../../store/walk.ts";
import { integer, textBytes } from "../columns.ts";
import type { LogVerifier } from "../events/log-verifier.ts";
import { allOf } from "../problems.ts";

const SEALS_AT_ONCE = 500;

const SEALS = { table: "seals", key: null };
const keyRow = (seq: number) => ({ table: "seal_keys", key: String(seq), names: [seq] });

type SealRow = [id: number, size: number | null, note: Buffer | null];

/** Passes seals to a verifier, a little ahead of the events that they cover. */
export class SealFeed {
  readonly #stored: AsyncGenerator<Seal>;
  #nextStored: Seal | null = null;
  #nextFiled: Seal | null = null;

  /** @param filed the seals of the workspace's seal file, if there is one */
  constructor(
    private readonly reader: Reader,
    private readonly verifier: LogVerifier,
    private filed: AsyncIterator<FiledSeal, Buffer> | null,
  ) {
    this.#stored = this.#readStored();
  }

  /** Passes on every seal over at most `size` events, by default all that are left. Returns their sizes. */
  async upTo(size = Number.POSITIVE_INFINITY): Promise<number[]> {
    const sizes: number[] = [];
    for (;;) {
      this.#nextStored ??= (await this.#stored.next()).value ?? null;
      this.#nextFiled ??= await this.#readFiled();
      const stored = this.#nextStored;
      const filed = this.#nextFiled;
      const next = stored === null || (filed !== null && filed.size < stored.size) ? filed : stored;
      if (next === null || next.size > size) return sizes;
      if (next === stored) this.#nextStored = null;
      else this.#nextFiled = null;
      this.verifier.expectSeals([next]);
      sizes.push(next.size);
    }
  }

  async *#readStored(): AsyncGenerator<Seal> {
    const sql = `SELECT id, ${integer("size")}, ${textBytes("note")} FROM seals WHERE id > ? ORDER BY id LIMIT ${SEALS_AT_ONCE}`;
    const read = (after: number) => this.reader.all<SealRow>(sql, [after]);
    for await (const rows of pages(Number.MIN_SAFE_INTEGER, SEALS_AT_ONCE, read, ([id]) => id)) {
      for (const [, size, note] of rows) {
        const seal = this.#parse(decodeText(note), size);
        if (seal !== null) yield seal;
      }
    }
  }

  #parse(note: string | null, size: number | null): Seal | null {
    try {
      const seal = parseSeal(note ?? "");
      if (seal.size === size) return seal;
      this.verifier.report("seal_invalid", null, null, "a stored seal's size is not that of its note", SEALS);
    } catch (error) {
      if (!(error instanceof NoteError)) throw error;
      this.verifier.report("seal_invalid", null, null, `a stored seal is not in order: ${error.message}`, SEALS);
    }
    return null;
  }

  /** Ends the reading of the file. @param rest the bytes after its last complete record */
  async #endFiled(rest: Buffer): Promise<null> {
    this.filed = null;
    const sql = "SELECT 1 FROM seals WHERE substr(CAST(note AS BLOB), 1, ?) = ?";
    // A crash may truncate the last record. It must be in the database, since a seal is stored there before it is
    // filed.
    if (rest.length > 0 && (await this.reader.get(sql, [rest.length, rest])) === undefined) {
      throw new NoteError("its end is no seal, and not the beginning of a stored one");
    }
    return null;
  }

  /** Returns the next seal of the file that is not also stored in the workspace. */
  async #readFiled(): Promise<Seal | null> {
    if (this.filed === null) return null;
    try {
      for (;;) {
        const { value, done } = await this.filed.next();
        if (done) return await this.#endFiled(value);
        const { seal } = value;
        const known = await this.reader.get("SELECT 1 FROM seals WHERE size = ? AND substr(note, 1, length(?)) = ?", [
          seal.size,
          seal.note.text,
          seal.note.text,
        ]);
        if (known === undefined) return seal;
      }
    } catch (error) {
      if (!(error instanceof NoteError)) throw error;
      // Reading ends at a record that is not a seal.
      this.filed = null;
      this.verifier.report("seal_invalid", null, null, `the file of seals is not in order: ${error.message}`);
      return null;
    }
  }
}

/** Compares the stored sealing keys with the events that name them. */
export class KeyCheck {
  readonly #named: { seq: number; fingerprint: unknown; origin: unknown }[] = [];

  /** Adds an event; to be called for each. `details` is null when they are erased or not genuine. */
  add({ operation, seq }: AuditEventBody, details: JsonObject | null): void {
    if (!mayNameSealKey(operation)) return;
    const { signing_key: fingerprint, origin } = details ?? {};
    this.#named.push({ seq, fingerprint, origin });
  }

  async compare(reader: Reader, verifier: LogVerifier): Promise<void> {
    const rows = await readKeys(reader);
    for (const { seq, fingerprint, origin } of this.#named) {
      const row = rows.find(({ announcedSeq }) => announcedSeq === seq);
      if (row === undefined) {
        verifier.report("content_missing", null, seq, "the sealing key that this event names is gone", keyRow(seq));
      } else if (row.key === null || fingerprintOf(row.key.publicKey) !== fingerprint || row.key.name !== origin) {
        const message = "the stored sealing key is not the one that its event names";
        verifier.report("content_mismatch", null, seq, message, keyRow(seq));
      }
    }
    if (rows.length > this.#named.length) {
      verifier.report("content_orphan", null, null, "a sealing key is stored that no event names", allOf("seal_keys"));
    }
  }
}

/** Returns the stored sealing keys, null for malformed ones. A key counts only if the log names it. */
export async function readKeys(reader: Reader): Promise<{ announcedSeq: number; key: VerifierKey | null }[]> {
  const sql = `SELECT announced_seq, ${textBytes("verifier_key")} FROM seal_keys ORDER BY announced_seq LIMIT ${SEALS_AT_ONCE}`;
  return (await reader.all<[number, Buffer | null]>(sql)).map(([announcedSeq, bytes]) => {
    const key = orNull(NoteError, () => parseVerifierKey(decodeText(bytes) ?? ""));
    return { announcedSeq, key };
  });
}
