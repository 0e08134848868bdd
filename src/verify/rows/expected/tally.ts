/** What the log says must be stored for each agent, counted while the log is read. */
import type { JsonObject } from "../../../json.ts";
import type { AuditEventBody } from "../../../log/event.ts";
import { MultisetPrint } from "./multiset.ts";

/** For one agent. Nothing in it grows with the log. */
export interface AgentTally {
  /** Config versions made. */
  configs: number;
  /** Checkpoints made and not deleted, safety checkpoints included. */
  checkpoints: number;
  /** The ids of these. */
  checkpointIds: MultisetPrint;
  /** Position of the newest event that removed entries from history; -1 when there is none. */
  lastRemoval: number;
  /** Details that would be needed to count are erased. */
  uncertain: boolean;
}

/** Operations that remove entries from checkpoints too. */
const REMOVALS = new Set(["data.expire", "data.erase"]);

/** Operations that are counted. */
export const TALLIED: readonly string[] = [
  ...["config.update", "config.rollback"],
  ...["checkpoint.create", "checkpoint.delete", "checkpoint.restore"],
  ...REMOVALS,
];

export class LogTally {
  readonly #agents = new Map<string | null, AgentTally>();

  /** Events that would have been counted are pruned: counts and removals are not known. */
  partial = false;

  /** What is known of an agent; of one without events, nothing. */
  of(agentId: string | null): Readonly<AgentTally> {
    const tally = this.#agents.get(agentId) ?? newTally();
    return this.partial ? { ...tally, uncertain: true, lastRemoval: Number.POSITIVE_INFINITY } : tally;
  }

  /** Takes an event; `details` are null where they are erased or not genuine. */
  add(event: AuditEventBody, details: string | null): void {
    if (event.result !== "ok") return;
    const { operation } = event;
    if (operation === "config.update" || operation === "config.rollback") {
      this.#tally(event.agent_id).configs += 1;
    } else if (operation === "checkpoint.create" || operation === "checkpoint.delete") {
      this.#checkpoint(event, details, operation === "checkpoint.create" ? 1 : -1, "checkpoint_id");
    } else if (operation === "checkpoint.restore") {
      const known = this.#checkpoint(event, details, 1, "safety_checkpoint_id");
      if (typeof known?.config_version === "string") this.#tally(event.agent_id).configs += 1;
    } else if (REMOVALS.has(operation)) {
      this.#tally(event.agent_id).lastRemoval = event.seq;
    }
  }

  #checkpoint(
    event: AuditEventBody,
    details: string | null,
    sign: 1 | -1,
    member: "checkpoint_id" | "safety_checkpoint_id",
  ): JsonObject | null {
    const tally = this.#tally(event.agent_id);
    tally.checkpoints += sign;
    const known = details === null ? null : (JSON.parse(details) as JsonObject);
    const id = known?.[member];
    if (typeof id === "string") tally.checkpointIds.add(id, sign);
    else tally.uncertain = true;
    return known;
  }

  #tally(agentId: string | null): AgentTally {
    let tally = this.#agents.get(agentId);
    if (tally === undefined) {
      tally = newTally();
      this.#agents.set(agentId, tally);
    }
    return tally;
  }
}

function newTally(): AgentTally {
  return {
    configs: 0,
    checkpoints: 0,
    checkpointIds: new MultisetPrint(),
    lastRemoval: -1,
    uncertain: false,
  };
}
