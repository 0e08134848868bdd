/** The data of an agent: a tree of keys, search, and one entry. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { EntryGroup, EntryItem, EntryList } from "../../api/types.ts";
import { type LoadedList, useList, useReloadOnChange } from "../../state/load.ts";
import { place, setQuery, withQuery } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { useTitle } from "../../state/title.ts";
import { useKept } from "../../state/visits.ts";
import { Button } from "../../ui/button.tsx";
import { DialogButton } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Time } from "../../ui/inline.tsx";
import { type SortColumn, SortLinks, sorted } from "../../ui/lists/sort.tsx";
import { useWindow } from "../../ui/lists/windowed.ts";
import { count, counted, size } from "../../ui/numbers.ts";
import { Empty, Show } from "../../ui/parts.tsx";
import { SetAsideBadge } from "../quarantine/set-aside.tsx";
import { ProveButton } from "../workspace/prove.tsx";
import { hasColons, nameBelow, steps } from "./data-tree.ts";
import { Delete, EntryView } from "./entry.tsx";
import { AtMoment, MomentChoice } from "./moment.tsx";
import { Results } from "./search-results.tsx";
import { WriteEntry } from "./write-entry.tsx";

/** The largest page of the API. */
const PAGE_SIZE = 1_000;

/** Folders that are shown at once. */
const FOLDERS = 200;

/** Events reload the list at most this often. */
const REFRESH_MS = 2_000;

export function DataTab({ agentId }: { agentId: string }) {
  if (useAccess().canRead) return <Browser agentId={agentId} />;
  return (
    <Empty title="Auditors see no stored values">
      <p>What was written, read and deleted, and when, is in the audit tab.</p>
      <ProveButton agentId={agentId} what="complete" name="" />
    </Empty>
  );
}

function Browser({ agentId }: { agentId: string }) {
  const { canWrite } = useAccess();
  const { query } = place.value;
  const prefix = query.get("prefix") ?? "";
  const key = query.get("key");
  const words = query.get("search") ?? "";
  const at = query.get("at");
  useTitle("detail", key ?? (words === "" ? prefix : words));
  /** Each folder shows a list of its own. */
  const list = useRef(() => {});
  const reload = () => list.current();
  const shown = (
    <div class={key === null ? "split" : "split split-open"}>
      <div class="split-list">
        {words === "" ? (
          <Tree
            {...{ agentId, prefix, reload, at }}
            chosen={key}
            onReload={(next) => {
              list.current = next;
            }}
          />
        ) : (
          <Results agentId={agentId} words={words} prefix={prefix} chosen={key} />
        )}
      </div>
      <div class="split-detail">
        {key === null ? (
          <p class="faint split-hint">Choose a key to read its entry.</p>
        ) : (
          <EntryView agentId={agentId} entryKey={key} at={at} onGone={reload} />
        )}
      </div>
    </div>
  );
  return (
    <>
      <div class="toolbar">
        {at === null && <SearchBox words={words} />}
        <MomentChoice at={at} />
        {canWrite && at === null && (
          <DialogButton dialog={<WriteEntry agentId={agentId} initial={{ key: prefix }} onChanged={reload} />}>
            <Icon name="plus" />
            Write
          </DialogButton>
        )}
        <ProveButton agentId={agentId} what={prefix === "" ? "complete" : "prefix"} name={prefix} />
      </div>
      {at === null ? (
        shown
      ) : (
        <AtMoment agentId={agentId} at={at}>
          {shown}
        </AtMoment>
      )}
    </>
  );
}

function SearchBox({ words }: { words: string }) {
  const [typed, setTyped] = useState(words);
  useEffect(() => setTyped(words), [words]);
  return (
    <search class="search">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setQuery({ search: typed, key: null });
        }}
      >
        <input
          type="search"
          aria-label="Search by words and meaning"
          placeholder="Search by words and meaning"
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            if (event.currentTarget.value === "" && words !== "") setQuery({ search: null, key: null });
          }}
        />
        <button type="submit" class="button icon-button" aria-label="Search">
          <Icon name="search" />
        </button>
      </form>
    </search>
  );
}

interface TreeProps {
  agentId: string;
  /** The moment whose state is shown; null for now. */
  at: string | null;
  prefix: string;
  chosen: string | null;
}

type FoldersProps = TreeProps & {
  /** Told how to load the list that is shown, which `reload` does. */
  onReload(reload: () => void): void;
  reload(): void;
};

/** The way to a prefix, and what is below it. */
function Tree(props: FoldersProps) {
  const { agentId, prefix, at } = props;
  const { canWrite } = useAccess();
  return (
    <>
      {prefix !== "" && (
        <div class="tree-head">
          <nav class="crumbs" aria-label="Prefix">
            <a href={withQuery({ prefix: null, key: null })}>all keys</a>
            {steps(prefix).map((step) => (
              <a key={step.prefix} href={withQuery({ prefix: step.prefix, key: null })}>
                {step.name}
              </a>
            ))}
          </nav>
          {canWrite && at === null && (
            <DialogButton small dialog={<Delete agentId={agentId} what={{ prefix }} onChanged={props.reload} />}>
              Delete all …
            </DialogButton>
          )}
        </div>
      )}
      <Folders key={prefix} {...props} delimiter="/" />
    </>
  );
}

/**
 * The folders below a prefix, with all that they hold, and the entries directly there. Without any folder by `/`, keys
 * are divided at `:`; too many folders are a plain list.
 */
function Folders({ delimiter, ...props }: FoldersProps & { delimiter: "/" | ":" | null }) {
  const { agentId, prefix, onReload, at } = props;
  const query = { agent_id: agentId, prefix, limit: PAGE_SIZE, delimiter, as_of: at ?? undefined };
  const entries = useList<EntryItem, EntryList>("/v1/data/list", query);
  // A longer list takes longer to load.
  const pages = Math.ceil((entries.data?.length ?? 0) / PAGE_SIZE);
  useReloadOnChange(agentId, entries.reload, REFRESH_MS * Math.max(1, pages));
  useEffect(() => onReload(entries.reload), [entries.reload]);
  const groups = entries.first?.prefixes ?? [];
  const keys = entries.data?.map(({ key }) => key) ?? [];
  if (delimiter === "/" && groups.length === 0 && hasColons(keys, prefix)) return <Folders {...props} delimiter=":" />;
  if (delimiter !== null && entries.problem?.param === "delimiter") return <Folders {...props} delimiter={null} />;
  if (groups.length > 0 && keys.length === 0 && !entries.hasMore) return <Groups groups={groups} prefix={prefix} />;
  return (
    <>
      <Groups groups={groups} prefix={prefix} />
      <Show of={entries}>
        {(items) => (items.length === 0 ? <NoEntries prefix={prefix} /> : <Entries entries={entries} {...props} />)}
      </Show>
    </>
  );
}

function Groups({ groups, prefix }: { groups: readonly EntryGroup[]; prefix: string }) {
  const [shown, setShown] = useKept("folders", FOLDERS);
  if (groups.length === 0) return null;
  return (
    <>
      <ul class="tree" aria-label="Folders">
        {groups.slice(0, shown).map((group) => (
          <li key={group.prefix}>
            <a href={withQuery({ prefix: group.prefix, key: null })}>
              <Icon name="folder" />
              <span class="tree-name">{nameBelow(prefix, group.prefix)}</span>
              <span class="faint small">{count(group.entries)}</span>
            </a>
          </li>
        ))}
      </ul>
      {groups.length > shown && (
        <div class="more">
          <Button onClick={() => setShown(shown + FOLDERS)}>Show more folders</Button>
        </div>
      )}
    </>
  );
}

const COLUMNS: readonly SortColumn<EntryItem>[] = [
  { id: "key", name: "Key", by: ({ key }) => key },
  { id: "size", name: "Size", by: ({ size: bytes }) => bytes, isMostFirst: true },
  { id: "written", name: "Written", by: ({ updated_at }) => updated_at, isMostFirst: true },
];

/** The next page is loaded when only this many rows are left below the visible ones. */
const ROWS_AHEAD = 100;

/** The entries directly below a prefix. Their pages are loaded as the reader scrolls near, and all pages for sorting. */
function Entries({ entries, prefix, chosen }: TreeProps & { entries: LoadedList<EntryItem, EntryList> }) {
  const items = entries.data ?? [];
  const { element, from, to, before, after } = useWindow<HTMLUListElement>(items.length);
  const order = place.value.query.get("sort") ?? "key";
  // The total is not known before all entries are loaded (WAI-ARIA 1.2, aria-setsize).
  const total = entries.hasMore ? -1 : items.length;
  const isWanted = entries.hasMore && (order !== "key" || to + ROWS_AHEAD >= items.length);
  const { more } = entries;
  useEffect(() => {
    if (isWanted && !more.busy && more.problem === null) void more.run();
  }, [isWanted, more.busy, items.length]);
  return (
    <>
      <div class="row list-head">
        <SortLinks columns={COLUMNS} />
        <span class="faint small" role="status">
          {entries.hasMore ? `${count(items.length)} loaded` : counted(items.length, "entry", "entries")}
        </span>
      </div>
      <ul class="tree" aria-label="Entries" ref={element}>
        {before > 0 && <li class="space" aria-hidden="true" style={{ height: `${before}px` }} />}
        {sorted(items, COLUMNS)
          .slice(from, to)
          .map((item, at) => (
            <Entry key={item.key} item={item} position={from + at + 1} total={total} prefix={prefix} chosen={chosen} />
          ))}
        {after > 0 && <li class="space" aria-hidden="true" style={{ height: `${after}px` }} />}
      </ul>
    </>
  );
}

interface EntryProps extends Omit<TreeProps, "agentId" | "at"> {
  item: EntryItem;
  /** Its position in the list, from 1: only the visible rows are in the document. */
  position: number;
  /** The number of entries of the list; -1 when it is not known. */
  total: number;
}

function Entry({ item, position, total, prefix, chosen }: EntryProps) {
  const { key, size: bytes, updated_at, expires_at, quarantined } = item;
  return (
    <li aria-posinset={position} aria-setsize={total}>
      <a href={withQuery({ key })} aria-current={key === chosen ? "true" : undefined}>
        <span class="tree-name">{nameBelow(prefix, key)}</span>
        {quarantined && <SetAsideBadge />}
        <span class="faint small nowrap">
          {size(bytes)} · <Time at={updated_at} />
          {expires_at !== null && (
            <>
              {" "}
              · ends <Time at={expires_at} />
            </>
          )}
        </span>
      </a>
    </li>
  );
}

function NoEntries({ prefix }: { prefix: string }) {
  if (prefix !== "") {
    return (
      <Empty title="Nothing below this prefix">
        <p>
          <a href={withQuery({ prefix: null, key: null })}>Show all keys</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No data yet">
      <p>
        What the agent writes with <code>POST /v1/data/write</code> appears here. You can also write an entry yourself,
        and see whether the policies allow it.
      </p>
    </Empty>
  );
}
