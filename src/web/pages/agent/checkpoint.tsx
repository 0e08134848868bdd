/** One checkpoint: its entries, the changes since, and restoring it. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { CheckpointWithState, ConfigVersion, RestoreResult } from "../../api/types.ts";
import { useAction, useAsk, useReloadOnChange } from "../../state/load.ts";
import { go, paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { useTitle } from "../../state/title.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm, DialogButton } from "../../ui/dialog.tsx";
import { Diff } from "../../ui/diff/diff.tsx";
import { Actor, Time } from "../../ui/inline.tsx";
import { readableJson } from "../../ui/json-text.ts";
import { say } from "../../ui/notices.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { Empty, Problem, Section, Show } from "../../ui/parts.tsx";
import { Changes, DetailsList, useChanges } from "./changes.tsx";
import { checkpointName } from "./checkpoints.tsx";
import { useConfig } from "./config.tsx";
import { MetadataText } from "./entry.tsx";
import { Restore, Restored } from "./restore.tsx";

/** Events reload the comparison at most this often. */
const REFRESH_MS = 3_000;

/** Entries that are loaded at once, with their values. */
const PAGE_SIZE = 100;

export function CheckpointView({ agentId, checkpointId }: { agentId: string; checkpointId: string }) {
  const { id } = useAccess();
  const checkpoint = useAsk<CheckpointWithState>(`/v1/checkpoints/${segment(checkpointId)}`, {
    query: { limit: PAGE_SIZE },
  });
  return (
    <>
      <p class="crumbs small">
        <a href={paths.checkpoints(id, agentId)}>All checkpoints</a>
      </p>
      <Show of={checkpoint}>{(loaded) => <Inside agentId={agentId} checkpoint={loaded} />}</Show>
    </>
  );
}

interface InsideProps {
  agentId: string;
  checkpoint: CheckpointWithState;
}

function Inside({ agentId, checkpoint }: InsideProps) {
  const { id } = useAccess();
  const config = useConfig(agentId);
  const changes = useChanges(checkpoint.id);
  const again = () => {
    config.reload();
    changes.reload();
  };
  useReloadOnChange(agentId, again, REFRESH_MS);
  const [restored, setRestored] = useState<RestoreResult | null>(null);
  const onRestored = (result: RestoreResult | null) => {
    setRestored(result);
    again();
  };
  return (
    <div class="stack">
      <CheckpointHead
        checkpoint={checkpoint}
        restore={
          <Restore
            {...{ checkpoint, changes, onRestored }}
            held={checkpoint.state.config}
            config={config.data ?? null}
          />
        }
        remove={<Remove agentId={agentId} checkpoint={checkpoint} />}
      />
      {restored !== null && <Restored result={restored} onUndone={() => onRestored(null)} />}
      <Section
        title="Compared with now"
        actions={
          <a class="button button-small" href={paths.compare(id, agentId, { from: checkpoint.id })}>
            With another …
          </a>
        }
      >
        <Changes of={changes} />
        <Show of={config}>{(current) => <ConfigChange checkpoint={checkpoint} current={current} />}</Show>
      </Section>
      <Section title={`What it holds: ${counted(checkpoint.entry_count, "entry", "entries")}`}>
        <Entries checkpoint={checkpoint} />
      </Section>
    </div>
  );
}

interface HeadProps {
  checkpoint: CheckpointWithState;
  /** The dialogs that its buttons open. */
  restore: ComponentChildren;
  remove: ComponentChildren;
}

function CheckpointHead({ checkpoint, restore, remove }: HeadProps) {
  const { canWrite } = useAccess();
  useTitle("detail", checkpointName(checkpoint));
  return (
    <div class="section-head">
      <div>
        <h2>{checkpointName(checkpoint)}</h2>
        <p class="faint">
          Made {checkpoint.before_restore && "before a restore "}
          <Time at={checkpoint.created_at} /> by <Actor id={checkpoint.created_by} />, as of event{" "}
          {count(checkpoint.audit_seq)} of the workspace
        </p>
        {Object.keys(checkpoint.metadata).length > 0 && <MetadataText metadata={checkpoint.metadata} />}
      </div>
      {canWrite && (
        <div class="row">
          <DialogButton kind="primary" dialog={restore}>
            Restore …
          </DialogButton>
          <DialogButton kind="danger-quiet" dialog={remove}>
            Delete …
          </DialogButton>
        </div>
      )}
    </div>
  );
}

function Remove({ agentId, checkpoint }: InsideProps) {
  const { id, api } = useAccess();
  const remove = async () => {
    await api.ask(`/v1/checkpoints/${segment(checkpoint.id)}`, { method: "DELETE" });
    say(`The checkpoint ${checkpointName(checkpoint)}`, "is deleted.");
    go(paths.checkpoints(id, agentId), { replace: true });
  };
  return (
    <Confirm title="Delete this checkpoint?" action="Delete" danger onConfirm={remove}>
      <p>What only this checkpoint kept is gone for good. The live data stay as they are.</p>
    </Confirm>
  );
}

function ConfigChange({ checkpoint, current }: { checkpoint: CheckpointWithState; current: ConfigVersion | null }) {
  const { config } = checkpoint.state;
  if (config === null) return <p class="faint">The checkpoint holds no configuration; a restore leaves it as it is.</p>;
  const now = current === null ? "" : readableJson(current.config);
  const then = readableJson(config.config);
  if (now === then) return <p class="faint">The configuration has the same content now.</p>;
  return (
    <Diff
      before={now}
      after={then}
      beforeName={current === null ? "Now: none" : `Now: ${current.version}`}
      afterName={`In the checkpoint: ${config.version}`}
    />
  );
}

/** The entries of a checkpoint, page by page. */
function Entries({ checkpoint }: { checkpoint: CheckpointWithState }) {
  const { api } = useAccess();
  const [state, setState] = useState(checkpoint.state);
  const more = useAction(async () => {
    const query = { limit: PAGE_SIZE, cursor: state.next_cursor };
    const { state: next } = await api.ask<CheckpointWithState>(`/v1/checkpoints/${segment(checkpoint.id)}`, { query });
    setState((old) => ({ ...next, entries: [...old.entries, ...next.entries] }));
  });
  if (state.entries.length === 0) {
    return (
      <Empty title="No entries">
        <p>The agent had no data when this checkpoint was made.</p>
      </Empty>
    );
  }
  return (
    <>
      <DetailsList
        items={state.entries}
        summary={({ updated_at }) => (
          <span class="faint small">
            <Time at={updated_at} />
          </span>
        )}
        details={({ value }) => <pre class="json">{value}</pre>}
      />
      <Problem problem={more.problem} />
      {state.next_cursor != null && (
        <div class="more">
          <Button action={more}>{more.busy ? "Loading …" : "Show more"}</Button>
        </div>
      )}
    </>
  );
}
