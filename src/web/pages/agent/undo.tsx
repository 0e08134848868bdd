/** What a restore did, and taking it back. */
import { segment } from "../../api/client.ts";
import type { RestoreResult } from "../../api/types.ts";
import { useAction } from "../../state/load.ts";
import { say } from "../../state/notices.ts";
import type { Room } from "../../state/session.ts";
import { count } from "../../ui/numbers.ts";
import { Problem } from "../../ui/problem.tsx";

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
        <button type="button" class="button" disabled={undo.busy} onClick={() => undo.run()}>
          Undo
        </button>
        <span class="faint small">
          The state before is checkpoint <code>{result.safety_checkpoint_id}</code>
        </span>
      </div>
    </div>
  );
}
