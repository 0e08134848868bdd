/**
 * The difference between two states of an agent's data, such as a checkpoint and the present, from the daemon's
 * comparison.
 */
import type { CheckpointChanges } from "../../api/types.ts";

export type ApiChange = CheckpointChanges["data"][number];

/** What a restore does to an entry. */
export type Effect = "comes back" | "changes back" | "is removed";

/** An entry that differs, and the effect on it of turning the present state into the wanted one. */
interface EntryChange {
  key: string;
  kind: Effect;
  /** The values; null for none. */
  wanted: string | null;
  now: string | null;
}

export interface StateDiff {
  /** The loaded changes, by key. */
  changes: readonly EntryChange[];
  /** The counts of all changes. */
  counts: Readonly<Record<Effect, number>>;
  unchanged: number;
}

/** The loaded part of a comparison: the totals on its first page, and the changes of the loaded pages. */
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
 * Returns the loaded changes that would turn the present state into the checkpoint's.
 * @param isForward whether to return the changes that would turn the checkpoint's state into the later one instead
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
