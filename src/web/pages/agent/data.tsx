/** The data of an agent: a tree of keys, search, and one entry. */
import { useState } from "preact/hooks";
import type { EntryItem, SearchResult } from "../../api/types.ts";
import { useReloadOnChange } from "../../state/events.ts";
import { type LoadedList, useAsk, useList } from "../../state/load.ts";
import { place, setQuery, withQuery } from "../../state/router.ts";
import type { Room } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { count, size } from "../../ui/numbers.ts";
import { Empty, More, Show } from "../../ui/parts.tsx";
import { Time } from "../../ui/time.tsx";
import { Delete, WriteEntry } from "./data-dialogs.tsx";
import { steps, treeRows } from "./data-tree.ts";
import { EntryView } from "./entry.tsx";

/** Entries per page. Pages are large, since groups are made of what is loaded. */
const PAGE_SIZE = 500;

/** Events reload the list at most this often. */
const REFRESH_MS = 2_000;

const SEARCH_LIMIT = 25;

interface Props {
  room: Room;
  agentId: string;
}

export function DataTab({ room, agentId }: Props) {
  if (!room.canRead) {
    return (
      <Empty title="Auditors see no stored values">
        <p>What was written, read and deleted, and when, is in the audit tab.</p>
      </Empty>
    );
  }
  return <Browser room={room} agentId={agentId} />;
}

function Browser({ room, agentId }: Props) {
  const { query } = place.value;
  const prefix = query.get("prefix") ?? "";
  const key = query.get("key");
  const words = query.get("search") ?? "";
  const [dialog, setDialog] = useState<"write" | "delete" | null>(null);
  const entries = useList<EntryItem>(room.workspace.id, "/v1/data/list", {
    agent_id: agentId,
    prefix,
    limit: PAGE_SIZE,
  });
  useReloadOnChange(agentId, entries.reload, REFRESH_MS);
  return (
    <>
      <div class="toolbar">
        <SearchBox words={words} />
        {room.canWrite && (
          <Button onClick={() => setDialog("write")}>
            <Icon name="plus" />
            Write
          </Button>
        )}
      </div>
      <div class={key === null ? "split" : "split split-open"}>
        <div class="split-list">
          {words === "" ? (
            <Tree room={room} prefix={prefix} chosen={key} entries={entries} onDelete={() => setDialog("delete")} />
          ) : (
            <Results room={room} agentId={agentId} words={words} prefix={prefix} chosen={key} />
          )}
        </div>
        <div class="split-detail">
          {key === null ? (
            <p class="faint split-hint">Choose a key to read its entry.</p>
          ) : (
            <EntryView room={room} agentId={agentId} entryKey={key} onGone={entries.reload} />
          )}
        </div>
      </div>
      {dialog === "write" && (
        <WriteEntry
          room={room}
          agentId={agentId}
          initialKey={prefix}
          onClose={() => setDialog(null)}
          onWritten={entries.reload}
        />
      )}
      {dialog === "delete" && (
        <Delete
          room={room}
          agentId={agentId}
          what={{ prefix }}
          onClose={() => setDialog(null)}
          onDeleted={entries.reload}
        />
      )}
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
  room: Room;
  prefix: string;
  chosen: string | null;
  entries: LoadedList<EntryItem>;
  onDelete(): void;
}

function Tree({ room, prefix, chosen, entries, onDelete }: TreeProps) {
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
          {room.canWrite && (
            <Button small onClick={onDelete}>
              Delete all …
            </Button>
          )}
        </div>
      )}
      <Show of={entries}>
        {(items) =>
          items.length === 0 ? (
            <NoEntries prefix={prefix} />
          ) : (
            <>
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
                        <span class="faint small tree-meta">
                          {size(row.entry.size)} · <Time at={row.entry.updated_at} />
                        </span>
                      </a>
                    </li>
                  ),
                )}
              </ul>
              <More of={entries} />
            </>
          )
        }
      </Show>
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

interface ResultsProps extends Props {
  words: string;
  prefix: string;
  chosen: string | null;
}

function Results({ room, agentId, words, prefix, chosen }: ResultsProps) {
  const found = useAsk<SearchResult>("/v1/data/search", {
    workspace: room.workspace.id,
    body: { agent_id: agentId, query: words, limit: SEARCH_LIMIT, ...(prefix === "" ? {} : { prefix }) },
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
