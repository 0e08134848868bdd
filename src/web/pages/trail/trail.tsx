/** One trail for the workspace: what all agents and people do, filtered, live, and exported as it is filtered. */
import { useEffect, useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { ApiProblem } from "../../api/problem.ts";
import type { AuditEvent } from "../../api/types.ts";
import { useAsk, useList } from "../../state/load.ts";
import { place, setQuery } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { useTail } from "../../state/tail.ts";
import { Button } from "../../ui/button.tsx";
import { submitForDownload } from "../../ui/download.ts";
import { Form, Moment, Select, TextField, useFields } from "../../ui/field.tsx";
import { sortedByApi } from "../../ui/lists/sort.tsx";
import { instant, localTime } from "../../ui/local-time.ts";
import { say } from "../../ui/notices.tsx";
import { count } from "../../ui/numbers.ts";
import { Empty, Heading, Problem, Section, Show, ShowItems } from "../../ui/parts.tsx";
import { NEWEST_FIRST, RESULTS, TailBar, TIME } from "../agent/audit.tsx";
import { TRAIL_GROUPS } from "../agent/operation-groups.ts";
import { FILTER_NAMES, fitsHere, here, trailQuery, WINDOWS, WORDS } from "./filters.ts";
import { CLOCKS, TrailRows } from "./rows.tsx";
import { Views } from "./views.tsx";

/** Rows of a page: as many as are replaced at once when much happens. */
const PAGE_SIZE = 50;

/** A query that examines many events is continued until it has found this many. */
const ENOUGH = 50;

export function WorkspaceTrailPage() {
  const filters = FILTER_NAMES.map(here).join(" ");
  return (
    <>
      <Heading title="Trail">Everything that agents and people do in this workspace, as it happens.</Heading>
      <Views />
      <FilterBar key={filters} />
      <Events key={`${filters} ${here("sort")} list`} />
    </>
  );
}

const set = (changes: Record<string, string | null>) => setQuery({ ...changes, event: null });

function FilterBar() {
  const words = WORDS.map(([name]) => [name, here(name)] as const);
  const { field, values } = useFields(Object.fromEntries(words));
  const isNarrow = words.some(([, value]) => value !== "");
  return (
    <>
      <fieldset class="filters">
        <legend class="sr-only">Filters</legend>
        <Select
          label="Operations"
          value={here("show")}
          onValue={(show) => set({ show })}
          options={TRAIL_GROUPS.map(([name, label]) => [name, label] as const)}
        />
        <Select label="Result" value={here("result")} onValue={(result) => set({ result })} options={RESULT_CHOICES} />
        <Select
          label="Time"
          value={here("window")}
          onValue={(window) => set({ window, from: null, to: null })}
          options={[["", "From … to …"], ...Object.entries(WINDOWS).map(([id, [label]]) => [id, label] as const)]}
        />
        {here("window") === "" && (
          <>
            <Moment
              label="From"
              value={localTime(here("from") || null)}
              onValue={(from) => set({ from: instant(from) ?? null })}
            />
            <Moment
              label="To"
              value={localTime(here("to") || null)}
              onValue={(to) => set({ to: instant(to) ?? null })}
            />
          </>
        )}
        <Select
          label="Times as"
          value={here("clock")}
          onValue={(clock) => setQuery({ clock }, { replace: true })}
          options={CLOCKS}
        />
      </fieldset>
      <details class="more-filters" open={isNarrow}>
        <summary>More filters</summary>
        <Form onSubmit={async () => set(values)} submit="Filter" at="wide page">
          <div class="filters">
            {WORDS.map(([name, label]) =>
              name === "mode" ? (
                <Select key={name} label={label} {...field(name)} options={MODE_CHOICES} />
              ) : (
                <TextField key={name} label={label} {...field(name)} spellcheck={false} autocomplete="off" />
              ),
            )}
          </div>
          <p class="hint faint">
            Several agents, actors, sessions, subjects, detectors or policies are separated by commas.
          </p>
        </Form>
      </details>
    </>
  );
}

const RESULT_CHOICES = [...RESULTS, ["blocked,denied", "Blocked or denied"]] as const;

const MODE_CHOICES = [
  ["", "Anything"],
  ["block", "Blocked"],
  ["redact", "Redacted"],
  ["audit", "Reported"],
] as const;

function Events() {
  // Fixed for the list, so that all its pages are pages of the same query.
  const [query] = useState(() => trailQuery(Date.now()));
  const { order } = sortedByApi([TIME], NEWEST_FIRST);
  const events = useList<AuditEvent>("/v1/audit", { ...query, order, limit: PAGE_SIZE });
  const open = place.value.query.get("event");
  const isLive = order === "desc";
  const tail = useTail(events, (event) => isLive && fitsHere(event), open !== null);
  const found = events.data?.length ?? 0;
  const isLooking = events.data !== undefined && events.hasMore && found < ENOUGH && events.problem === null;
  const { more } = events;
  useEffect(() => {
    if (isLooking && !more.busy) void more.run();
  }, [isLooking, more.busy, events.data]);
  const clock = here("clock");
  return (
    <>
      <div class="row trail-bar">
        {isLive && <TailBar tail={tail} />}
        <Export query={query} />
      </div>
      <p class="faint small" role="status">
        {isLooking ? `Looking further back: ${count(found)} so far.` : ""}
      </p>
      {open !== null && events.data?.every(({ id }) => id !== open) === true && <Linked eventId={open} clock={clock} />}
      <ShowItems of={events} empty={!isLooking && <Nothing />}>
        {(items) => <TrailRows events={items} fresh={tail.fresh} clock={clock} isSorted />}
      </ShowItems>
    </>
  );
}

/** The event of the address, when it is not among the rows that are loaded. */
function Linked({ eventId, clock }: { eventId: string; clock: string }) {
  const event = useAsk<AuditEvent>(`/v1/audit/${segment(eventId)}`);
  return (
    <Section title="The event of this link">
      <Show of={event}>{(found) => <TrailRows events={[found]} clock={clock} />}</Show>
    </Section>
  );
}

function Nothing() {
  const isNarrow = FILTER_NAMES.some((name) => here(name) !== "");
  return (
    <Empty title={isNarrow ? "Nothing fits these filters" : "Nothing yet"}>
      {isNarrow && (
        <p>
          <a href={place.value.path}>Show everything</a>
        </p>
      )}
    </Empty>
  );
}

const FORMATS = [
  ["csv", "CSV"],
  ["cloudevents", "CloudEvents"],
  ["ocsf", "OCSF"],
] as const;

/** Saves exactly what is filtered. */
function Export({ query }: { query: Record<string, string> }) {
  const { account } = useAccess();
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [format, setFormat] = useState("csv");
  const save = () => {
    setProblem(null);
    submitForDownload(`${account}/export`, { ...query, format }, setProblem);
    say("The browser", "is asked to save the events that fit.");
  };
  return (
    <>
      <select
        aria-label="Format of the export"
        value={format}
        onChange={(event) => setFormat(event.currentTarget.value)}
      >
        {FORMATS.map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      <Button small onClick={save}>
        Export these
      </Button>
      <Problem problem={problem} />
    </>
  );
}
