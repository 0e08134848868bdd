/** Everything that an event's hash is made of, and its link to the one before. */
import type { AuditEvent, Finding, JsonObject } from "../../api/types.ts";
import { paths } from "../../state/paths.ts";
import type { Room } from "../../state/session.ts";
import { Digest } from "../../ui/copy.tsx";
import { Findings } from "../../ui/findings.tsx";
import { count } from "../../ui/numbers.ts";
import { ExactTime } from "../../ui/time.tsx";

/** The hash before the first event of a chain. */
const NO_HASH = "0".repeat(64);

/** Why an operation was denied; of an erased event nobody knows which it was. */
function deniedBy(details: JsonObject | null): string {
  if (details === null) return "The agent was suspended or the workspace full";
  return "quota" in details ? "The workspace was full" : "The agent was suspended";
}

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
      {event.result === "denied" && (
        <p class="callout callout-warn">{deniedBy(details)}, so this was refused.</p>
      )}
      <dl class="facts">
        <dt>Time</dt>
        <dd>
          <ExactTime at={event.timestamp} />
        </dd>
        <dt>Operation</dt>
        <dd>
          <code>{event.operation}</code>
        </dd>
        <dt>Actor</dt>
        <dd>
          <code>{event.actor}</code>
        </dd>
        <dt>Configuration</dt>
        <dd>{event.config_version ?? <span class="faint">none</span>}</dd>
        <dt>Event</dt>
        <dd>
          <a href={paths.event(room.workspace.id, event.id)}>
            <code>{event.id}</code>
          </a>
        </dd>
        <dt>Position</dt>
        <dd>
          {count(event.agent_seq)} of {event.agent_id === null ? "the workspace's own" : "this agent"},{" "}
          {count(event.seq)} in the workspace
        </dd>
        <dt>Details</dt>
        <dd>
          <Details details={details} findings={findings !== null && event.result === "blocked"} />
        </dd>
        <dt>Hash</dt>
        <dd>
          <Digest text={event.hash} label="hash" />
        </dd>
        <dt>Hash before</dt>
        <dd>
          {event.previous_hash === NO_HASH ? (
            <span class="faint">none: it is the first of its chain</span>
          ) : (
            <Digest text={event.previous_hash} label="hash of the event before" />
          )}
        </dd>
        <dt>Commitment</dt>
        <dd>
          <Digest text={event.details_commitment} label="commitment to the details" />
        </dd>
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
