/** The checkpoints of an agent, and making one. */
import { CHECKPOINT_EVERY, CHECKPOINTS_KEPT } from "../../../screen/checkpoint-schedule.ts";
import { allPolicies } from "../../../screen/policies.ts";
import { segment } from "../../api/client.ts";
import type { Checkpoint, EffectivePolicies } from "../../api/types.ts";
import { useAsk, useEvents, useList } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Form, TextField, useFields } from "../../ui/field.tsx";
import { Actor, Badge, shortId, Time } from "../../ui/inline.tsx";
import { useClose } from "../../ui/leave.ts";
import { type SortedColumn, SortHead, sortedByApi } from "../../ui/lists/sort.tsx";
import { say } from "../../ui/notices.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { Empty, ShowItems, Table } from "../../ui/parts.tsx";

export function CheckpointsTab({ agentId }: { agentId: string }) {
  const { id, canRead, canWrite } = useAccess();
  const checkpoints = useList<Checkpoint>("/v1/checkpoints", {
    agent_id: agentId,
    ...sortedByApi(COLUMNS, NEWEST_FIRST),
  });
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
            <Schedule agentId={agentId} />
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

/** The columns that the API sorts by, as it calls them. */
const COLUMNS: readonly SortedColumn[] = [
  { id: "label", name: "Checkpoint" },
  { id: "created_at", name: "Made", isMostFirst: true },
  { id: "entry_count", name: "Entries", isMostFirst: true, isNumber: true },
];
const NEWEST_FIRST = "-created_at";

function CheckpointList({ agentId, items }: { agentId: string; items: readonly Checkpoint[] }) {
  const { id, canRead } = useAccess();
  const heads = COLUMNS.map((column) => <SortHead key={column.id} column={column} initially={NEWEST_FIRST} />);
  return (
    <Table head={[...heads, "Configuration"]}>
      {items.map((checkpoint) => (
        <tr key={checkpoint.id}>
          <th scope="row">
            {canRead ? (
              <a href={paths.checkpoint(id, agentId, checkpoint.id)}>{checkpointName(checkpoint)}</a>
            ) : (
              checkpointName(checkpoint)
            )}{" "}
            {checkpoint.created_by === DAEMON && <Badge>scheduled</Badge>}
            {checkpoint.before_restore && <Badge>before a restore</Badge>}
          </th>
          <td data-label="Made">
            <Time at={checkpoint.created_at} /> by <Actor id={checkpoint.created_by} />
          </td>
          <td data-label="Entries" class="number">
            {count(checkpoint.entry_count)}
          </td>
          <td data-label="Configuration">{checkpoint.config_version ?? <span class="faint">none</span>}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The actor of the checkpoints that a policy schedules. */
const DAEMON = "system";

/** Says how often the daemon makes a checkpoint by itself, and where that is set. */
function Schedule({ agentId }: { agentId: string }) {
  const { id } = useAccess();
  const effective = useAsk<EffectivePolicies>(`/v1/config/${segment(agentId)}/effective`);
  const policies = effective.data?.policies;
  if (policies === undefined) return <p class="faint">&nbsp;</p>;
  const scheduled = SCHEDULE.flatMap(([name, { display }]) => {
    const setting = policies[name];
    return setting === undefined ? [] : [display.badge(setting as never)];
  });
  return (
    <p class="faint">
      {scheduled.length === 0 ? "Making one copies nothing. " : `The daemon: ${scheduled.join(", ")}. `}
      <a href={paths.agent(id, agentId)}>{scheduled.length === 0 ? "Have them made by a schedule" : "Change"}</a>
    </p>
  );
}

const SCHEDULE = allPolicies().filter(([name]) => name === CHECKPOINT_EVERY || name === CHECKPOINTS_KEPT);

function MakeCheckpoint({ agentId, onMade }: { agentId: string; onMade(): void }) {
  const close = useClose();
  const { api } = useAccess();
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
