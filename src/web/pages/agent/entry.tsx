/** One entry: its value, its facts, and how to overwrite and delete it. */
import { useState } from "preact/hooks";
import type { FullEntry, JsonObject } from "../../api/types.ts";
import { useEvents } from "../../state/events.ts";
import { useAsk } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import { setQuery, withQuery } from "../../state/router.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Fact, Show } from "../../ui/parts.tsx";
import { Time } from "../../ui/time.tsx";
import { Delete, WriteEntry } from "./data-dialogs.tsx";

interface Props {
  room: Room;
  agentId: string;
  entryKey: string;
  onGone(): void;
}

export function EntryView({ room, agentId, entryKey, onGone }: Props) {
  const entry = useAsk<FullEntry>("/v1/data/read-full", {
    workspace: room.workspace.id,
    query: { agent_id: agentId, key: entryKey },
  });
  useEvents((event) => {
    const wrote = event.operation === "data.write" && event.result === "allowed";
    if (event.agent_id === agentId && wrote && event.details?.key === entryKey) entry.reload();
  }, entry.reload);
  const [dialog, setDialog] = useState<"write" | "delete" | null>(null);
  return (
    <article class="card entry" aria-label={entryKey}>
      <a class="split-back small" href={withQuery({ key: null })}>
        <Icon name="back" /> Back to the keys
      </a>
      <div class="entry-head">
        <h2 class="entry-key">{entryKey}</h2>
        <CopyButton text={entryKey} label="Copy key" />
      </div>
      <Show of={entry}>
        {(full) => (
          <>
            <Value text={full.value} />
            <Facts room={room} entry={full} />
            {room.canWrite && (
              <div class="row">
                <Button onClick={() => setDialog("write")}>Overwrite …</Button>
                <Button kind="danger-quiet" onClick={() => setDialog("delete")}>
                  Delete …
                </Button>
              </div>
            )}
            {dialog === "write" && (
              <WriteEntry
                room={room}
                agentId={agentId}
                initialKey={full.key}
                initialValue={full.value}
                initialMetadata={full.metadata}
                onClose={() => setDialog(null)}
                onWritten={entry.reload}
              />
            )}
          </>
        )}
      </Show>
      {dialog === "delete" && (
        <Delete
          room={room}
          agentId={agentId}
          what={{ key: entryKey }}
          onClose={() => setDialog(null)}
          onDeleted={() => {
            setQuery({ key: null }, { replace: true });
            onGone();
          }}
        />
      )}
    </article>
  );
}

function Value({ text }: { text: string }) {
  return (
    <div class="copy-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section class="value" tabIndex={0} aria-label="Value">
        <pre>{text === "" ? <span class="faint">(an empty text)</span> : text}</pre>
      </section>
      <CopyButton text={text} label="Copy value" />
    </div>
  );
}

function Facts({ room, entry }: { room: Room; entry: FullEntry }) {
  return (
    <dl class="facts">
      <Fact name="Written">
        <Time at={entry.updated_at} /> by <Actor id={entry.written_by} />{" "}
        <a href={paths.event(room.workspace.id, entry.audit_id)}>event</a>
      </Fact>
      <Fact name="First written">
        <Time at={entry.created_at} />
      </Fact>
      <Fact name="Under">{entry.config_version ?? <span class="faint">no configuration</span>}</Fact>
      {entry.expires_at !== null && (
        <Fact name="Expires">
          <Time at={entry.expires_at} />
        </Fact>
      )}
      <Fact name="Metadata">
        <MetadataText metadata={entry.metadata} />
      </Fact>
    </dl>
  );
}

export function MetadataText({ metadata }: { metadata: JsonObject }) {
  if (Object.keys(metadata).length === 0) return <span class="faint">none</span>;
  return <pre class="json">{JSON.stringify(metadata, null, 2)}</pre>;
}
