/**
 * Computes which entries of an agent had expired, and whether it had a history, by the agent's configs and the workspace's
 * policies.
 */
import type { JsonObject } from "../../../json.ts";
import { HISTORY, history, keepsHistory, type WithHistory } from "../../../screen/history.ts";
import { policiesOf } from "../../../screen/policies.ts";
import { RETENTION, retentionCutoff, type WithRetention } from "../../../screen/retention.ts";
import { firstAtOrAfter } from "./positions.ts";

/** A version of the workspace's policies. It is in force for the events after the one that made it. */
export interface PoliciesVersion {
  /** The position of that event. */
  madeAt: number;
  /** Null without either. */
  policies: KeepingPolicies | null;
}

/** What policies say of how long versions are kept. */
export type KeepingPolicies = WithRetention & WithHistory;

export class Retention {
  readonly #positions: Float64Array;

  /**
   * @param configs the policies by config version (`v1` …), of the versions that say how long versions are kept
   * @param workspacePolicies in the order of their positions
   */
  constructor(
    private readonly configs: ReadonlyMap<string, KeepingPolicies>,
    private readonly workspacePolicies: readonly PoliciesVersion[],
  ) {
    this.#positions = Float64Array.from(workspacePolicies, ({ madeAt }) => madeAt);
    const all = [...configs.values(), ...workspacePolicies.map(({ policies }) => policies)];
    this.isNone = all.every((policies) => policies?.[RETENTION] == null);
  }

  /** Whether there was never a retention. */
  readonly isNone: boolean;

  /**
   * Returns the moment, ms, such that entries written before it had expired under a config, at a position and time; -1
   * for none.
   */
  cutoff(configVersion: string | null, seq: number, timeMs: number): number {
    if (this.isNone) return -1;
    const [own, ofWorkspace] = this.#inForce(configVersion, seq);
    return Math.max(cutoffUnder(own, timeMs), cutoffUnder(ofWorkspace, timeMs));
  }

  /** Whether a version that an event ends is kept as history, under a config and at a position. */
  keepsHistory(configVersion: string | null, seq: number): boolean {
    const [own, ofWorkspace] = this.#inForce(configVersion, seq);
    return keepsHistory({ [HISTORY]: history.stricter(own?.[HISTORY] ?? null, ofWorkspace?.[HISTORY] ?? null) });
  }

  #inForce(configVersion: string | null, seq: number) {
    const own = configVersion === null ? undefined : this.configs.get(configVersion);
    return [own, this.workspacePolicies[firstAtOrAfter(this.#positions, seq) - 1]?.policies] as const;
  }
}

const cutoffUnder = (policies: WithRetention | null | undefined, timeMs: number): number =>
  policies == null ? -1 : retentionCutoff(policies, timeMs);

export const NO_RETENTION = new Retention(new Map(), []);

/** Returns the policies of a stored config; null when it says nothing of this, or the text is not a config. */
export function keepingOf(config: string | null): KeepingPolicies | null {
  try {
    const policies = config === null ? null : policiesOf(JSON.parse(config) as JsonObject);
    return policies?.[RETENTION] == null && policies?.[HISTORY] == null ? null : policies;
  } catch {
    return null; // text that is not a config differs from its digest, which is reported with the config
  }
}
