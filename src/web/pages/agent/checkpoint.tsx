/** One checkpoint: what it holds, what has changed since, and restoring it. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { CheckpointWithState, ConfigVersion, RestoreResult } from "../../api/types.ts";
import { type Loaded, useAsk, useLoad, useReloadOnChange } from "../../state/load.ts";
import { go, paths } from "../../state/router.ts";
import { useRoom } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm, DialogButton } from "../../ui/dialog.tsx";
import { Diff } from "../../ui/diff.tsx";
import { Check } from "../../ui/field.tsx";
import { Actor, Badge, Time, type Tone } from "../../ui/inline.tsx";
import { sortedJson } from "../../ui/json-text.ts";
import { say } from "../../ui/notices.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { Empty, Section, Show } from "../../ui/parts.tsx";
import { checkpointName } from "./checkpoints.tsx";
import { useConfig } from "./config.tsx";
import { MetadataText } from "./entry.tsx";
import { compare, type EntryChange, liveEntries, type StateDiff } from "./state-diff.ts";

/** How many items of a long list are shown at first, and how many "Show more" adds. */
const SHOWN = 100;

/** Events reload the comparison at most this often. */
const REFRESH_MS = 3_000;

export function CheckpointView({ agentId, checkpointId }: { agentId: string; checkpointId: string }) {
  const { id } = useRoom();
  const checkpoint = useAsk<CheckpointWithState>(`/v1/checkpoints/${segment(checkpointId)}`);
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
  const { api } = useRoom();
  const config = useConfig(agentId);
  const diff = useLoad<StateDiff>(`${checkpoint.id} now`, async (signal) =>
    compare(checkpoint, await liveEntries(api, agentId, signal)),
  );
  const again = () => {
    config.reload();
    diff.reload();
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
        restore={<Restore {...{ checkpoint, diff, onRestored }} config={config.data ?? null} />}
        remove={<Remove agentId={agentId} checkpoint={checkpoint} />}
      />
      {restored !== null && <Restored agentId={agentId} result={restored} onUndone={() => onRestored(null)} />}
      <Section title="Compared with now">
        <Show of={diff}>{(state) => <Changes state={state} />}</Show>
        <Show of={config}>{(current) => <ConfigChange checkpoint={checkpoint} current={current} />}</Show>
      </Section>
      <Section title={`What it holds: ${counted(checkpoint.state.entries.length, "entry", "entries")}`}>
        <Entries checkpoint={checkpoint} />
      </Section>
    </div>
  );
}

interface HeadProps {
  checkpoint: CheckpointWithState;
  /** The dialogs behind its buttons. */
  restore: ComponentChildren;
  remove: ComponentChildren;
}

function CheckpointHead({ checkpoint, restore, remove }: HeadProps) {
  const { canWrite } = useRoom();
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
  const { id, api } = useRoom();
  const remove = async () => {
    await api.ask(`/v1/checkpoints/${segment(checkpoint.id)}`, { method: "DELETE" });
    say("Checkpoint deleted.");
    go(paths.checkpoints(id, agentId), { replace: true });
  };
  return (
    <Confirm title="Delete this checkpoint?" action="Delete" danger onConfirm={remove}>
      <p>What only this checkpoint kept is gone for good. The live data stay as they are.</p>
    </Confirm>
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
  const now = current === null ? "" : sortedJson(current.config);
  const then = sortedJson(config.config);
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
      details={({ value }) => <pre class="json">{value}</pre>}
    />
  );
}

/** What a restore does to one entry, and the same of several. */
const MANY: readonly (readonly [one: EntryChange["kind"], many: string])[] = [
  ["comes back", "come back"],
  ["changes back", "change back"],
  ["is removed", "are removed"],
];

/** Returns in words what a restore does to the entries. */
function summary({ changes, unchanged }: StateDiff): string {
  const of = (kind: EntryChange["kind"]) => changes.filter((change) => change.kind === kind).length;
  if (changes.length === 0) return `All ${counted(unchanged, "entry", "entries")} are as they were.`;
  const parts = MANY.filter(([kind]) => of(kind) > 0).map(
    ([kind, many]) => `${count(of(kind))} ${of(kind) === 1 ? kind : many}`,
  );
  return `Restoring it: ${parts.join(", ")}; ${count(unchanged)} unchanged.`;
}

interface RestoreProps {
  checkpoint: CheckpointWithState;
  diff: Loaded<StateDiff>;
  config: ConfigVersion | null;
  onRestored(result: RestoreResult): void;
}

/** Asks, and says exactly what will change. */
function Restore({ checkpoint, diff, config, onRestored }: RestoreProps) {
  const { api } = useRoom();
  const [data, setData] = useState(true);
  const held = checkpoint.state.config;
  const configDiffers = held !== null && (config === null || sortedJson(held.config) !== sortedJson(config.config));
  const [withConfig, setWithConfig] = useState(configDiffers);
  const restore = async () => {
    if (!data && !withConfig) throw new Error("Choose the data, the configuration, or both.");
    const body = { restore_data: data, restore_config: withConfig };
    onRestored(await api.ask<RestoreResult>(`/v1/checkpoints/${segment(checkpoint.id)}/restore`, { body }));
  };
  return (
    <Confirm title={`Restore “${checkpointName(checkpoint)}”?`} action="Restore" onConfirm={restore}>
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
        It restores everything or nothing, and first makes a checkpoint of the present state, so that you can undo it.
        If the policies refuse one entry, nothing is restored.
      </p>
    </Confirm>
  );
}

interface RestoredProps {
  agentId: string;
  result: RestoreResult;
  onUndone(): void;
}

function Restored({ agentId, result, onUndone }: RestoredProps) {
  return (
    <div class="callout tone-good" role="status">
      <p>
        <strong>Restored.</strong> {count(result.entries_restored)} came back or changed back,{" "}
        {count(result.entries_removed)} removed, {count(result.entries_unchanged)} unchanged
        {result.config_version !== null && <>; the configuration in force is {result.config_version}</>}.
      </p>
      <div class="row">
        <DialogButton dialog={<Undo {...{ agentId, onUndone }} checkpointId={result.safety_checkpoint_id} />}>
          Undo …
        </DialogButton>
        <span class="faint small">
          The state before is checkpoint <code>{result.safety_checkpoint_id}</code>
        </span>
      </div>
    </div>
  );
}

interface UndoProps {
  agentId: string;
  /** The state before the restore. */
  checkpointId: string;
  onUndone(): void;
}

/** Asks, since what the agent wrote after the restore goes too. */
function Undo({ agentId, checkpointId, onUndone }: UndoProps) {
  const { api } = useRoom();
  const path = `/v1/checkpoints/${segment(checkpointId)}`;
  const diff = useLoad<StateDiff>(`${checkpointId} now`, async (signal) =>
    compare(await api.ask<CheckpointWithState>(path, { signal }), await liveEntries(api, agentId, signal)),
  );
  const undo = async () => {
    await api.ask<RestoreResult>(`${path}/restore`, { body: {} });
    say("Undone: everything is as it was before the restore.");
    onUndone();
  };
  return (
    <Confirm title="Undo the restore?" action="Undo the restore" onConfirm={undo}>
      <p>Everything becomes as it was just before the restore. What was written since then goes too:</p>
      <Show of={diff}>{(state) => <Changes state={state} />}</Show>
    </Confirm>
  );
}
