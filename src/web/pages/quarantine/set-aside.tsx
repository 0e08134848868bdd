/** Setting a version aside, after a preview, with what followed from it if wanted; and releasing it. */
import { useState } from "preact/hooks";
import { isCode } from "../../api/client.ts";
import type { Quarantined, QuarantinePreview } from "../../api/types.ts";
import { useLoad } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Form, Select, TextField, useFields } from "../../ui/field.tsx";
import { Badge, shortId, Time } from "../../ui/inline.tsx";
import { useClose } from "../../ui/leave.ts";
import { say } from "../../ui/notices.tsx";
import { counted } from "../../ui/numbers.ts";
import { Show, Table } from "../../ui/parts.tsx";

interface VersionProps {
  agentId: string;
  /** The id of the event that wrote it. */
  version: string;
  onChanged(): void;
}

/** The button that sets a version aside with what followed from it. @param steps how far, until others are chosen */
export const SetAsideWithAll = ({ steps, ...version }: VersionProps & { steps: string }) => (
  <DialogButton kind="danger-quiet" dialog={<SetAside {...version} steps={steps} />}>
    Set aside with everything that followed …
  </DialogButton>
);

export const SetAsideBadge = () => <Badge tone="bad">set aside</Badge>;

/** The button for what can be done with a version: to set it aside, or to release it. */
export function Placement({ isSetAside, ...version }: VersionProps & { isSetAside: boolean }) {
  const named = { "aria-label": `${isSetAside ? "Release" : "Set aside"} … (version ${shortId(version.version)})` };
  return isSetAside ? (
    <DialogButton {...named} dialog={<Release {...version} />}>
      Release …
    </DialogButton>
  ) : (
    <DialogButton {...named} kind="danger-quiet" dialog={<SetAside {...version} />}>
      Set aside …
    </DialogButton>
  );
}

const STEPS = [
  ["0", "Nothing else"],
  ["1", "What followed directly"],
  ...[2, 3, 4, 5].map((steps) => [String(steps), `What followed in ${steps} steps`] as const),
] as const;

/** A preview changes nothing and records no reason, but the API wants one. */
const NO_REASON = "A preview.";

function SetAside({ agentId, version, onChanged, steps: first = "0" }: VersionProps & { steps?: string }) {
  const { api } = useAccess();
  const close = useClose();
  const { field, values } = useFields({ reason: "", include_effects: first });
  const steps = Number(values.include_effects);
  const what = { agent_id: agentId, audit_id: version, ...(steps > 0 && { include_effects: steps }) };
  const preview = useLoad<QuarantinePreview>(JSON.stringify(what), (signal) =>
    api.ask("/v1/quarantine", { body: { ...what, reason: NO_REASON }, signal }),
  );
  const [changed, setChanged] = useState(false);
  const confirm = async () => {
    setChanged(false);
    if (preview.data === undefined) throw new Error("What would be set aside is still being looked for. Try again.");
    const body = { ...what, reason: values.reason, confirm_digest: preview.data.digest };
    try {
      const { count } = await api.ask<Quarantined>("/v1/quarantine", { body });
      say(counted(count, "version"), `${count === 1 ? "is" : "are"} set aside.`);
      onChanged();
      close();
    } catch (error) {
      if (!isCode(error, "preview_changed")) throw error;
      setChanged(true);
      preview.reload();
    }
  };
  return (
    <Dialog title="Set this version aside?" wide>
      <Form onSubmit={confirm} submit="Set aside" kind="danger" disabled={preview.data === undefined} cancel>
        <p>No program sees it from then on; people see it marked. Nothing is deleted, and you can release it.</p>
        <TextField label="Reason" hint="It is recorded." required {...field("reason")} />
        <Select label="Also" {...field("include_effects")} options={STEPS} />
        <Show of={preview}>{({ items }) => <Items items={items} />}</Show>
        {changed && (
          <p class="callout tone-warn" role="alert">
            <strong>It is another set by now.</strong> Nothing was set aside. Above is what would be now.
          </p>
        )}
      </Form>
    </Dialog>
  );
}

/** The items of a set that are shown. */
const SHOWN = 100;

function Items({ items }: Pick<QuarantinePreview, "items">) {
  const { id } = useAccess();
  return (
    <>
      <Table head={["Version", "Agent", "Key", "Written"]}>
        {items.slice(0, SHOWN).map((item) => (
          <tr key={item.audit_id}>
            <th scope="row">
              <a href={paths.event(id, item.audit_id)}>
                <code>{shortId(item.audit_id)}</code>
              </a>{" "}
              {item.present && <Badge tone="good">present</Badge>}
            </th>
            <td data-label="Agent">{item.agent_id}</td>
            <td data-label="Key">
              <code>{item.key}</code>
            </td>
            <td data-label="Written">
              <Time at={item.timestamp} />
            </td>
          </tr>
        ))}
      </Table>
      <p class="faint small">
        {counted(items.length, "version")}
        {items.length > SHOWN && `, of which the first ${SHOWN} are shown`}
      </p>
    </>
  );
}

function Release({ agentId, version, onChanged }: VersionProps) {
  const { api } = useAccess();
  const close = useClose();
  const { field, values } = useFields({ reason: "" });
  const release = async () => {
    const query = { agent_id: agentId, version };
    await api.ask<Quarantined>("/v1/quarantine", { method: "DELETE", query, body: { reason: values.reason } });
    say("The version", "is released.");
    onChanged();
    close();
  };
  return (
    <Dialog title="Release this version?">
      <Form onSubmit={release} submit="Release" cancel>
        <p>Programs see it again, if its key still holds it.</p>
        <TextField label="Reason" hint="It is recorded." required {...field("reason")} />
      </Form>
    </Dialog>
  );
}
