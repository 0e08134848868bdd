/** How two states of an agent's data differ, such as a checkpoint and now, from what the daemon says of it. */
import type { CheckpointChanges } from "../../api/types.ts";

export type ApiChange = CheckpointChanges["data"][number];

/** What a restore does to an entry. */
export type Effect = "comes back" | "changes back" | "is removed";

/** An entry that differs, and what making the wanted state of the present one does to it. */
interface EntryChange {
  key: string;
  kind: Effect;
  /** The values, null where there is none. */
  wanted: string | null;
  now: string | null;
}

export interface StateDiff {
  /** Those that are loaded, by key. */
  changes: readonly EntryChange[];
  /** Of all. */
  counts: Readonly<Record<Effect, number>>;
  unchanged: number;
}

/** What is loaded of a comparison: what its first page says of all, and the changes of its pages. */
interface Compared {
  first: Pick<CheckpointChanges, "added" | "changed" | "removed" | "unchanged"> | undefined;
  data: readonly ApiChange[] | undefined;
}

const RESTORING: Readonly<Record<ApiChange["change"], Effect>> = {
  added: "is removed",
  changed: "changes back",
  removed: "comes back",
};
const GOING_ON: Readonly<Record<ApiChange["change"], Effect>> = {
  added: "comes back",
  changed: "changes back",
  removed: "is removed",
};

/**
 * Returns what would make the state of the checkpoint of what there is now, of what is loaded.
 * @param isForward what would make the later state of that of the checkpoint instead
 */
export function diffOf({ first, data }: Compared, isForward = false): StateDiff | null {
  if (first === undefined || data === undefined) return null;
  const effects = isForward ? GOING_ON : RESTORING;
  const { added, changed, removed, unchanged } = first;
  const counts = { [effects.added]: added, [effects.changed]: changed, [effects.removed]: removed };
  const changes = data.map(({ key, change, from, to }): EntryChange => {
    const [then, later] = [from?.value ?? null, to?.value ?? null];
    return { key, kind: effects[change], wanted: isForward ? later : then, now: isForward ? then : later };
  });
  return { changes, counts: counts as Record<Effect, number>, unchanged };
}
