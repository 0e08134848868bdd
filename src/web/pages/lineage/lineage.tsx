/** What led to a write, and what followed from it: a drawing, and a table with the same. */
import { segment } from "../../api/client.ts";
import type { AuditEvent, Lineage, LineageItem } from "../../api/types.ts";
import { useAsk, useList } from "../../state/load.ts";
import { paths, place, setQuery } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { useTitle } from "../../state/title.ts";
import { Select } from "../../ui/field.tsx";
import { Actor, ExactTime, shortId, Time } from "../../ui/inline.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { Empty, Heading, Show, ShowItems, Table } from "../../ui/parts.tsx";
import { SetAsideWithAll } from "../quarantine/set-aside.tsx";
import { Drawing } from "./drawing.tsx";
import { DIRECTIONS, isStored, LineageLinks } from "./links.tsx";

/** How many steps are shown until others are chosen. */
const DEPTH = "2";
const DEPTHS = ["1", "2", "3", "4", "5"].map((depth) => [depth, counted(Number(depth), "step")] as const);

const PURPOSES = {
  causes: "The versions that the same actor had been shown before this write, and what led to those.",
  effects: "The writes of everybody who had been shown this version before, and what followed from those.",
} as const;

export function LineagePage({ eventId }: { eventId: string }) {
  const { canWrite } = useAccess();
  const { query } = place.value;
  const direction = query.get("direction") === "causes" ? "causes" : "effects";
  const depth = DEPTHS.some(([each]) => each === query.get("depth")) ? (query.get("depth") as string) : DEPTH;
  const event = useAsk<AuditEvent>(`/v1/audit/${segment(eventId)}`);
  useTitle("detail", shortId(eventId));
  return (
    <>
      <Heading title={DIRECTIONS[direction]}>{PURPOSES[direction]}</Heading>
      <Show of={event}>
        {(found) => (
          <>
            <About event={found} />
            <div class="row lineage-bar">
              <LineageLinks event={eventId} depth={depth} current={direction} />
              {direction === "effects" && canWrite && found.agent_id !== null && isStored(found) && (
                <SetAsideWithAll
                  {...{ agentId: found.agent_id, version: eventId, onChanged: event.reload, steps: depth }}
                />
              )}
              <Select label="How far" value={depth} options={DEPTHS} onValue={(next) => setQuery({ depth: next })} />
            </div>
            <Found key={`${eventId} ${direction} ${depth}`} event={found} direction={direction} depth={depth} />
          </>
        )}
      </Show>
    </>
  );
}

const keyOf = ({ details }: AuditEvent): string | null => (typeof details?.key === "string" ? details.key : null);

/** The write where it begins. */
function About({ event }: { event: AuditEvent }) {
  const { id } = useAccess();
  const { agent_id: agentId, actor, timestamp } = event;
  const session = typeof event.details?.session === "string" ? event.details.session : null;
  return (
    <p class="lineage-about">
      {agentId !== null && <Entry agentId={agentId} entryKey={keyOf(event)} />}, written by <Actor id={actor} />{" "}
      {session !== null && (
        <>
          in the session <code>{session}</code>{" "}
        </>
      )}
      <a href={paths.event(id, event.id)}>
        <ExactTime at={timestamp} />
      </a>
    </p>
  );
}

interface FoundProps {
  event: AuditEvent;
  direction: keyof typeof DIRECTIONS;
  depth: string;
}

function Found({ event, direction, depth }: FoundProps) {
  const items = useList<LineageItem, Lineage>(`/v1/lineage/${segment(event.id)}`, { direction, depth });
  const start = { id: event.id, key: keyOf(event), agentId: event.agent_id ?? "" };
  return (
    <>
      <ShowItems of={items} empty={<Nothing direction={direction} />}>
        {(all) => (
          <>
            <Drawing start={start} items={all} direction={direction} />
            <Rows items={all} start={start.id} direction={direction} />
          </>
        )}
      </ShowItems>
      <p class="faint small lineage-observed">
        This is what governd served to whom before what was written. It does not say what caused what: a program may
        have ignored what it read, or have learned it elsewhere.
      </p>
    </>
  );
}

function Nothing({ direction }: { direction: FoundProps["direction"] }) {
  return direction === "effects" ? (
    <Empty title="Nothing followed">
      <p>
        Nobody who was shown this version has written anything after that: in the same session, or within ten minutes.
      </p>
    </Empty>
  ) : (
    <Empty title="Nothing led here">
      <p>Who wrote this had been shown nothing before: in the same session, or within ten minutes.</p>
    </Empty>
  );
}

interface RowsProps {
  items: readonly LineageItem[];
  start: string;
  direction: FoundProps["direction"];
}

function Rows({ items, start, direction }: RowsProps) {
  const { id } = useAccess();
  const keys = new Map(items.map(({ audit_id, key }) => [audit_id, key]));
  return (
    <Table head={["Steps", "Entry", "Written", "Shown by", direction === "effects" ? "After" : "Before"]}>
      {items.map(({ audit_id, agent_id, key, timestamp, from, through, depth }) => (
        <tr key={audit_id}>
          <td data-label="Steps">{count(depth)}</td>
          <th scope="row">
            <Entry agentId={agent_id} entryKey={key} />
          </th>
          <td data-label="Written" class="nowrap">
            <a href={paths.event(id, audit_id)}>
              <Time at={timestamp} />
            </a>
          </td>
          <td data-label="Shown by">
            <a href={paths.event(id, through)}>
              <code>{shortId(through)}</code>
            </a>
          </td>
          <td data-label={direction === "effects" ? "After" : "Before"}>
            {from === start ? <span class="faint">this write</span> : <code>{keys.get(from) ?? shortId(from)}</code>}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** The entry of a write. */
function Entry({ agentId, entryKey }: { agentId: string; entryKey: string | null }) {
  const { id, canRead } = useAccess();
  const name = entryKey === null ? <span class="faint">an erased key</span> : <code>{entryKey}</code>;
  const linked = entryKey !== null && canRead ? <a href={paths.history(id, agentId, entryKey)}>{name}</a> : name;
  return (
    <>
      {linked} <span class="faint small">of {agentId}</span>
    </>
  );
}
