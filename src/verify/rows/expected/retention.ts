/** Computes which entries of an agent had expired, by the agent's configs and the workspace's policies. */
import type { JsonObject } from "../../../json.ts";
import { policiesOf } from "../../../screen/policies.ts";
import { RETENTION, retentionCutoff, type WithRetention } from "../../../screen/retention.ts";
import { firstAtOrAfter } from "./positions.ts";

/** A version of the workspace's policies. It is in force for the events after the one that made it. */
export interface PoliciesVersion {
  /** The position of that event. */
  madeAt: number;
  /** Null without a retention. */
  policies: WithRetention | null;
}

export class Retention {
  readonly #positions: Float64Array;

  /**
   * @param configs the policies by config version (`v1` …), of the versions that have a retention
   * @param workspacePolicies in the order of their positions
   */
  constructor(
    private readonly configs: ReadonlyMap<string, WithRetention>,
    private readonly workspacePolicies: readonly PoliciesVersion[],
  ) {
    this.#positions = Float64Array.from(workspacePolicies, ({ madeAt }) => madeAt);
    this.isNone = configs.size === 0 && workspacePolicies.every(({ policies }) => policies === null);
  }

  /** Whether there was never a retention. */
  readonly isNone: boolean;

  /**
   * Returns the moment, ms, such that entries written before it had expired under a config, at a position and time; -1
   * for none.
   */
  cutoff(configVersion: string | null, seq: number, timeMs: number): number {
    if (this.isNone) return -1;
    const own = configVersion === null ? undefined : this.configs.get(configVersion);
    const workspacePolicies = this.workspacePolicies[firstAtOrAfter(this.#positions, seq) - 1]?.policies;
    return Math.max(cutoffUnder(own, timeMs), cutoffUnder(workspacePolicies, timeMs));
  }
}

const cutoffUnder = (policies: WithRetention | null | undefined, timeMs: number): number =>
  policies == null ? -1 : retentionCutoff(policies, timeMs);

export const NO_RETENTION = new Retention(new Map(), []);

/** Returns the policies of a stored config; null without a retention, or when the text is not a config. */
export function retentionOf(config: string | null): WithRetention | null {
  try {
    const policies = config === null ? null : policiesOf(JSON.parse(config) as JsonObject);
    return policies?.[RETENTION] == null ? null : policies;
  } catch {
    return null; // text that is not a config differs from its digest, which is reported with the config
  }
}
