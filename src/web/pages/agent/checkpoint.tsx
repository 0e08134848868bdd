/** One checkpoint: what it holds and what has changed since. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { CheckpointWithState, ConfigVersion, RestoreResult } from "../../api/types.ts";
import { useReloadOnChange } from "../../state/events.ts";
import { useAsk, useLoad } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import { go } from "../../state/router.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Diff } from "../../ui/diff.tsx";
import { say } from "../../ui/notices.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { Empty, Section, Show } from "../../ui/parts.tsx";
import { Time } from "../../ui/time.tsx";
import { checkpointName } from "./checkpoints.tsx";
import { useConfig } from "./config.tsx";
import { MetadataText } from "./entry.tsx";
import { Restore, summary, Undo } from "./restore.tsx";
import { compare, type EntryChange, liveEntries, type StateDiff } from "./state-diff.ts";
import { configText } from "./versions.tsx";

/** How many items of a long list are shown at first, and how many "Show more" adds. */
const SHOWN = 100;

/** Events reload the comparison at most this often. */
const REFRESH_MS = 3_000;

interface Props {
  room: Room;
  agentId: string;
  checkpointId: string;
}

export function CheckpointView({ room, agentId, checkpointId }: Props) {
  const checkpoint = useAsk<CheckpointWithState>(`/v1/checkpoints/${segment(checkpointId)}`, {
    workspace: room.workspace.id,
  });
  return (
    <>
      <p class="crumbs small">
        <a href={paths.checkpoints(room.workspace.id, agentId)}>All checkpoints</a>
      </p>
      <Show of={checkpoint}>{(loaded) => <Inside room={room} agentId={agentId} checkpoint={loaded} />}</Show>
    </>
  );
}

interface InsideProps {
  room: Room;
  agentId: string;
  checkpoint: CheckpointWithState;
}

function Inside({ room, agentId, checkpoint }: InsideProps) {
  const config = useConfig({ room, agentId });
  const diff = useLoad<StateDiff>(`${checkpoint.id} now`, async (signal) =>
    compare(checkpoint, await liveEntries(room.api, agentId, signal)),
  );
  const again = () => {
    config.reload();
    diff.reload();
  };
  useReloadOnChange(agentId, again, REFRESH_MS);
  const [dialog, setDialog] = useState<"restore" | "delete" | null>(null);
  const [restored, setRestored] = useState<RestoreResult | null>(null);
  return (
    <div class="stack">
      <CheckpointHead checkpoint={checkpoint} canWrite={room.canWrite} onAct={setDialog} />
      {restored !== null && <Undo room={room} result={restored} onUndone={() => setRestored(null)} onChanged={again} />}
      <Section title="Compared with now">
        <Show of={diff}>{(state) => <Changes state={state} />}</Show>
        <Show of={config}>{(current) => <ConfigChange checkpoint={checkpoint} current={current} />}</Show>
      </Section>
      <Section title={`What it holds: ${counted(checkpoint.state.entries.length, "entry", "entries")}`}>
        <Entries checkpoint={checkpoint} />
      </Section>
      {dialog === "restore" && (
        <Restore
          room={room}
          checkpoint={checkpoint}
          diff={diff}
          config={config.data ?? null}
          onClose={() => setDialog(null)}
          onRestored={(result) => {
            setRestored(result);
            again();
          }}
        />
      )}
      {dialog === "delete" && (
        <Confirm
          title="Delete this checkpoint?"
          action="Delete"
          danger
          onClose={() => setDialog(null)}
          onConfirm={async () => {
            await room.api.ask(`/v1/checkpoints/${segment(checkpoint.id)}`, { method: "DELETE" });
            say("Checkpoint deleted.");
            go(paths.checkpoints(room.workspace.id, agentId), { replace: true });
          }}
        >
          <p>What only this checkpoint kept is gone for good. The live data stay as they are.</p>
        </Confirm>
      )}
    </div>
  );
}

interface HeadProps {
  checkpoint: CheckpointWithState;
  canWrite: boolean;
  onAct(act: "restore" | "delete"): void;
}

function CheckpointHead({ checkpoint, canWrite, onAct }: HeadProps) {
  return (
    <div class="section-head">
      <div>
        <h2>{checkpointName(checkpoint)}</h2>
        <p class="faint">
          Made <Time at={checkpoint.created_at} /> by <Actor id={checkpoint.created_by} />, as of event{" "}
          {count(checkpoint.audit_seq)} of the workspace
        </p>
        {Object.keys(checkpoint.metadata).length > 0 && <MetadataText metadata={checkpoint.metadata} />}
      </div>
      {canWrite && (
        <div class="row">
          <Button kind="primary" onClick={() => onAct("restore")}>
            Restore …
          </Button>
          <Button kind="danger-quiet" onClick={() => onAct("delete")}>
            Delete …
          </Button>
        </div>
      )}
    </div>
  );
}

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
function DetailsList<T extends { key: string }>({ items, summary, details }: DetailsListProps<T>) {
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

function Changes({ state }: { state: StateDiff }) {
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

function ConfigChange({ checkpoint, current }: { checkpoint: CheckpointWithState; current: ConfigVersion | null }) {
  const { config } = checkpoint.state;
  if (config === null) return <p class="faint">The checkpoint holds no configuration; a restore leaves it as it is.</p>;
  const now = current === null ? "" : configText(current.config);
  const then = configText(config.config);
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

function Entries({ checkpoint }: { checkpoint: CheckpointWithState }) {
  const { entries } = checkpoint.state;
  if (entries.length === 0) {
    return (
      <Empty title="No entries">
        <p>The agent had no data when this checkpoint was made.</p>
      </Empty>
    );
  }
  return (
    <DetailsList
      items={entries}
      summary={({ updated_at }) => (
        <span class="faint small">
          <Time at={updated_at} />
        </span>
      )}
      details={({ value }) => <pre class="value">{value}</pre>}
    />
  );
}
