/** The officer's sinceLastVisit: what was refused since the last visit, and which agents stand out. */
import { useEffect, useState } from "preact/hooks";
import type { Agent, AuditEvent, AuditOutcome, Page } from "../../api/types.ts";
import { type Loaded, useAsk, useEvents, useLoad, useThrottled } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Actor, Time, type Tone } from "../../ui/inline.tsx";
import { count } from "../../ui/numbers.ts";
import { Section, Show } from "../../ui/parts.tsx";
import { relativeTime } from "../../ui/text/times.ts";
import { lastVisit, tallies } from "./trouble.ts";

/** The most events that are counted. A larger number is shown as this many and more. */
const MOST = 1_000;
/** Pages of a query that looks through many events. */
const MOST_PAGES = 20;
/** Counts are loaded again at most this often, and a visit is noted as often. */
const REFRESH_MS = 10_000;
const MINUTE_MS = 60_000;

const OUTCOMES = { refused: { result: "blocked,denied" }, redacted: { result: "allowed", mode: "redact" } } as const;

type Outcome = keyof typeof OUTCOMES;

interface EventList {
  events: AuditEvent[];
  isAll: boolean;
}

/** The time at which the visit before this one ended. From now on, notes that somebody is here. */
function useSince(workspace: string): string {
  const [sinceMs] = useState(() => lastVisit(workspace, Date.now()));
  useEffect(() => {
    const timer = setInterval(() => lastVisit(workspace, Date.now()), MINUTE_MS);
    return () => clearInterval(timer);
  }, [workspace]);
  return new Date(sinceMs).toISOString();
}

/** The refusals and redactions since the last visit, and the present state of the agents. */
interface SinceLastVisit {
  since: string;
  found: Loaded<Record<Outcome, EventList>>;
  agents: Loaded<Page<Agent>>;
}

export function useSinceLastVisit(): SinceLastVisit {
  const { id, api } = useAccess();
  const since = useSince(id);
  const found = useLoad<Record<Outcome, EventList>>(`${id} ${since}`, async (signal) => {
    const look = async (outcome: Outcome): Promise<EventList> => {
      const events: AuditEvent[] = [];
      let pages = 0;
      const query = { scope: "all", ...OUTCOMES[outcome], start_time: since, limit: MOST };
      for await (const page of api.pages<AuditEvent>("/v1/audit", query, signal)) {
        events.push(...page.data);
        if (!page.has_more) return { events, isAll: true };
        if (events.length >= MOST || ++pages >= MOST_PAGES) break;
      }
      return { events, isAll: false };
    };
    const [refused, redacted] = await Promise.all([look("refused"), look("redacted")]);
    return { refused, redacted };
  });
  const agents = useAsk<Page<Agent>>("/v1/agents", { query: { limit: MOST } });
  const refresh = useThrottled(() => {
    found.reload();
    agents.reload();
  }, REFRESH_MS);
  useEvents((event) => {
    if (event.result === "blocked" || event.result === "denied" || event.details?.redacted === true) refresh();
  }, refresh);
  return { since, found, agents };
}

/** The numbers that somebody looks at first. Each leads to what it counts. */
export function Figures({ since, found: { data: found }, agents: { data: agents } }: SinceLastVisit) {
  const { id } = useAccess();
  const of = (outcome: Outcome, result?: AuditOutcome): string | null => {
    if (found === undefined) return null;
    const { events, isAll } = found[outcome];
    const counted = result === undefined ? events : events.filter((event) => event.result === result);
    return `${count(counted.length)}${isAll ? "" : "+"}`;
  };
  const link = (query: Record<string, string>) => paths.events(id, { ...query, from: since });
  const suspended = agents?.data.filter(({ state }) => state === "suspended").length;
  return (
    <dl class="figures" aria-label={`Since your last visit, ${relativeTime(Date.parse(since), Date.now())}`}>
      <Figure name="blocked" tone="bad" value={of("refused", "blocked")} href={link({ result: "blocked" })} />
      <Figure name="denied" tone="denied" value={of("refused", "denied")} href={link({ result: "denied" })} />
      <Figure name="redacted" tone="warn" value={of("redacted")} href={link(OUTCOMES.redacted)} />
      <Figure
        name={suspended === 1 ? "agent suspended" : "agents suspended"}
        tone="plain"
        value={suspended === undefined ? null : count(suspended)}
        href={`${paths.agents(id)}?sort=state`}
      />
    </dl>
  );
}

interface FigureProps {
  name: string;
  tone: Tone;
  /** Null while it is being counted. */
  value: string | null;
  href: string;
}

function Figure({ name, tone, value, href }: FigureProps) {
  return (
    <div class={`figure tone-${tone} ${value === "0" ? "figure-none" : ""}`}>
      <dt class="sr-only">{name}</dt>
      <dd>
        <a href={href}>
          <strong>{value ?? "–"}</strong> {name}
        </a>
      </dd>
    </div>
  );
}

export function Trouble({ since, found }: SinceLastVisit) {
  return (
    <Section title={`Since your last visit, ${relativeTime(Date.parse(since), Date.now())}`} height="20rem">
      <Show of={found}>
        {({ refused, redacted }) =>
          refused.events.length + redacted.events.length === 0 && refused.isAll && redacted.isAll ? (
            <p class="callout tone-good">
              Nothing was refused, denied or redacted: every event since then was looked through.
            </p>
          ) : (
            <div class="stack">
              <Counted title="Blocked or denied" outcome="refused" found={refused} since={since} />
              <Counted title="Stored, with parts redacted" outcome="redacted" found={redacted} since={since} />
            </div>
          )
        }
      </Show>
    </Section>
  );
}

function Counted({
  title,
  outcome,
  found,
  since,
}: {
  title: string;
  outcome: Outcome;
  found: EventList;
  since: string;
}) {
  const { id } = useAccess();
  const link = (more: Record<string, string> = {}) => paths.events(id, { ...OUTCOMES[outcome], from: since, ...more });
  const { events, isAll } = found;
  if (events.length === 0 && isAll) return null;
  return (
    <div class={`card stack tally-${outcome}`}>
      <p>
        <a href={link()}>
          <strong>{`${count(events.length)}${isAll ? "" : " and more"}`}</strong> {title.toLowerCase()}
        </a>
      </p>
      <div class="since-last-visit">
        {tallies(events).map(({ title: name, filter, counts }) => (
          <div key={filter}>
            <h3>{name}</h3>
            <ul class="tally">
              {counts.map(([word, times]) => (
                <li key={word} style={{ "--share": times / (counts[0]?.[1] ?? 1) }}>
                  <a href={link({ [filter]: word })}>{filter === "actor" ? <Actor id={word} /> : word}</a>
                  <span class="number">{count(times)}</span>
                </li>
              ))}
            </ul>
            {counts.length === 0 && <p class="faint small">None is named.</p>}
          </div>
        ))}
      </div>
    </div>
  );
}

const blockedToday = ({ blocked_24h }: Agent): number => blocked_24h;

/** The agents that did most recently, and the agents that were refused most. */
export function Agents({ agents }: Pick<SinceLastVisit, "agents">) {
  const { id } = useAccess();
  return (
    <Show of={agents}>
      {({ data }) =>
        data.length > 0 && (
          <Section title="Agents">
            <div class="card stack">
              <div>
                <h3>Active last</h3>
                <ul class="tally">
                  {data
                    .toSorted((a, b) => (a.last_activity_at < b.last_activity_at ? 1 : -1))
                    .slice(0, 5)
                    .map(({ agent_id, last_activity_at }) => (
                      <li key={agent_id}>
                        <a href={paths.agent(id, agent_id)}>{agent_id}</a>
                        <Time at={last_activity_at} />
                      </li>
                    ))}
                </ul>
              </div>
              <div>
                <h3>Blocked most in 24 hours</h3>
                <ul class="tally">
                  {data
                    .filter((agent) => blockedToday(agent) > 0)
                    .toSorted((a, b) => blockedToday(b) - blockedToday(a))
                    .slice(0, 5)
                    .map((agent) => (
                      <li key={agent.agent_id}>
                        <a href={paths.events(id, { agent_id: agent.agent_id, result: "blocked", window: "24h" })}>
                          {agent.agent_id}
                        </a>
                        <span class="number">{count(blockedToday(agent))}</span>
                      </li>
                    ))}
                </ul>
                {data.every((agent) => blockedToday(agent) === 0) && <p class="faint small">None.</p>}
              </div>
              <div>
                <h3>Suspended</h3>
                <ul class="tally">
                  {data
                    .filter(({ state }) => state === "suspended")
                    .slice(0, 5)
                    .map(({ agent_id }) => (
                      <li key={agent_id}>
                        <a href={paths.agent(id, agent_id)}>{agent_id}</a>
                      </li>
                    ))}
                </ul>
                {data.every(({ state }) => state !== "suspended") && <p class="faint small">None.</p>}
              </div>
            </div>
          </Section>
        )
      }
    </Show>
  );
}
