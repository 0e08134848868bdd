/** The checkpoints of an agent, and making one. */
import type { Checkpoint } from "../../api/types.ts";
import { useEvents, useList } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useRoom } from "../../state/session.ts";
import { Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Form, TextField, useFields } from "../../ui/field.tsx";
import { Actor, shortId, Time } from "../../ui/inline.tsx";
import { useClose } from "../../ui/leave.ts";
import { say } from "../../ui/notices.tsx";
import { counted } from "../../ui/numbers.ts";
import { Empty, ShowItems } from "../../ui/parts.tsx";

export function CheckpointsTab({ agentId }: { agentId: string }) {
  const { id, canRead, canWrite } = useRoom();
  const checkpoints = useList<Checkpoint>("/v1/checkpoints", { agent_id: agentId });
  useEvents((event) => {
    const changed = /^checkpoint\.(create|restore|delete)$/.test(event.operation);
    if (event.agent_id === agentId && event.result === "ok" && changed) checkpoints.reload();
  }, checkpoints.reload);
  const button = canWrite && (
    <DialogButton kind="primary" dialog={<MakeCheckpoint agentId={agentId} onMade={checkpoints.reload} />}>
      New checkpoint
    </DialogButton>
  );
  return (
    <ShowItems
      of={checkpoints}
      empty={
        <Empty title="No checkpoint yet">
          <p>A checkpoint keeps the configuration and all data as they are now, so that you can restore them.</p>
          {button}
        </Empty>
      }
    >
      {(items) => (
        <>
          <div class="toolbar">
            <p class="faint">Newest first. Making one copies nothing.</p>
            <div class="row">
              {canRead && (
                <a class="button" href={paths.compare(id, agentId)}>
                  Compare …
                </a>
              )}
              {button}
            </div>
          </div>
          <CheckpointList agentId={agentId} items={items} />
        </>
      )}
    </ShowItems>
  );
}

/** Returns the label of a checkpoint, or a short form of its id. */
export const checkpointName = ({ label, id }: { label: string | null; id: string }): string => label ?? shortId(id);

function CheckpointList({ agentId, items }: { agentId: string; items: readonly Checkpoint[] }) {
  const { id, canRead } = useRoom();
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
            {canRead ? (
              <a class="card card-link" href={paths.checkpoint(id, agentId, checkpoint.id)}>
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

function MakeCheckpoint({ agentId, onMade }: { agentId: string; onMade(): void }) {
  const close = useClose();
  const { api } = useRoom();
  const { field, filled } = useFields({ label: "" });
  const make = async () => {
    const made = await api.ask<Checkpoint>("/v1/checkpoints", { body: { agent_id: agentId, ...filled } });
    say(`The checkpoint ${checkpointName(made)}`, `is made, with ${counted(made.entry_count, "entry", "entries")}.`);
    close();
    onMade();
  };
  return (
    <Dialog title="New checkpoint">
      <Form onSubmit={make} submit="Make the checkpoint">
        <TextField label="Label" hint="Optional, such as: before the migration." {...field("label")} />
      </Form>
    </Dialog>
  );
}
