/** Versions of keys, and their names for sums. */
import { randomBytes } from "node:crypto";
import { SHA256 } from "bun";
import type { StoredLife } from "../entry.ts";
import type { AgentHistory } from "./history.ts";

/** Stands for the expiry time of an entry that does not expire. */
export const NEVER = Number.POSITIVE_INFINITY;

/** A version of a key. */
export interface Version {
  written: number;
  /** The position of the write, or of the restore that brought it back. */
  from: number;
  timeMs: number;
  created: number;
  createdMs: number;
  /** When it expires, ms; NEVER for most. */
  expiresMs: number;
  /** The digest of the content, hex. */
  digest: string;
}

/**
 * Returns the name of a version in a sum: its whole life. The key's beginning is left out if the log does not determine
 * it.
 */
export function nameOf(
  history: AgentHistory,
  key: string,
  { written, from, created }: Pick<Version, "written" | "from" | "created">,
  to: number | null,
): string {
  return `${written} ${from} ${to ?? "-"} ${history.knowsOrigins(from) ? created : "-"} ${key}`;
}

/** Returns the name of a stored row in a sum; null when it is left out, since the log does not determine it. */
export function nameOfRow(history: AgentHistory, row: StoredLife): string | null {
  if (row.updated_at < history.facts.sweptBeforeMs) return null;
  if (row.expires_at !== null && row.expires_at <= history.sweptUntilMs) return null;
  if (history.isUncertain(row.live_from, row.live_to ?? Number.POSITIVE_INFINITY)) return null;
  const version = { written: row.written_seq, from: row.live_from, created: row.created_seq };
  return nameOf(history, row.key, version, row.live_to);
}

/** Returns the name of an ended version in a sum of whole rows: its life, its times, and the digest of its content. */
export const wholeName = (
  key: string,
  { written, created, timeMs, createdMs, digest }: Omit<Version, "from" | "expiresMs">,
  to: number,
): string => `${written} ${to} ${created} ${timeMs} ${createdMs} ${digest} ${key}`;

const SECRET = randomBytes(32).toString("hex");
/** Each half of the sum is kept below this, so that it stays exact in a double. */
const MODULUS = 2 ** 48;
const HALF_BYTES = 6;

const digest = Buffer.alloc(SHA256.byteLength);

/**
 * Compares two multisets of names without keeping them, by the sum of the names' hashes. The hash is keyed with a
 * secret of this process, so nobody can choose names with equal sums.
 */
export class MultisetPrint {
  #low = 0;
  #high = 0;

  add(name: string): void {
    // No HMAC is needed, since the secret has a fixed length, and no hash is ever shown.
    SHA256.hash(SECRET + name, digest);
    this.#low = (this.#low + digest.readUIntBE(0, HALF_BYTES)) % MODULUS;
    this.#high = (this.#high + digest.readUIntBE(HALF_BYTES, HALF_BYTES)) % MODULUS;
  }

  equals(other: MultisetPrint): boolean {
    return this.#low === other.#low && this.#high === other.#high;
  }
}

/** The names of an agent's versions that must be stored. */
export class ExpectedNames {
  readonly #print = new MultisetPrint();
  /** Versions with an expiry time. Which of them must be stored is known only after the whole log was read. */
  #ending: [expiresMs: number, name: string][] = [];

  add(name: string, expiresMs: number): void {
    if (expiresMs === NEVER) this.#print.add(name);
    else this.#ending.push([expiresMs, name]);
  }

  /** Returns the sum after the last event, without versions that have expired and may have been removed. */
  print(sweptUntilMs: number): MultisetPrint {
    for (const [expiresMs, name] of this.#ending) if (expiresMs > sweptUntilMs) this.#print.add(name);
    this.#ending = [];
    return this.#print;
  }
}
