/** The external receivers of a workspace's events: the progress of each, and its last error. */
import { useEffect, useState } from "preact/hooks";
import type { Sink } from "../../api/types.ts";
import { useAsk, useEvents, useThrottled } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { CopyBlock } from "../../ui/copy.tsx";
import { Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Badge, shortId, Time, TimeOr, type Tone } from "../../ui/inline.tsx";
import { counted } from "../../ui/numbers.ts";
import { ACTIONS, Empty, Heading, ShowItems, Table } from "../../ui/parts.tsx";
import { SinkActions } from "./actions.tsx";
import { NewSink } from "./form.tsx";
import { filterWords, placeWords, TYPE_WORDS } from "./words.ts";

const STATES: Record<Sink["state"], Tone> = { ok: "good", failing: "bad", disabled: "plain" };

/** How often the page reloads a sink with a backlog, and how soon after an event, ms. */
const LOOK_EVERY_MS = 3_000;
const SOON_MS = 1_000;

export function SinksPage() {
  const { canWrite } = useAccess();
  const loaded = useAsk<{ data: Sink[] }>("/v1/sinks");
  const sinks = { ...loaded, data: loaded.data?.data, set: () => {} };
  const isSettled =
    sinks.data?.every(({ state, lag }) => state === "disabled" || (state === "ok" && lag === 0)) ?? true;
  const refresh = useThrottled(sinks.reload, SOON_MS);
  useEvents(refresh, refresh);
  useEffect(() => {
    if (isSettled) return;
    const timer = setInterval(sinks.reload, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [isSettled]);
  /** The keys of a sink that was just made or rotated: on the page, since the row may go. */
  const [made, setMade] = useState<Sink | null>(null);
  const onDone = (sink: Sink) => {
    if (sink.secret !== undefined) setMade(sink);
    sinks.reload();
  };
  const createButton = canWrite && (
    <DialogButton kind="primary" dialog={<NewSink onDone={onDone} />}>
      New sink
    </DialogButton>
  );
  return (
    <>
      <Heading title="Sinks" actions={createButton}>
        Receivers outside, such as a SIEM, that get the events of this workspace, in order and without a gap.
      </Heading>
      <ShowItems
        of={sinks}
        empty={
          <Empty title="No sink yet">
            <p>
              Nothing leaves this server. A receiver must be one that the server's setting <code>sink_allow</code>{" "}
              names.
            </p>
            {createButton}
          </Empty>
        }
      >
        {(items) => <SinkTable sinks={items} onDone={onDone} />}
      </ShowItems>
      {made !== null && <NewKeys sink={made} onClose={() => setMade(null)} />}
    </>
  );
}

function SinkTable({ sinks, onDone }: { sinks: readonly Sink[]; onDone(sink: Sink): void }) {
  const { canWrite } = useAccess();
  return (
    <Table head={["Receiver", "Gets", "Behind", "Last delivery", canWrite && ACTIONS]}>
      {sinks.map((sink) => (
        <tr key={sink.id} class={sink.enabled ? undefined : "row-ended"}>
          <th scope="row">
            {placeWords(sink)} <Badge tone={STATES[sink.state]}>{sink.state}</Badge>
            <br />
            <span class="faint small">
              {TYPE_WORDS[sink.type]} · <code title={sink.id}>{shortId(sink.id)}</code>
            </span>
          </th>
          <td data-label="Gets">
            {filterWords(sink.filter)}
            <span class="faint small">
              {" "}
              · as {sink.format}
              {sink.include_details && ", with details"}
            </span>
          </td>
          <td data-label="Behind">
            {sink.lag === null ? (
              <span class="faint">unknown</span>
            ) : (
              <span class="nowrap">{counted(sink.lag, "event")}</span>
            )}
            {sink.position !== null && <span class="faint small part-note nowrap">done to {sink.position}</span>}
          </td>
          <td data-label="Last delivery">
            <TimeOr at={sink.last_delivery_at} none="never" />
            {sink.last_error !== null && (
              <span class="small bad part-note">
                {sink.last_error.message} (<Time at={sink.last_error.at} />)
              </span>
            )}
          </td>
          {canWrite && (
            <td class="actions">
              <SinkActions sink={sink} onDone={onDone} />
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

/** The keys with which the receiver checks signatures, which are shown only once. */
function NewKeys({ sink, onClose }: { sink: Sink; onClose(): void }) {
  return (
    <Dialog title="The signing keys are ready" onClose={onClose} once="I have kept the secret" wide>
      <div class="stack">
        <p class="callout tone-warn">
          <strong>They are shown only now.</strong> Give {placeWords(sink)} the secret or the public key, so that it can
          check that deliveries come from here (Standard Webhooks).
        </p>
        <CopyBlock label="Secret" text={sink.secret as string} />
        <CopyBlock label="Public key" text={sink.public_key as string} />
      </div>
    </Dialog>
  );
}
