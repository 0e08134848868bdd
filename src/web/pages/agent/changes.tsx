/** What a restore changes, entry by entry and in words. */
import type { ComponentChildren } from "preact";
import { useKept } from "../../state/visits.ts";
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

/** The same between two states of which neither is restored. */
const PLAIN: Record<EntryChange["kind"], string> = {
  "comes back": "added",
  "changes back": "changed",
  "is removed": "removed",
};

interface DetailsListProps<T> {
  /** Unique on its page. */
  name: string;
  items: readonly T[];
  summary(item: T): ComponentChildren;
  details(item: T): ComponentChildren;
}

/** A list by key, each item with details to unfold. A long list is shown in parts. */
export function DetailsList<T extends { key: string }>({ name, items, summary, details }: DetailsListProps<T>) {
  const [shown, setShown] = useKept(name, SHOWN);
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

interface ChangesProps {
  state: StateDiff;
  /** What the two states are called; without names it is about a restore. */
  names?: readonly [before: string, after: string];
}

export function Changes({ state, names }: ChangesProps) {
  const [beforeName, afterName] = names ?? ["Now", "In the checkpoint"];
  return (
    <>
      <p>{names === undefined ? summary(state) : difference(state)}</p>
      {state.changes.length > 0 && (
        <DetailsList
          name="changes"
          items={state.changes}
          summary={({ kind }) => <Badge tone={TONES[kind]}>{names === undefined ? kind : PLAIN[kind]}</Badge>}
          details={({ now, old }) => (
            <Diff before={now?.value ?? ""} after={old?.value ?? ""} {...{ beforeName, afterName }} />
          )}
        />
      )}
    </>
  );
}

/** What a restore does to one entry, and the same of several. */
const MANY: readonly (readonly [one: EntryChange["kind"], many: string])[] = [
  ["comes back", "entries come back"],
  ["changes back", "entries change back"],
  ["is removed", "entries are removed"],
];

const countOf = ({ changes }: StateDiff, kind: EntryChange["kind"]): number =>
  changes.filter((change) => change.kind === kind).length;

/** Returns in words how the second of two states differs from the first. */
function difference(state: StateDiff): string {
  const same = counted(state.unchanged, "entry is", "entries are");
  if (state.changes.length === 0) return `Nothing differs: ${same} the same.`;
  const parts = MANY.flatMap(([kind]) => {
    const n = countOf(state, kind);
    return n === 0 ? [] : [`${count(n)} ${PLAIN[kind]}`];
  });
  return `${parts.join(", ")}; ${same} the same.`;
}

/** Returns in words what a restore does to the entries. */
export function summary(state: StateDiff): string {
  const { changes, unchanged } = state;
  const of = (kind: EntryChange["kind"]) => countOf(state, kind);
  if (changes.length === 0) return `All ${counted(unchanged, "entry", "entries")} are as they were.`;
  const parts = MANY.filter(([kind]) => of(kind) > 0).map(([kind, many]) => counted(of(kind), `entry ${kind}`, many));
  return `Restoring it: ${parts.join(", ")}; ${counted(unchanged, "entry stays", "entries stay")} as ${unchanged === 1 ? "it is" : "they are"}.`;
}
