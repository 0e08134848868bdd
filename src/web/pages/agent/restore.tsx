/** Restoring a checkpoint, and undoing it. */
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { CheckpointWithState, ConfigVersion, RestoreResult } from "../../api/types.ts";
import { type Loaded, useAction } from "../../state/load.ts";
import type { Room } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Check } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { Problem } from "../../ui/problem.tsx";
import { checkpointName } from "./checkpoints.tsx";
import type { EntryChange, StateDiff } from "./state-diff.ts";
import { configText } from "./versions.tsx";

/** Returns in words what a restore does to the entries. */
export function summary({ changes, unchanged }: StateDiff): string {
  const of = (kind: EntryChange["kind"]) => changes.filter((change) => change.kind === kind).length;
  if (changes.length === 0) return `All ${counted(unchanged, "entry", "entries")} are as they were.`;
  const parts = (["comes back", "changes back", "is removed"] as const)
    .filter((kind) => of(kind) > 0)
    .map((kind) => `${count(of(kind))} ${kind}`);
  return `Restoring it: ${parts.join(", ")}; ${count(unchanged)} unchanged.`;
}

interface RestoreProps {
  room: Room;
  checkpoint: CheckpointWithState;
  diff: Loaded<StateDiff>;
  config: ConfigVersion | null;
  onClose(): void;
  onRestored(result: RestoreResult): void;
}

/** Asks, and says exactly what will change. */
export function Restore({ room, checkpoint, diff, config, onClose, onRestored }: RestoreProps) {
  const [data, setData] = useState(true);
  const held = checkpoint.state.config;
  const configDiffers = held !== null && (config === null || configText(held.config) !== configText(config.config));
  const [withConfig, setWithConfig] = useState(configDiffers);
  return (
    <Confirm
      title={`Restore “${checkpointName(checkpoint)}”?`}
      action="Restore"
      onClose={onClose}
      onConfirm={async () => {
        if (!data && !withConfig) throw new Error("Choose the data, the configuration, or both.");
        const result = await room.api.ask<RestoreResult>(`/v1/checkpoints/${segment(checkpoint.id)}/restore`, {
          body: { restore_data: data, restore_config: withConfig },
        });
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
        It restores everything or nothing, and first makes a checkpoint of the present state, so that you can undo it.
        If the policies refuse one entry, nothing is restored.
      </p>
    </Confirm>
  );
}

interface UndoProps {
  room: Room;
  result: RestoreResult;
  onUndone(): void;
  onChanged(): void;
}

export function Undo({ room, result, onUndone, onChanged }: UndoProps) {
  const undo = useAction(async () => {
    await room.api.ask<RestoreResult>(`/v1/checkpoints/${segment(result.safety_checkpoint_id)}/restore`, {
      method: "POST",
      body: {},
    });
    say("Undone: everything is as it was before the restore.");
    onChanged();
    onUndone();
  });
  return (
    <div class="callout callout-good" role="status">
      <p>
        <strong>Restored.</strong> {count(result.entries_restored)} came back or changed back,{" "}
        {count(result.entries_removed)} removed, {count(result.entries_unchanged)} unchanged
        {result.config_version !== null && <>; the configuration in force is {result.config_version}</>}.
      </p>
      <Problem problem={undo.problem} />
      <div class="row">
        <Button action={undo}>Undo</Button>
        <span class="faint small">
          The state before is checkpoint <code>{result.safety_checkpoint_id}</code>
        </span>
      </div>
    </div>
  );
}
