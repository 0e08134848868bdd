/** What a restore changes, entry by entry and in words. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../ui/button.tsx";
import { Diff } from "../../ui/diff.tsx";
import { Badge, type Tone } from "../../ui/inline.tsx";
import { count, counted } from "../../ui/numbers.ts";
import type { EntryChange, StateDiff } from "./state-diff.ts";

/** How many items of a long list are shown at first, and how many "Show more" adds. */
const SHOWN = 100;

const TONES: Record<EntryChange["kind"], Tone> = {
  "comes back": "good",
  "changes back": "accent",
  "is removed": "bad",
};

interface DetailsListProps<T> {
  items: readonly T[];
  summary(item: T): ComponentChildren;
  details(item: T): ComponentChildren;
}

/** A list by key, each item with details to unfold. A long list is shown in parts. */
export function DetailsList<T extends { key: string }>({ items, summary, details }: DetailsListProps<T>) {
  const [shown, setShown] = useState(SHOWN);
  return (
    <>
      <ul class="changes">
        {items.slice(0, shown).map((item) => (
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
      {items.length > shown && <Button onClick={() => setShown(shown + SHOWN)}>Show more</Button>}
    </>
  );
}

export function Changes({ state }: { state: StateDiff }) {
  return (
    <>
      <p>{summary(state)}</p>
      {state.changes.length > 0 && (
        <DetailsList
          items={state.changes}
          summary={({ kind }) => <Badge tone={TONES[kind]}>{kind}</Badge>}
          details={({ now, old }) => (
            <Diff before={now?.value ?? ""} after={old?.value ?? ""} beforeName="Now" afterName="In the checkpoint" />
          )}
        />
      )}
    </>
  );
}

/** What a restore does to one entry, and the same of several. */
const MANY: readonly (readonly [one: EntryChange["kind"], many: string])[] = [
  ["comes back", "come back"],
  ["changes back", "change back"],
  ["is removed", "are removed"],
];

/** Returns in words what a restore does to the entries. */
export function summary({ changes, unchanged }: StateDiff): string {
  const of = (kind: EntryChange["kind"]) => changes.filter((change) => change.kind === kind).length;
  if (changes.length === 0) return `All ${counted(unchanged, "entry", "entries")} are as they were.`;
  const parts = MANY.filter(([kind]) => of(kind) > 0).map(
    ([kind, many]) => `${count(of(kind))} ${of(kind) === 1 ? kind : many}`,
  );
  return `Restoring it: ${parts.join(", ")}; ${count(unchanged)} unchanged.`;
}
