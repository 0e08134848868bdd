/** Restoring a checkpoint, and undoing that. Both say before what they change. */
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { Checkpoint, ConfigVersion, RestoreResult } from "../../api/types.ts";
import { useAccess } from "../../state/session.ts";
import { Confirm, DialogButton } from "../../ui/dialog.tsx";
import { Check } from "../../ui/field.tsx";
import { sortedJson } from "../../ui/json-text.ts";
import { say } from "../../ui/notices.tsx";
import { counted } from "../../ui/numbers.ts";
import { Changes, type LoadedChanges, summary, useChanges } from "./changes.tsx";
import { checkpointName } from "./checkpoints.tsx";
import { diffOf } from "./state-diff.ts";

interface RestoreProps {
  checkpoint: Checkpoint;
  changes: LoadedChanges;
  /** The configuration of the checkpoint, null for none. */
  held: HeldConfig | null;
  /** The configuration in force. */
  config: ConfigVersion | null;
  onRestored(result: RestoreResult): void;
}

type HeldConfig = Pick<ConfigVersion, "version" | "config">;

/** Asks, and says exactly what will change. */
export function Restore({ checkpoint, changes, held, config, onRestored }: RestoreProps) {
  const { api } = useAccess();
  const [data, setData] = useState(true);
  const diff = diffOf(changes);
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
        hint={diff === null ? "Comparing with now …" : summary(diff)}
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
  result: RestoreResult;
  onUndone(): void;
}

/** Says what a restore did, and offers to undo it. */
export function Restored({ result, onUndone }: RestoredProps) {
  return (
    <div class="callout tone-good" role="status">
      <p>
        <strong>The checkpoint is restored.</strong> {counted(result.entries_restored, "entry", "entries")} came back or
        changed back, {counted(result.entries_removed, "entry was", "entries were")} removed,{" "}
        {counted(result.entries_unchanged, "entry", "entries")} unchanged
        {result.config_version !== null && <>; the configuration in force is {result.config_version}</>}.
      </p>
      <div class="row">
        <DialogButton dialog={<Undo {...{ onUndone }} checkpointId={result.safety_checkpoint_id} />}>
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
  /** The state before the restore. */
  checkpointId: string;
  onUndone(): void;
}

/** Asks first, since undoing also removes what the agent wrote after the restore. */
function Undo({ checkpointId, onUndone }: UndoProps) {
  const { api } = useAccess();
  const path = `/v1/checkpoints/${segment(checkpointId)}`;
  const changes = useChanges(checkpointId);
  const undo = async () => {
    await api.ask<RestoreResult>(`${path}/restore`, { body: {} });
    say("The restore", "is undone: everything is as it was before it.");
    onUndone();
  };
  return (
    <Confirm title="Undo the restore?" action="Undo the restore" onConfirm={undo}>
      <p>Everything becomes as it was just before the restore. What was written since then goes too:</p>
      <Changes of={changes} />
    </Confirm>
  );
}
