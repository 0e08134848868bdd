/** One audit event. */
import { segment } from "../../api/client.ts";
import type { AuditEvent, Finding, JsonObject } from "../../api/types.ts";
import { useAction, useAsk } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { useTitle } from "../../state/title.ts";
import { Button } from "../../ui/button.tsx";
import { Digest } from "../../ui/copy.tsx";
import { download } from "../../ui/download.ts";
import { isFailedSignIn, subject, verb } from "../../ui/event-words.ts";
import { Actor, ExactTime, ResultBadge, shortId } from "../../ui/inline.tsx";
import { count } from "../../ui/numbers.ts";
import { Facts, Findings, Heading, Problem, policyName, Show } from "../../ui/parts.tsx";
import { isStored, LineageLinks } from "../lineage/links.tsx";

/** Who did what, in words. */
export function Sentence({ event }: { event: AuditEvent }) {
  const about = subject(event);
  return (
    <>
      {isFailedSignIn(event) ? "Somebody" : <Actor id={event.actor} />} {verb(event)}{" "}
      {about !== null && <code>{about}</code>}
    </>
  );
}

/** A file that proves this one event to anyone with the public key. */
function Receipt({ eventId }: { eventId: string }) {
  const { api } = useAccess();
  const save = useAction(async () => {
    const headers = { accept: "text/plain" };
    const response = await api.send(`/v1/audit/${segment(eventId)}/receipt`, { headers });
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
export function EventPage({ eventId }: { eventId: string }) {
  const { id } = useAccess();
  const event = useAsk<AuditEvent>(`/v1/audit/${segment(eventId)}`);
  useTitle("detail", shortId(eventId));
  return (
    <>
      <Heading title="Audit event" />
      <Show of={event}>
        {(found) => (
          <div class="card stack">
            <p>
              <ResultBadge result={found.result} /> <Sentence event={found} />{" "}
              {found.agent_id !== null && (
                <>
                  as <a href={paths.audit(id, found.agent_id)}>{found.agent_id}</a>
                </>
              )}
            </p>
            <EventDetails event={found} />
            <Receipt eventId={found.id} />
          </div>
        )}
      </Show>
    </>
  );
}

/** The hash before the first event of a chain. */
const NO_HASH = "0".repeat(64);

/** Returns why an operation was denied. The details of an erased event no longer say why. */
function deniedBy(event: AuditEvent): string {
  const { details } = event;
  if (isFailedSignIn(event)) return "The address, the password or the code was wrong, or there were too many attempts";
  if (details === null) return "The agent was suspended or the workspace full";
  return "quota" in details ? "The workspace was full" : "The agent was suspended";
}

/** Everything that the hash of an event covers, and its link to the event before. */
export function EventDetails({ event }: { event: AuditEvent }) {
  const { id, canRead } = useAccess();
  const { agent_id: agentId, details } = event;
  const chain = event.agent_id === null ? "the workspace's own" : "this agent";
  const findings = Array.isArray(details?.findings) ? (details.findings as unknown as Finding[]) : [];
  const isScreened = event.result === "blocked" || (event.result === "allowed" && findings.length > 0);
  const history = canRead && agentId !== null && typeof details?.key === "string" && (
    <a href={paths.history(id, agentId, details.key)}>
      History of <code>{details.key}</code>
    </a>
  );
  return (
    <div class="event-details">
      {isScreened && <Screened event={event} findings={findings} />}
      {event.result === "denied" && <p class="callout tone-warn">{deniedBy(event)}, so this was refused.</p>}
      <Facts
        of={{
          Time: <ExactTime at={event.timestamp} />,
          Operation: <code>{event.operation}</code>,
          Actor: <code>{event.actor}</code>,
          Configuration: event.config_version ?? <span class="faint">none</span>,
          Event: (
            <a href={paths.event(id, event.id)}>
              <code>{event.id}</code>
            </a>
          ),
          Position: `${count(event.agent_seq)} of ${chain}, ${count(event.seq)} in the workspace`,
          Entry: history || null,
          "Data then":
            canRead && agentId !== null ? (
              <a href={paths.data(id, agentId, { at: event.id })}>what the agent had right after it</a>
            ) : null,
          Lineage: isStored(event) ? <LineageLinks event={event.id} /> : null,
          Details: <Details details={details} findings={isScreened && findings.length > 0} />,
          Hash: <Digest text={event.hash} label="hash" />,
          "Hash before":
            event.previous_hash === NO_HASH ? (
              <span class="faint">none: it is the first of its chain</span>
            ) : (
              <Digest text={event.previous_hash} label="hash of the event before" />
            ),
          Commitment: <Digest text={event.details_commitment} label="commitment to the details" />,
        }}
      />
    </div>
  );
}

/** What the policies decided about a write, and what they found. */
function Screened({ event, findings }: { event: AuditEvent; findings: readonly Finding[] }) {
  const isBlocked = event.result === "blocked";
  return (
    <div class={isBlocked ? "callout tone-bad" : "callout tone-warn"}>
      {isBlocked ? (
        <p>
          <strong>Nothing was stored.</strong> The policy{" "}
          <code>{event.blocked_by === null ? "in force" : policyName(event.blocked_by)}</code>
          {versionsOf(event)} {findings.length > 0 ? "objects to:" : "does not allow it."}
        </p>
      ) : (
        <p>
          <strong>
            {event.details?.redacted === true ? "Stored, with what was found replaced." : "Stored, and reported."}
          </strong>{" "}
          The policies{versionsOf(event)} found:
        </p>
      )}
      {findings.length > 0 && (
        <>
          <Findings findings={findings} withModes={!isBlocked} />
          <p class="faint small">The log keeps where and what kind, never the text itself.</p>
        </>
      )}
    </div>
  );
}

/** Names the versions of the configuration and of the workspace's policies: " of v3 and p2". */
function versionsOf({ config_version, details }: AuditEvent): string {
  const versions = [config_version, details?.policies_version].filter((version) => typeof version === "string");
  return versions.length === 0 ? "" : ` of ${versions.join(" and ")}`;
}

function Details({ details, findings }: { details: JsonObject | null; findings: boolean }) {
  if (details === null) return <span class="faint">erased; the hash still proves the event</span>;
  const shown = Object.entries(details).filter(([name]) => !(findings && name === "findings"));
  if (shown.length === 0) return <span class="faint">{findings ? "the findings above" : "none"}</span>;
  return <pre class="json">{JSON.stringify(Object.fromEntries(shown), null, 2)}</pre>;
}
