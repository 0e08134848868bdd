/** From when on what an agent wrote had expired, as the configs of the agent and the policies of the workspace say. */
import type { JsonObject } from "../../../json.ts";
import { policiesOf } from "../../../policy/policies.ts";
import { RETENTION, retentionCutoff, type WithRetention } from "../../../policy/retention.ts";
import { firstAtOrAfter } from "./positions.ts";

/** A version of the workspace's policies: in force for the events after the one that made it. */
export interface FloorVersion {
  /** The position of that event. */
  madeAt: number;
  /** Null without a retention. */
  policies: WithRetention | null;
}

export class Retention {
  readonly #positions: Float64Array;

  /**
   * @param configs the policies by config version (`v1` …), of the versions that have a retention
   * @param floor in the order of their positions
   */
  constructor(
    private readonly configs: ReadonlyMap<string, WithRetention>,
    private readonly floor: readonly FloorVersion[],
  ) {
    this.#positions = Float64Array.from(floor, ({ madeAt }) => madeAt);
    this.isNone = configs.size === 0 && floor.every(({ policies }) => policies === null);
  }

  /** Whether nothing ever expires by its age. */
  readonly isNone: boolean;

  /** Entries written before this moment (ms) were expired under a config, at a position and time; -1: none. */
  cutoff(configVersion: string | null, seq: number, timeMs: number): number {
    if (this.isNone) return -1;
    const own = configVersion === null ? undefined : this.configs.get(configVersion);
    const floor = this.floor[firstAtOrAfter(this.#positions, seq) - 1]?.policies;
    return Math.max(cutoffUnder(own, timeMs), cutoffUnder(floor, timeMs));
  }
}

const cutoffUnder = (policies: WithRetention | null | undefined, timeMs: number): number =>
  policies == null ? -1 : retentionCutoff(policies, timeMs);

export const NO_RETENTION = new Retention(new Map(), []);

/** The policies of a stored config; null without a retention, and when the text is no config. */
export function retentionOf(config: string | null): WithRetention | null {
  try {
    const policies = config === null ? null : policiesOf(JSON.parse(config) as JsonObject);
    return policies?.[RETENTION] == null ? null : policies;
  } catch {
    return null; // text that is no config does not fit its digest, which is reported with the config
  }
}
