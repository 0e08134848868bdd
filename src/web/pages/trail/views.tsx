/** Views of the trail: some that everybody has, and those that a reader saved in this browser. */
import { useState } from "preact/hooks";
import { place } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { FILTER_NAMES } from "./filters.ts";

/** A name, and the query of the address. */
type View = readonly [name: string, query: string];

const COMMON: readonly View[] = [
  ["Everything", ""],
  ["Refused", "result=blocked%2Cdenied"],
  ["Redacted", "mode=redact&result=allowed"],
  ["Changes", "show=changes"],
  ["Administration", "show=administration"],
];

/** The filters are kept in this browser alone, by workspace. */
const storeOf = (workspace: string): string => `governd.views.${workspace}`;

const stored = (workspace: string): readonly View[] =>
  JSON.parse(localStorage.getItem(storeOf(workspace)) ?? "[]") as View[];

/** Returns the filters of the address, in one order, so that equal filters are equal texts. */
function filtersHere(): string {
  const { query } = place.value;
  const names = FILTER_NAMES.filter((name) => query.has(name)).sort();
  return new URLSearchParams(names.map((name) => [name, query.get(name) as string])).toString();
}

export function Views() {
  const { id } = useAccess();
  const [own, setOwn] = useState(() => stored(id));
  const [name, setName] = useState("");
  const current = filtersHere();
  const keep = (views: readonly View[]) => {
    localStorage.setItem(storeOf(id), JSON.stringify(views));
    setOwn(views);
  };
  const isOwn = own.some(([, query]) => query === current);
  const isKnown = isOwn || COMMON.some(([, query]) => query === current);
  return (
    <nav class="row views" aria-label="Views of the trail">
      {[...COMMON, ...own].map(([label, query]) => (
        <a
          key={`${label} ${query}`}
          class="button button-small"
          href={query === "" ? place.value.path : `${place.value.path}?${query}`}
          aria-current={query === current ? "page" : undefined}
        >
          {label}
        </a>
      ))}
      {isOwn && (
        <Button small onClick={() => keep(own.filter(([, query]) => query !== current))}>
          Forget this view
        </Button>
      )}
      {!isKnown && (
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim() === "") return;
            keep([...own, [name.trim(), current]]);
            setName("");
          }}
        >
          <input
            aria-label="Name of the view"
            placeholder="Name of the view"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <button type="submit" class="button button-small">
            Save view
          </button>
        </form>
      )}
    </nav>
  );
}
