/** The question to a person before a restore: which agent, which checkpoint, and what would change, without values. */

import type { Principal } from "../../../core/writer/contract.ts";
import type { JsonObject } from "../../../json.ts";
import type { CheckpointChanges } from "../../../ops/checkpoints/schema.ts";

type Comparison = (typeof CheckpointChanges)["static"];

/** Returns the question. `told` is the comparison of the checkpoint with the present (`checkpoint.compare`). */
export function restoreQuestion(told: JsonObject, { scope }: Pick<Principal, "scope">): string {
  const comparison = told as unknown as Comparison;
  const { id, agent_id: agent, label, created_at: madeAt, before_restore: isOfRestore } = comparison.checkpoint;
  const name = label === null ? id : `${JSON.stringify(label)} (${id})`;
  const made = `made ${isOfRestore ? "by a restore " : ""}on ${madeAt.slice(0, 10)} at ${madeAt.slice(11, 19)} UTC`;
  // A key of scope `agent` restores data only.
  const effects = [...effectsOnData(comparison), ...(scope === "agent" ? [] : effectsOnConfig(comparison))];
  return [
    `Restore the agent "${agent}" to the checkpoint ${name}, ${made}?`,
    effects.length === 0 ? "Nothing differs now." : `${effects.join(", ")}.`,
    "The present state is kept in a new checkpoint.",
  ].join(" ");
}

const counted = (count: number, one: string, many: string): string[] =>
  count === 0 ? [] : [`${count} ${count === 1 ? `entry ${one}` : `entries ${many}`}`];

/** What was added since the checkpoint was made goes; what was removed comes back. */
const effectsOnData = ({ added, changed, removed }: Comparison): string[] => [
  ...counted(removed, "comes back", "come back"),
  ...counted(changed, "changes back", "change back"),
  ...counted(added, "is removed", "are removed"),
];

const effectsOnConfig = ({ from_config_version: from, to_config_version: to }: Comparison): string[] =>
  from === null || from === to ? [] : [`the configuration ${to} is replaced by the content of ${from}`];
