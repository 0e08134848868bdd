/** Inside a checkpoint: what it holds, what has changed since, and the way back. */
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { CheckpointWithState, ConfigVersion, RestoreResult } from "../../api/types.ts";
import { changesSomething, useEvents, useThrottled } from "../../state/events.ts";
import { type Loaded, useLoad } from "../../state/load.ts";
import { say } from "../../state/notices.ts";
import { paths } from "../../state/paths.ts";
import { go } from "../../state/router.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Diff } from "../../ui/diff.tsx";
import { Check } from "../../ui/field.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { Empty, Section, Show } from "../../ui/parts.tsx";
import { Time } from "../../ui/time.tsx";
import { checkpointName } from "./checkpoints.tsx";
import { useConfig } from "./config.tsx";
import { MetadataText } from "./entry.tsx";
import { compare, type EntryChange, liveEntries, type StateDiff } from "./state-diff.ts";
import { Undo } from "./undo.tsx";
import { configText } from "./versions.tsx";

/** How many rows of a long list are shown at first, and added each time. */
const SHOWN = 100;

/** The comparison follows the events at most this often. */
const REFRESH_MS = 3_000;

interface Props {
  room: Room;
  agentId: string;
  checkpointId: string;
}

export function CheckpointView({ room, agentId, checkpointId }: Props) {
  const checkpoint = useLoad<CheckpointWithState>(`${room.workspace.id} ${checkpointId}`, (signal) =>
    room.api.ask<CheckpointWithState>(`/v1/checkpoints/${segment(checkpointId)}`, { signal }),
  );
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
  const refresh = useThrottled(again, REFRESH_MS);
  useEvents((event) => {
    if (event.agent_id === agentId && changesSomething(event)) refresh();
  }, again);
  const [dialog, setDialog] = useState<"restore" | "delete" | null>(null);
  const [restored, setRestored] = useState<RestoreResult | null>(null);
  return (
    <div class="stack">
      <CheckpointHead checkpoint={checkpoint} canWrite={room.canWrite} onAct={setDialog} />
      {restored !== null && (
        <Undo room={room} result={restored} onUndone={() => setRestored(null)} onChanged={again} />
      )}
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
          <button type="button" class="button button-primary" onClick={() => onAct("restore")}>
            Restore …
          </button>
          <button type="button" class="button button-danger-quiet" onClick={() => onAct("delete")}>
            Delete …
          </button>
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

/** In words: what a restore does to the entries. */
function summary({ changes, unchanged }: StateDiff): string {
  const of = (kind: EntryChange["kind"]) => changes.filter((change) => change.kind === kind).length;
  if (changes.length === 0) return `All ${counted(unchanged, "entry", "entries")} are as they were.`;
  const parts = (["comes back", "changes back", "is removed"] as const)
    .filter((kind) => of(kind) > 0)
    .map((kind) => `${count(of(kind))} ${kind}`);
  return `Restoring it: ${parts.join(", ")}; ${count(unchanged)} unchanged.`;
}

function Changes({ state }: { state: StateDiff }) {
  const [shown, setShown] = useState(SHOWN);
  return (
    <>
      <p>{summary(state)}</p>
      {state.changes.length > 0 && (
        <ul class="changes">
          {state.changes.slice(0, shown).map((change) => (
            <li key={change.key}>
              <details>
                <summary>
                  <code>{change.key}</code> <Badge tone={TONES[change.kind]}>{change.kind}</Badge>
                </summary>
                <Diff
                  before={change.now?.value ?? ""}
                  after={change.old?.value ?? ""}
                  beforeName="Now"
                  afterName="In the checkpoint"
                />
              </details>
            </li>
          ))}
        </ul>
      )}
      {state.changes.length > shown && (
        <button type="button" class="button" onClick={() => setShown(shown + SHOWN)}>
          Show more
        </button>
      )}
    </>
  );
}

function ConfigChange({
  checkpoint,
  current,
}: {
  checkpoint: CheckpointWithState;
  current: ConfigVersion | null;
}) {
  const { config } = checkpoint.state;
  if (config === null)
    return <p class="faint">The checkpoint holds no configuration; a restore leaves it as it is.</p>;
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
  const [shown, setShown] = useState(SHOWN);
  const { entries } = checkpoint.state;
  if (entries.length === 0) {
    return (
      <Empty title="No entries">
        <p>The agent had no data when this checkpoint was made.</p>
      </Empty>
    );
  }
  return (
    <>
      <ul class="changes">
        {entries.slice(0, shown).map((entry) => (
          <li key={entry.key}>
            <details>
              <summary>
                <code>{entry.key}</code>{" "}
                <span class="faint small">
                  <Time at={entry.updated_at} />
                </span>
              </summary>
              <pre class="value">{entry.value}</pre>
            </details>
          </li>
        ))}
      </ul>
      {entries.length > shown && (
        <button type="button" class="button" onClick={() => setShown(shown + SHOWN)}>
          Show more
        </button>
      )}
    </>
  );
}

interface RestoreProps {
  room: Room;
  checkpoint: CheckpointWithState;
  diff: Loaded<StateDiff>;
  config: ConfigVersion | null;
  onClose(): void;
  onRestored(result: RestoreResult): void;
}

/** Says exactly what will change, before it does. */
function Restore({ room, checkpoint, diff, config, onClose, onRestored }: RestoreProps) {
  const [data, setData] = useState(true);
  const held = checkpoint.state.config;
  const configDiffers =
    held !== null && (config === null || configText(held.config) !== configText(config.config));
  const [withConfig, setWithConfig] = useState(configDiffers);
  return (
    <Confirm
      title={`Restore “${checkpointName(checkpoint)}”?`}
      action="Restore"
      onClose={onClose}
      onConfirm={async () => {
        if (!data && !withConfig) throw new Error("Choose the data, the configuration, or both.");
        const result = await room.api.ask<RestoreResult>(
          `/v1/checkpoints/${segment(checkpoint.id)}/restore`,
          {
            body: { restore_data: data, restore_config: withConfig },
          },
        );
        onRestored(result);
      }}
    >
      <Check
        label="Data"
        hint={diff.data === undefined ? "Comparing with now …" : summary(diff.data)}
        checked={data}
        onChecked={setData}
      />
      <Check
        label="Configuration"
        hint={
          held === null
            ? "The checkpoint holds none."
            : configDiffers
              ? `The content of ${held.version} becomes a new version, and its policies apply.`
              : "It has the same content now, so nothing would change."
        }
        checked={withConfig}
        disabled={!configDiffers}
        onChecked={setWithConfig}
      />
      <p class="faint">
        All or nothing. The state of now is kept as a checkpoint in the same step, so that you can undo this.
        Entries that the policies refuse stop the whole restore.
      </p>
    </Confirm>
  );
}
