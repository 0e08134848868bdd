/** Events of many agents in columns. */
import type { AuditEvent } from "../../api/types.ts";
import { place, withQuery } from "../../state/router.ts";
import { subject } from "../../ui/event-words.ts";
import { Actor, ResultBadge, Time } from "../../ui/inline.tsx";
import { SortHead } from "../../ui/lists/sort.tsx";
import { policyName } from "../../ui/parts.tsx";
import { NEWEST_FIRST, TIME } from "../agent/audit.tsx";
import { EventDetails } from "../agent/event.tsx";

/** How times are shown, as the address calls it. */
export const CLOCKS = [
  ["", "Local time"],
  ["utc", "UTC"],
  ["ago", "Time ago"],
] as const;

const local = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });

/** A time in full, in the zone that the reader chose. */
function At({ at, clock }: { at: string; clock: string }) {
  if (clock === "ago") return <Time at={at} />;
  const shown = clock === "utc" ? `${at.slice(0, 10)} ${at.slice(11, 19)}Z` : local.format(Date.parse(at));
  return (
    <time class="nowrap" dateTime={at} title={at}>
      {shown}
    </time>
  );
}

interface Props {
  events: readonly AuditEvent[];
  /** The rows are a list that can be turned around. */
  isSorted?: boolean;
  fresh?: ReadonlySet<string>;
  clock: string;
}

export function TrailRows({ events, fresh, clock, isSorted = false }: Props) {
  const open = place.value.query.get("event");
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="table-frame" aria-label="Events" tabIndex={0}>
      <table class="table trail-table">
        <thead>
          <tr>
            {isSorted ? <SortHead column={TIME} initially={NEWEST_FIRST} /> : <th scope="col">{TIME.name}</th>}
            {["Agent", "Operation", "Subject", "Actor", "Result"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {events.map((event) => [
            <Row
              key={event.id}
              event={event}
              clock={clock}
              isFresh={fresh?.has(event.id) === true}
              isOpen={event.id === open}
            />,
            event.id === open && (
              <tr key={`${event.id} details`}>
                <td colSpan={6}>
                  <EventDetails event={event} />
                </td>
              </tr>
            ),
          ])}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps {
  event: AuditEvent;
  clock: string;
  isFresh: boolean;
  isOpen: boolean;
}

function Row({ event, clock, isFresh, isOpen }: RowProps) {
  return (
    <tr class={isFresh ? "event-fresh" : undefined}>
      <td>
        <At at={event.timestamp} clock={clock} />
      </td>
      <td>{event.agent_id ?? <span class="faint">–</span>}</td>
      <td>
        <a href={withQuery({ event: isOpen ? null : event.id })} data-replace aria-expanded={isOpen}>
          <code>{event.operation}</code>
        </a>
      </td>
      <td class="trail-subject">
        {subject(event)}
        {event.blocked_by !== null && <span class="bad"> {policyName(event.blocked_by)}</span>}
      </td>
      <td>
        <Actor id={event.actor} />
      </td>
      <td>
        <ResultBadge result={event.result} />
      </td>
    </tr>
  );
}
