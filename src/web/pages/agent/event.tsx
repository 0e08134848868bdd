/** One audit event at its own address. */
import { segment } from "../../api/client.ts";
import type { AuditEvent } from "../../api/types.ts";
import { useAction, useLoad } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { ResultBadge } from "../../ui/badge.tsx";
import { download } from "../../ui/download.ts";
import { subject, verb } from "../../ui/event-words.ts";
import { Heading, Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { EventDetails } from "./event-details.tsx";

/** A file that proves this one event to whoever has the public key. */
function Receipt({ room, eventId }: { room: Room; eventId: string }) {
  const save = useAction(async () => {
    const headers = { accept: "text/plain" };
    const response = await room.api.send(`/v1/audit/${segment(eventId)}/receipt`, { headers });
    download(`${eventId}.receipt.txt`, await response.blob());
  });
  return (
    <>
      <Problem problem={save.problem} />
      <div class="row">
        <button type="button" class="button" disabled={save.busy} onClick={() => save.run()}>
          Save the receipt
        </button>
        <span class="faint small">
          Proves this event alone, offline: <code>governd verify receipt.txt --public-key …</code>
        </span>
      </div>
    </>
  );
}

export function EventPage({ room, eventId }: { room: Room; eventId: string }) {
  const event = useLoad<AuditEvent>(`${room.workspace.id} ${eventId}`, (signal) =>
    room.api.ask<AuditEvent>(`/v1/audit/${segment(eventId)}`, { signal }),
  );
  return (
    <>
      <Heading title="Audit event" name="Audit event" />
      <Show of={event}>
        {(found) => (
          <div class="card stack">
            <p>
              <ResultBadge result={found.result} /> <Actor id={found.actor} /> {verb(found)}{" "}
              {subject(found) !== null && <code>{subject(found)}</code>}{" "}
              {found.agent_id !== null && (
                <>
                  as <a href={paths.audit(room.workspace.id, found.agent_id)}>{found.agent_id}</a>
                </>
              )}
            </p>
            <EventDetails room={room} event={found} />
            <Receipt room={room} eventId={found.id} />
          </div>
        )}
      </Show>
    </>
  );
}
