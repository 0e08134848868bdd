/** The checkpoints of an agent, and making one. */
import { useState } from "preact/hooks";
import type { Checkpoint } from "../../api/types.ts";
import { useEvents } from "../../state/events.ts";
import { useAction, useList } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import type { Room } from "../../state/session.ts";
import { Actor, shortId } from "../../ui/actor.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Form, TextField, useText } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { counted } from "../../ui/numbers.ts";
import { Empty, More, Show } from "../../ui/parts.tsx";
import { Time } from "../../ui/time.tsx";

interface Props {
  room: Room;
  agentId: string;
}

export function CheckpointsTab({ room, agentId }: Props) {
  const [making, setMaking] = useState(false);
  const checkpoints = useList<Checkpoint>(room.workspace.id, "/v1/checkpoints", { agent_id: agentId });
  useEvents((event) => {
    const changed = /^checkpoint\.(create|restore|delete)$/.test(event.operation);
    if (event.agent_id === agentId && event.result === "ok" && changed) checkpoints.reload();
  }, checkpoints.reload);
  const button = room.canWrite && (
    <Button kind="primary" onClick={() => setMaking(true)}>
      New checkpoint
    </Button>
  );
  return (
    <>
      <Show of={checkpoints}>
        {(items) =>
          items.length === 0 ? (
            <Empty title="No checkpoint yet">
              <p>A checkpoint keeps the configuration and all data as they are now, so that you can restore them.</p>
              {button}
            </Empty>
          ) : (
            <>
              <div class="toolbar">
                <p class="faint">Newest first. Making one copies nothing.</p>
                {button}
              </div>
              <CheckpointList room={room} agentId={agentId} items={items} />
              <More of={checkpoints} />
            </>
          )
        }
      </Show>
      {making && (
        <MakeCheckpoint room={room} agentId={agentId} onClose={() => setMaking(false)} onMade={checkpoints.reload} />
      )}
    </>
  );
}

/** Returns the label of a checkpoint, or a short form of its id. */
export const checkpointName = ({ label, id }: { label: string | null; id: string }): string => label ?? shortId(id);

function CheckpointList({ room, agentId, items }: Props & { items: readonly Checkpoint[] }) {
  return (
    <ul class="card-list">
      {items.map((checkpoint) => {
        const text = (
          <>
            <strong>{checkpointName(checkpoint)}</strong>
            <span class="faint small">
              <Time at={checkpoint.created_at} /> by <Actor id={checkpoint.created_by} /> ·{" "}
              {counted(checkpoint.entry_count, "entry", "entries")} · {checkpoint.config_version ?? "no configuration"}
            </span>
          </>
        );
        return (
          <li key={checkpoint.id}>
            {room.canRead ? (
              <a class="card card-link" href={paths.checkpoint(room.workspace.id, agentId, checkpoint.id)}>
                {text}
              </a>
            ) : (
              <div class="card card-link">{text}</div>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function MakeCheckpoint({ room, agentId, onClose, onMade }: Props & { onClose(): void; onMade(): void }) {
  const label = useText();
  const make = useAction(async () => {
    const body = { agent_id: agentId, ...(label.value === "" ? {} : { label: label.value }) };
    const made = await room.api.ask<Checkpoint>("/v1/checkpoints", { body });
    say(`Checkpoint made: ${counted(made.entry_count, "entry", "entries")}.`);
    onMade();
    onClose();
  });
  return (
    <Dialog title="New checkpoint" onClose={onClose}>
      <Form action={make} submit="Make the checkpoint">
        <TextField label="Label" hint="Optional, such as: before the migration." {...label} param="label" />
      </Form>
    </Dialog>
  );
}
