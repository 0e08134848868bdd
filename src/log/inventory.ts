/**
 * What must be stored because the log says so: each config version that was made, each checkpoint
 * that was made and not deleted. Kept in a few numbers per chain, whatever the log's length.
 */
import type { JsonObject } from "../json.ts";
import { tookEffect } from "./contents.ts";
import type { AuditEventBody } from "./event.ts";
import { sha256Hex } from "./hash.ts";
import type { StoredContent } from "./rows.ts";

/** Operations whose details name a config version or checkpoints that must be accounted for. */
const LOOKED_AT = new Set([
  "config.update",
  "config.rollback",
  "checkpoint.create",
  "checkpoint.restore",
  "checkpoint.delete",
]);

const MODULUS = 1n << 256n;

/** Whether the inventory needs the details of this event. */
export function concernsInventory(event: AuditEventBody): boolean {
  return LOOKED_AT.has(event.operation) && tookEffect(event);
}

/** The inventory of one chain. */
export class Inventory {
  /** Live entries seen. */
  liveEntries = 0;
  // Sum of the hashes of the checkpoints that were made but are not stored, minus those that were
  // deleted: zero when the two sets are the same, without keeping either.
  #absent = 0n;
  #unknown = false;

  /** Whether every checkpoint that is not stored was deleted by an event, and no other. */
  get checkpointsBalance(): boolean {
    return this.#unknown || this.#absent === 0n;
  }

  /**
   * Takes an event that {@link concernsInventory}, with what is stored of it; says whether a config
   * version that it made is missing.
   */
  take(event: AuditEventBody, details: JsonObject | null, stored: readonly StoredContent[]): boolean {
    if (details === null) {
      this.#unknown ||= event.operation.startsWith("checkpoint.");
      return event.operation.startsWith("config.") && !stored.some(({ kind }) => kind === "config");
    }
    switch (event.operation) {
      case "checkpoint.delete":
        this.#count(details.checkpoint_id, -1n);
        return false;
      case "checkpoint.create":
        this.#made(details.checkpoint_id, stored);
        return false;
      case "checkpoint.restore":
        this.#made(details.safety_checkpoint_id, stored);
        if (details.config_version === undefined) return false;
    }
    return !stored.some(({ kind }) => kind === "config");
  }

  #made(id: unknown, stored: readonly StoredContent[]): void {
    const there = stored.some((content) => content.kind === "checkpoint" && content.checkpointId === id);
    if (!there) this.#count(id, 1n);
  }

  #count(id: unknown, sign: bigint): void {
    const hash = BigInt(`0x${sha256Hex(String(id))}`);
    this.#absent = (this.#absent + sign * hash + MODULUS) % MODULUS;
  }
}
