/**
 * Reads again, in the transaction of an operation, the row of the key or the member that authorises it. So an operation and
 * the end of a right have one order, whichever process ended it.
 */
import type { Role } from "../../../operation-facts.ts";
import { Problem, secondFactorMissing } from "../../../problem.ts";
import type { Connection } from "../../../store/connection.ts";
import { isOfKey, type Principal } from "../../writer/contract.ts";
import { keyState } from "./keys.ts";

/** What decides whether a key may still act. */
interface KeyLimits {
  expiresAt: number | null;
  endedSeq: number | null;
  networks: string | null;
}

/** The keys and members that have acted in a workspace, as its file has them in the open transaction. */
export class ActingRights {
  readonly #keys = new Map<string, KeyLimits | null>();
  readonly #roles = new Map<string, Role | null>();
  /** Whether members need a second factor; null while it was not read. */
  #needsFactor: boolean | null = null;

  constructor(private readonly connection: Connection) {}

  /** Forgets all: the rows may have changed. */
  clear(): void {
    this.#keys.clear();
    this.#roles.clear();
    this.#needsFactor = null;
  }

  /** Returns the problem if a request's right has ended or changed since the request was authenticated; otherwise null. */
  problemOf(principal: Principal, nowMs: number): Problem | null {
    return isOfKey(principal) ? this.#problemOfKey(principal, nowMs) : this.#problemOfMember(principal);
  }

  #problemOfKey({ actor, networks }: Principal, nowMs: number): Problem | null {
    const key = this.#findKey(actor);
    const isInForce = key !== null && keyState({ ...key, revokedAt: key.endedSeq }, nowMs) === "in_force";
    const known = networks === undefined ? null : JSON.stringify(networks);
    if (isInForce && key.networks === known) return null;
    return new Problem("unauthenticated", isInForce ? "The API key has just changed." : "The API key has ended.");
  }

  #problemOfMember({ actor, role, hasSecondFactor }: Principal): Problem | null {
    if (this.#findRole(actor) !== role) {
      return new Problem("forbidden", "Your role in this workspace has just changed, or ended.");
    }
    this.#needsFactor ??= this.connection.value("SELECT 1 FROM workspace WHERE second_factor_since IS NOT NULL") === 1;
    return this.#needsFactor && hasSecondFactor !== true ? secondFactorMissing() : null;
  }

  #findKey(id: string): KeyLimits | null {
    return this.#keys.getOrInsertComputed(id, () => {
      const sql = "SELECT expires_at, ended_seq, networks FROM keys WHERE id = ?";
      const row = this.connection.get<[number | null, number | null, string | null]>(sql, [id]);
      return row === undefined ? null : { expiresAt: row[0], endedSeq: row[1], networks: row[2] };
    });
  }

  #findRole(id: string): Role | null {
    const sql = "SELECT role FROM members WHERE account_id = ?";
    return this.#roles.getOrInsertComputed(id, () => this.connection.value<Role>(sql, [id]) ?? null);
  }
}
