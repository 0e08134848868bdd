/** The changes by a restore, entry by entry and in words. */
import type { ComponentChildren } from "preact";
import { segment } from "../../api/client.ts";
import type { CheckpointChanges } from "../../api/types.ts";
import { type LoadedList, useList } from "../../state/load.ts";
import { Diff } from "../../ui/diff/diff.tsx";
import { Badge, type Tone } from "../../ui/inline.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { ShowItems } from "../../ui/parts.tsx";
import { type ApiChange, diffOf, type Effect, type StateDiff } from "./state-diff.ts";

export type LoadedChanges = LoadedList<ApiChange, CheckpointChanges>;

/** Changes that are loaded at once, each with its values. */
const PAGE_SIZE = 50;

/** Loads the differences between a checkpoint and another checkpoint, or the present. */
export const useChanges = (checkpointId: string, to?: string): LoadedChanges =>
  useList<ApiChange, CheckpointChanges>(`/v1/checkpoints/${segment(checkpointId)}/changes`, { to, limit: PAGE_SIZE });

const TONES: Record<Effect, Tone> = { "comes back": "good", "changes back": "accent", "is removed": "bad" };

/** The same between two states of which neither is restored. */
const PLAIN: Record<Effect, string> = { "comes back": "added", "changes back": "changed", "is removed": "removed" };

interface DetailsListProps<T> {
  items: readonly T[];
  summary(item: T): ComponentChildren;
  details(item: T): ComponentChildren;
}

/** A list by key, each item with details to unfold. */
export function DetailsList<T extends { key: string }>({ items, summary, details }: DetailsListProps<T>) {
  return (
    <ul class="changes">
      {items.map((item) => (
        <li key={item.key}>
          <details>
            <summary>
              <code>{item.key}</code> {summary(item)}
            </summary>
            {details(item)}
          </details>
        </li>
      ))}
    </ul>
  );
}

interface ChangesProps {
  /** The differences from a checkpoint. */
  of: LoadedChanges;
  /** The names of the two states, the earlier first; without names, the list is about restoring the checkpoint. */
  names?: readonly [before: string, after: string];
  /** With names: whether the checkpoint is the earlier state. */
  isForward?: boolean;
}

export function Changes({ of, names, isForward = false }: ChangesProps) {
  const [beforeName, afterName] = names ?? ["Now", "In the checkpoint"];
  return (
    <ShowItems of={of} empty={<Summary {...{ of, names, isForward }} />}>
      {() => (
        <>
          <Summary {...{ of, names, isForward }} />
          <DetailsList
            items={diffOf(of, isForward)?.changes ?? []}
            summary={({ kind }) => <Badge tone={TONES[kind]}>{names === undefined ? kind : PLAIN[kind]}</Badge>}
            details={({ now, wanted }) => (
              <Diff before={now ?? ""} after={wanted ?? ""} {...{ beforeName, afterName }} />
            )}
          />
        </>
      )}
    </ShowItems>
  );
}

function Summary({
  of,
  names,
  isForward = false,
}: Pick<ChangesProps, "of" | "isForward"> & { names: ChangesProps["names"] | undefined }) {
  const state = diffOf(of, isForward);
  return state && <p>{names === undefined ? summary(state) : difference(state)}</p>;
}

/** What a restore does to one entry, and the same of several. */
const MANY: readonly (readonly [one: Effect, many: string])[] = [
  ["comes back", "entries come back"],
  ["changes back", "entries change back"],
  ["is removed", "entries are removed"],
];

/** Returns in words how the second of two states differs from the first. */
function difference(state: StateDiff): string {
  const same = counted(state.unchanged, "entry is", "entries are");
  if (MANY.every(([kind]) => state.counts[kind] === 0)) return `Nothing differs: ${same} the same.`;
  const parts = MANY.flatMap(([kind]) => {
    const n = state.counts[kind];
    return n === 0 ? [] : [`${count(n)} ${PLAIN[kind]}`];
  });
  return `${parts.join(", ")}; ${same} the same.`;
}

/** Returns in words what a restore does to the entries. */
export function summary(state: StateDiff): string {
  const { counts, unchanged } = state;
  if (MANY.every(([kind]) => counts[kind] === 0))
    return `All ${counted(unchanged, "entry", "entries")} are as they were.`;
  const parts = MANY.filter(([kind]) => counts[kind] > 0).map(([kind, many]) =>
    counted(counts[kind], `entry ${kind}`, many),
  );
  return `Restoring it: ${parts.join(", ")}; ${counted(unchanged, "entry stays", "entries stay")} as ${unchanged === 1 ? "it is" : "they are"}.`;
}
