/** One audit event. */
import { segment } from "../../api/client.ts";
import type { AuditEvent, Finding, JsonObject } from "../../api/types.ts";
import { useAction, useAsk } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { ResultBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Digest } from "../../ui/copy.tsx";
import { download } from "../../ui/download.ts";
import { subject, verb } from "../../ui/event-words.ts";
import { count } from "../../ui/numbers.ts";
import { Fact, Heading, Show } from "../../ui/parts.tsx";
import { Findings, Problem } from "../../ui/problem.tsx";
import { ExactTime } from "../../ui/time.tsx";

/** A file that proves this one event to anyone with the public key. */
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
        <Button action={save}>Save the receipt</Button>
        <span class="faint small">
          Proves this event alone, offline: <code>governd verify receipt.txt --public-key …</code>
        </span>
      </div>
    </>
  );
}

/** An event at its own address. */
export function EventPage({ room, eventId }: { room: Room; eventId: string }) {
  const event = useAsk<AuditEvent>(`/v1/audit/${segment(eventId)}`, { workspace: room.workspace.id });
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

/** The hash before the first event of a chain. */
const NO_HASH = "0".repeat(64);

/** Returns why an operation was denied. The details of an erased event no longer say. */
function deniedBy(details: JsonObject | null): string {
  if (details === null) return "The agent was suspended or the workspace full";
  return "quota" in details ? "The workspace was full" : "The agent was suspended";
}

/** Everything that the hash of an event covers, and its link to the event before. */
export function EventDetails({ room, event }: { room: Room; event: AuditEvent }) {
  const { details } = event;
  const findings = Array.isArray(details?.findings) ? (details.findings as unknown as Finding[]) : null;
  return (
    <div class="event-details">
      {event.result === "blocked" && (
        <div class="callout callout-bad">
          <p>
            <strong>Nothing was stored.</strong> The policy{" "}
            <code>{event.blocked_by?.replace("policy:", "") ?? "in force"}</code>
            {event.config_version !== null && <> of {event.config_version}</>} objects to:
          </p>
          {findings !== null && <Findings findings={findings} />}
          <p class="faint small">The log keeps where and what kind, never the text itself.</p>
        </div>
      )}
      {event.result === "denied" && <p class="callout callout-warn">{deniedBy(details)}, so this was refused.</p>}
      <dl class="facts">
        <Fact name="Time">
          <ExactTime at={event.timestamp} />
        </Fact>
        <Fact name="Operation">
          <code>{event.operation}</code>
        </Fact>
        <Fact name="Actor">
          <code>{event.actor}</code>
        </Fact>
        <Fact name="Configuration">{event.config_version ?? <span class="faint">none</span>}</Fact>
        <Fact name="Event">
          <a href={paths.event(room.workspace.id, event.id)}>
            <code>{event.id}</code>
          </a>
        </Fact>
        <Fact name="Position">
          {count(event.agent_seq)} of {event.agent_id === null ? "the workspace's own" : "this agent"},{" "}
          {count(event.seq)} in the workspace
        </Fact>
        <Fact name="Details">
          <Details details={details} findings={findings !== null && event.result === "blocked"} />
        </Fact>
        <Fact name="Hash">
          <Digest text={event.hash} label="hash" />
        </Fact>
        <Fact name="Hash before">
          {event.previous_hash === NO_HASH ? (
            <span class="faint">none: it is the first of its chain</span>
          ) : (
            <Digest text={event.previous_hash} label="hash of the event before" />
          )}
        </Fact>
        <Fact name="Commitment">
          <Digest text={event.details_commitment} label="commitment to the details" />
        </Fact>
      </dl>
    </div>
  );
}

function Details({ details, findings }: { details: JsonObject | null; findings: boolean }) {
  if (details === null) return <span class="faint">erased; the hash still proves the event</span>;
  const shown = Object.entries(details).filter(([name]) => !(findings && name === "findings"));
  if (shown.length === 0) return <span class="faint">{findings ? "the findings above" : "none"}</span>;
  return <pre class="json">{JSON.stringify(Object.fromEntries(shown), null, 2)}</pre>;
}
