/** One entry: its value, its facts, and how to delete and erase it. */
import { useState } from "preact/hooks";
import { isCode } from "../../api/client.ts";
import type { DeletedOrErased, FullEntry, JsonObject } from "../../api/types.ts";
import { useAsk, useEvents, useLoad } from "../../state/load.ts";
import { paths, withQuery } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { CopyBlock, CopyButton } from "../../ui/copy.tsx";
import { Confirm, DialogButton } from "../../ui/dialog.tsx";
import { Check } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Actor, Time } from "../../ui/inline.tsx";
import { say } from "../../ui/notices.tsx";
import { counted } from "../../ui/numbers.ts";
import { Empty, Facts, Show } from "../../ui/parts.tsx";
import { LineageLinks } from "../lineage/links.tsx";
import { Placement } from "../quarantine/set-aside.tsx";
import { ProveButton } from "../workspace/prove.tsx";
import { type Below, countBelow } from "./below.ts";
import { WriteEntry } from "./write-entry.tsx";

interface EntryProps {
  agentId: string;
  entryKey: string;
  /** The moment whose state is shown; null for now. */
  at: string | null;
  onGone(): void;
}

export function EntryView({ agentId, entryKey, at, onGone }: EntryProps) {
  const { id, canWrite } = useAccess();
  const query = { agent_id: agentId, key: entryKey, as_of: at ?? undefined };
  const entry = useAsk<FullEntry>("/v1/data/read-full", { query });
  useEvents((event) => {
    const wrote = event.operation === "data.write" && event.result === "allowed";
    const isAbout = (wrote && event.details?.key === entryKey) || event.operation.startsWith("quarantine.");
    if (event.agent_id === agentId && isAbout) entry.reload();
  }, entry.reload);
  const gone = () => {
    entry.reload();
    onGone();
  };
  return (
    <article class="card stack" aria-label={entryKey}>
      <a class="split-back small" href={withQuery({ key: null })}>
        <Icon name="back" /> Back to the keys
      </a>
      <div class="entry-head">
        <h2 class="entry-key">{entryKey}</h2>
        <div class="row">
          <CopyButton text={entryKey} label="Copy key" />
          <a class="button button-small" href={paths.history(id, agentId, entryKey)}>
            History
          </a>
          <ProveButton agentId={agentId} what="key" name={entryKey} small />
        </div>
      </div>
      {isCode(entry.problem, "entry_not_found") ? (
        <Empty title={`There is no entry under this key ${at === null ? "now" : "at this moment"}`}>
          <p>What it held before is in its history, as long as that is kept.</p>
        </Empty>
      ) : (
        <Show of={entry}>
          {(full) => (
            <>
              {full.quarantined && (
                <p class="callout tone-warn">
                  <strong>This is set aside.</strong> No program sees it. A write of the key makes a new entry.
                </p>
              )}
              <CopyBlock text={full.value} label="Value" />
              <Facts
                of={{
                  Written: (
                    <>
                      <Time at={full.updated_at} /> by <Actor id={full.written_by} />{" "}
                      <a href={paths.event(id, full.audit_id)}>event</a>
                    </>
                  ),
                  Lineage: <LineageLinks event={full.audit_id} />,
                  "First written": <Time at={full.created_at} />,
                  Under: full.config_version ?? <span class="faint">no configuration</span>,
                  Expires: full.expires_at && <Time at={full.expires_at} />,
                  Metadata: <MetadataText metadata={full.metadata} />,
                }}
              />
              {canWrite && at === null && (
                <div class="row">
                  <DialogButton dialog={<WriteEntry agentId={agentId} initial={full} onChanged={entry.reload} />}>
                    Overwrite …
                  </DialogButton>
                  <DialogButton
                    kind="danger-quiet"
                    dialog={<Delete agentId={agentId} what={{ key: entryKey }} onChanged={gone} />}
                  >
                    Delete …
                  </DialogButton>
                  <Placement
                    {...{ agentId, version: full.audit_id, onChanged: gone }}
                    isSetAside={full.quarantined === true}
                  />
                </div>
              )}
            </>
          )}
        </Show>
      )}
    </article>
  );
}

export function MetadataText({ metadata }: { metadata: JsonObject }) {
  if (Object.keys(metadata).length === 0) return <span class="faint">none</span>;
  return <pre class="json">{JSON.stringify(metadata, null, 2)}</pre>;
}

interface DialogProps {
  agentId: string;
  onChanged(): void;
}

interface DeleteProps extends DialogProps {
  /** One entry, or all with a prefix. */
  what: { key: string } | { prefix: string };
}

export function Delete({ agentId, what, onChanged }: DeleteProps) {
  const { api } = useAccess();
  const [erase, setErase] = useState(false);
  const one = "key" in what;
  const below = useLoad<Below | null>(JSON.stringify(what), async () =>
    "key" in what ? null : countBelow(api, agentId, what.prefix),
  );
  const action = erase ? (one ? "Erase for good" : "Erase all for good") : one ? "Delete" : "Delete all";
  const remove = async () => {
    const shown = below.data?.entries;
    if (!one && !erase && shown === undefined) throw new Error("The entries are still being counted. Try again.");
    const query = { agent_id: agentId, ...what, ...(erase ? { erase } : { confirm_count: shown }) };
    const path = one ? "/v1/data" : "/v1/data/prefix";
    const { deleted, erased_events = 0 } = await api.ask<DeletedOrErased>(path, { method: "DELETE", query });
    const entries = counted(deleted, "entry", "entries");
    const subject = "key" in what ? `The entry ${what.key}` : `${entries} below ${what.prefix}`;
    const verb = deleted === 1 ? "is" : "are";
    if (!erase) say(subject, `${verb} deleted.`);
    else say(subject, `${verb} erased, with the details of ${counted(erased_events, "event")}.`);
    onChanged();
  };
  return (
    <Confirm
      title={one ? "Delete this entry?" : "Delete everything below this prefix?"}
      action={action}
      danger
      onConfirm={remove}
    >
      {one ? (
        <p>
          This removes <code>{what.key}</code> from the live data. Its history keeps it for as long as the policies say,
          and earlier checkpoints keep it, so it can come back.
        </p>
      ) : (
        <p>
          This removes {below.data ? <strong>{counted(below.data.entries, "entry", "entries")}</strong> : "every entry"}{" "}
          whose key begins with <code>{what.prefix}</code> from the live data. Earlier checkpoints keep them. To be able
          to go back, make a checkpoint first. If their number has changed by then, nothing is deleted.
        </p>
      )}
      <Check
        label="Erase for good"
        hint="Also from the history and every checkpoint, and destroy what the log's events say about the key. The events stay and still verify. This cannot be undone."
        checked={erase}
        onChecked={setErase}
      />
    </Confirm>
  );
}
