/** The data of an agent: a tree of keys, search, and one entry. */
import { useState } from "preact/hooks";
import type { EntryItem, SearchResult } from "../../api/types.ts";
import { type LoadedList, useAsk, useList, useReloadOnChange } from "../../state/load.ts";
import { place, setQuery, withQuery } from "../../state/router.ts";
import { useRoom } from "../../state/session.ts";
import { DialogButton } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Time } from "../../ui/inline.tsx";
import { count, size } from "../../ui/numbers.ts";
import { Empty, Show, ShowItems } from "../../ui/parts.tsx";
import { steps, treeRows } from "./data-tree.ts";
import { Delete, EntryView } from "./entry.tsx";
import { WriteEntry } from "./write-entry.tsx";

/** Entries per page. Pages are large, since groups are made of what is loaded. */
const PAGE_SIZE = 500;

/** Events reload the list at most this often. */
const REFRESH_MS = 2_000;

const SEARCH_LIMIT = 25;

export function DataTab({ agentId }: { agentId: string }) {
  if (useRoom().canRead) return <Browser agentId={agentId} />;
  return (
    <Empty title="Auditors see no stored values">
      <p>What was written, read and deleted, and when, is in the audit tab.</p>
    </Empty>
  );
}

function Browser({ agentId }: { agentId: string }) {
  const { canWrite } = useRoom();
  const { query } = place.value;
  const prefix = query.get("prefix") ?? "";
  const key = query.get("key");
  const words = query.get("search") ?? "";
  const entries = useList<EntryItem>("/v1/data/list", { agent_id: agentId, prefix, limit: PAGE_SIZE });
  useReloadOnChange(agentId, entries.reload, REFRESH_MS);
  return (
    <>
      <div class="toolbar">
        <SearchBox words={words} />
        {canWrite && (
          <DialogButton dialog={<WriteEntry agentId={agentId} initial={{ key: prefix }} onChanged={entries.reload} />}>
            <Icon name="plus" />
            Write
          </DialogButton>
        )}
      </div>
      <div class={key === null ? "split" : "split split-open"}>
        <div class="split-list">
          {words === "" ? (
            <Tree agentId={agentId} prefix={prefix} chosen={key} entries={entries} />
          ) : (
            <Results agentId={agentId} words={words} prefix={prefix} chosen={key} />
          )}
        </div>
        <div class="split-detail">
          {key === null ? (
            <p class="faint split-hint">Choose a key to read its entry.</p>
          ) : (
            <EntryView agentId={agentId} entryKey={key} onGone={entries.reload} />
          )}
        </div>
      </div>
    </>
  );
}

function SearchBox({ words }: { words: string }) {
  const [typed, setTyped] = useState(words);
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
  prefix: string;
  chosen: string | null;
}

function Tree({ agentId, prefix, chosen, entries }: TreeProps & { entries: LoadedList<EntryItem> }) {
  const { canWrite } = useRoom();
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
          {canWrite && (
            <DialogButton small dialog={<Delete agentId={agentId} what={{ prefix }} onChanged={entries.reload} />}>
              Delete all …
            </DialogButton>
          )}
        </div>
      )}
      <ShowItems of={entries} empty={<NoEntries prefix={prefix} />}>
        {(items) => (
          <ul class="tree">
            {treeRows(items, prefix).map((row) =>
              row.kind === "group" ? (
                <li key={row.prefix}>
                  <a href={withQuery({ prefix: row.prefix, key: null })}>
                    <Icon name="folder" />
                    <span class="tree-name">{row.name}</span>
                    <span class="faint small">
                      {count(row.count)}
                      {entries.hasMore && "+"}
                    </span>
                  </a>
                </li>
              ) : (
                <li key={`=${row.entry.key}`}>
                  <a
                    href={withQuery({ key: row.entry.key })}
                    aria-current={row.entry.key === chosen ? "true" : undefined}
                  >
                    <span class="tree-name">{row.name}</span>
                    <span class="faint small nowrap">
                      {size(row.entry.size)} · <Time at={row.entry.updated_at} />
                      {row.entry.expires_at !== null && (
                        <>
                          {" "}
                          · ends <Time at={row.entry.expires_at} />
                        </>
                      )}
                    </span>
                  </a>
                </li>
              ),
            )}
          </ul>
        )}
      </ShowItems>
    </>
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

function Results({ agentId, words, prefix, chosen }: TreeProps & { words: string }) {
  const found = useAsk<SearchResult>("/v1/data/search", {
    body: { agent_id: agentId, query: words, limit: SEARCH_LIMIT, ...(prefix !== "" && { prefix }) },
  });
  return (
    <Show of={found}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="Nothing found">
            <p>Try other words{prefix !== "" && ", or search all keys"}.</p>
          </Empty>
        ) : (
          <ul class="tree">
            {data.map(({ key, value, similarity }) => (
              <li key={key}>
                <a href={withQuery({ key })} aria-current={key === chosen ? "true" : undefined} class="result">
                  <span class="tree-name">{key}</span>
                  <meter min={0} max={1} value={similarity} aria-label="Similarity" title={similarity.toFixed(3)} />
                  <span class="faint small result-text">{value.slice(0, 160)}</span>
                </a>
              </li>
            ))}
          </ul>
        )
      }
    </Show>
  );
}
