/** The actions on a sink. */
import type { Sink, SinkTested } from "../../api/types.ts";
import { useAction } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm, DialogButton } from "../../ui/dialog.tsx";
import { say } from "../../ui/notices.tsx";
import { Problem } from "../../ui/parts.tsx";
import { EditSink } from "./form.tsx";
import { placeWords } from "./words.ts";

interface Props {
  sink: Sink;
  onDone(sink: Sink): void;
}

export function SinkActions({ sink, onDone }: Props) {
  const { api } = useAccess();
  const name = placeWords(sink);
  const path = `/v1/sinks/${sink.id}`;
  const test = useAction(async () => {
    const { delivered, message } = await api.ask<SinkTested>(`${path}/test`, { method: "POST" });
    if (delivered) say(name, "took a record.");
    else say(name, `took nothing: ${message}.`, "bad");
  });
  const turn = useAction(async () => {
    onDone(await api.ask<Sink>(path, { method: "PATCH", body: { enabled: !sink.enabled } }));
    say(name, sink.enabled ? "gets nothing for now. Its position stays." : "gets events again.");
  });
  return (
    <span class="row row-tight">
      <Problem problem={test.problem ?? turn.problem} />
      <Button small action={test} aria-label={`Test ${name}`}>
        Test
      </Button>
      <DialogButton small aria-label={`Change ${name}`} dialog={<EditSink {...{ sink, onDone }} />}>
        Change
      </DialogButton>
      {sink.type === "webhook" && (
        <DialogButton small aria-label={`Rotate the keys of ${name}`} dialog={<RotateKeys {...{ sink, onDone }} />}>
          Rotate
        </DialogButton>
      )}
      <Button small action={turn} aria-label={`Turn ${sink.enabled ? "off" : "on"} ${name}`}>
        {sink.enabled ? "Turn off" : "Turn on"}
      </Button>
      <DialogButton
        kind="danger-quiet"
        small
        aria-label={`Remove ${name}`}
        dialog={<RemoveSink {...{ sink, onDone }} />}
      >
        Remove
      </DialogButton>
    </span>
  );
}

function RotateKeys({ sink, onDone }: Props) {
  const { api } = useAccess();
  const rotate = async () => onDone(await api.ask<Sink>(`/v1/sinks/${sink.id}/rotate`, { method: "POST" }));
  return (
    <Confirm title={`New keys for ${placeWords(sink)}?`} action="Make new keys" onConfirm={rotate}>
      <p>Deliveries are signed with the new keys and the old ones for 24 hours, so that nothing is interrupted.</p>
    </Confirm>
  );
}

function RemoveSink({ sink, onDone }: Props) {
  const { api } = useAccess();
  const remove = async () => {
    await api.ask(`/v1/sinks/${sink.id}`, { method: "DELETE" });
    say(placeWords(sink), "is removed.");
    onDone(sink);
  };
  return (
    <Confirm title={`Remove ${placeWords(sink)}?`} action="Remove" danger onConfirm={remove}>
      <p>
        Nothing more is delivered, and its position is forgotten
        {sink.position === null ? "." : `: a new sink can begin at event ${sink.position + 1}.`}
      </p>
    </Confirm>
  );
}
