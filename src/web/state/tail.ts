/** A list of events that grows at its top while nobody reads further down, and otherwise says how many are new. */
import { useRef, useState } from "preact/hooks";
import type { AuditEvent } from "../api/types.ts";
import { type LoadedList, useEvents, useThrottled } from "./load.ts";

/** New events are shown together, at most this often. */
const SHOW_EVERY_MS = 250;

/**
 * Events that are added one by one. After more, the list begins again with its first page, so that it stays bounded.
 */
const MOST_ADDED = 200;

/** A reader who has scrolled further than this reads, and no row may move. Pixels. */
const AT_TOP = 120;

export interface Tail {
  /** The ids of the events that were added last. */
  fresh: ReadonlySet<string>;
  /** How many events wait to be shown. */
  waiting: number;
  paused: boolean;
  setPaused(paused: boolean): void;
  /** Shows the waiting events. */
  showNew(): void;
}

/** Adds the events that `fits` accepts to a list. While `isReading`, they wait. */
export function useTail(
  events: LoadedList<AuditEvent>,
  fits: (event: AuditEvent) => boolean,
  isReading: boolean,
): Tail {
  const queue = useRef<{ events: AuditEvent[]; count: number; added: number }>({ events: [], count: 0, added: 0 });
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const [waiting, setWaiting] = useState(0);
  const [paused, setPaused] = useState(false);
  const showNew = () => {
    const { events: added, count } = queue.current;
    const sum = queue.current.added + count;
    const isMuch = sum > MOST_ADDED;
    queue.current = { events: [], count: 0, added: isMuch ? 0 : sum };
    setWaiting(0);
    setFresh(new Set(added.map(({ id }) => id)));
    if (isMuch) events.restart();
    else events.set((old) => added.reduce(inserted, old));
  };
  const follow = useThrottled(() => {
    if (paused || isReading || scrollY > AT_TOP) setWaiting(queue.current.count);
    else showNew();
  }, SHOW_EVERY_MS);
  useEvents((event) => {
    if (!fits(event)) return;
    queue.current.count++;
    // More than this are not added one by one.
    if (queue.current.events.length <= MOST_ADDED) queue.current.events.push(event);
    follow();
  }, events.reload);
  return { fresh, waiting, paused, setPaused, showNew };
}

/** Inserts an event, newest first. A query may already have returned newer events than the stream. */
function inserted(events: AuditEvent[], event: AuditEvent): AuditEvent[] {
  if (events.some(({ id }) => id === event.id)) return events;
  const at = events.findIndex(({ seq }) => seq < event.seq);
  return at === -1 ? [...events, event] : events.toSpliced(at, 0, event);
}
