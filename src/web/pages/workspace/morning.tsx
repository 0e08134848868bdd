/** The officer's morning: what was refused since the last visit, which agents stand out, and what keeps the record safe. */
import { useEffect, useState } from "preact/hooks";
import { orNull } from "../../api/client.ts";
import type { Agent, Anchor, AuditEvent, Page, Upkeep } from "../../api/types.ts";
import { useAsk, useEvents, useLoad, useThrottled } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useRoom } from "../../state/session.ts";
import { Actor, Badge, Time, type Tone } from "../../ui/inline.tsx";
import { count, counted, size } from "../../ui/numbers.ts";
import { Section, Show } from "../../ui/parts.tsx";
import { relativeTime } from "../../ui/text/times.ts";
import { lastVisit, tallies } from "./trouble.ts";

/** Events that are counted at most; more are told as so many and more. */
const MOST = 1_000;
/** Pages of a query that looks through many events. */
const MOST_PAGES = 20;
/** Counts are loaded again at most this often, and a visit is noted as often. */
const REFRESH_MS = 10_000;
const MINUTE_MS = 60_000;

const OUTCOMES = { refused: { result: "blocked,denied" }, redacted: { result: "allowed", mode: "redact" } } as const;

type Outcome = keyof typeof OUTCOMES;

interface Found {
  events: AuditEvent[];
  isAll: boolean;
}

export function Morning() {
  const { id } = useRoom();
  const [sinceMs] = useState(() => lastVisit(id, Date.now()));
  useEffect(() => {
    const timer = setInterval(() => lastVisit(id, Date.now()), MINUTE_MS);
    return () => clearInterval(timer);
  }, [id]);
  return (
    <>
      <Trouble since={new Date(sinceMs).toISOString()} />
      <Agents />
      <State />
    </>
  );
}

function Trouble({ since }: { since: string }) {
  const { id, api } = useRoom();
  const found = useLoad<Record<Outcome, Found>>(`${id} ${since}`, async (signal) => {
    const look = async (outcome: Outcome): Promise<Found> => {
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
  const refresh = useThrottled(found.reload, REFRESH_MS);
  useEvents((event) => {
    if (event.result === "blocked" || event.result === "denied" || event.details?.redacted === true) refresh();
  }, found.reload);
  const nowMs = Date.now();
  return (
    <Section title={`Since your last visit, ${relativeTime(Date.parse(since), nowMs)}`}>
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

function Counted({ title, outcome, found, since }: { title: string; outcome: Outcome; found: Found; since: string }) {
  const { id } = useRoom();
  const link = (more: Record<string, string> = {}) => paths.events(id, { ...OUTCOMES[outcome], from: since, ...more });
  const { events, isAll } = found;
  return (
    <div class="card stack">
      <p>
        <a href={link()}>
          <strong>{`${count(events.length)}${isAll ? "" : " and more"}`}</strong> {title.toLowerCase()}
        </a>
      </p>
      {events.length > 0 && (
        <div class="morning">
          {tallies(events).map(({ title: name, filter, counts }) => (
            <div key={filter}>
              <h3>{name}</h3>
              <ul class="tally">
                {counts.map(([word, times]) => (
                  <li key={word}>
                    <a href={link({ [filter]: word })}>{filter === "actor" ? <Actor id={word} /> : word}</a>
                    <span class="number">{count(times)}</span>
                  </li>
                ))}
              </ul>
              {counts.length === 0 && <p class="faint small">None is named.</p>}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

const blockedToday = ({ blocked_24h }: Agent): number => blocked_24h;

/** The agents that did most lately, and those that were refused most. */
function Agents() {
  const { id } = useRoom();
  const agents = useAsk<Page<Agent>>("/v1/agents", { query: { limit: MOST } });
  return (
    <Show of={agents}>
      {({ data }) =>
        data.length > 0 && (
          <Section title="Agents">
            <div class="card morning">
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

type Check = readonly [name: string, tone: Tone, words: string];

const DAY_MS = 86_400_000;
/** Days before its end from which a certificate needs care, and the share of a disk below which it does. */
const WARN_DAYS = 14;
const LOW_DISK = 0.1;

/** What keeps the record safe, and how it is. */
function State() {
  const { id, api, account } = useRoom();
  const checks = useLoad<Check[]>(`${id} state`, async (signal) => {
    const text = async () => (await api.send("/v1/audit/seal", { headers: { accept: "text/plain" }, signal })).text();
    const [seal, { anchors }, upkeep] = await Promise.all([
      orNull("seal_not_found", text()),
      api.ask<{ anchors: Anchor[] }>("/v1/audit/anchors", { signal }),
      api.ask<Upkeep>(`${account}/upkeep`, { signal }),
    ]);
    const nowMs = Date.now();
    return [sealCheck(seal), anchorCheck(anchors, nowMs), ...upkeepChecks(upkeep, nowMs)];
  });
  return (
    <Section title="State of the record">
      <Show of={checks}>
        {(items) => (
          <ul class="card tally">
            {items.map(([name, tone, words]) => (
              <li key={name}>
                <span>
                  <strong>{name}</strong> {words}
                </span>
                <Badge tone={tone}>{TONE_WORDS[tone]}</Badge>
              </li>
            ))}
          </ul>
        )}
      </Show>
    </Section>
  );
}

const TONE_WORDS: Record<Tone, string> = { good: "fine", warn: "look", bad: "act", plain: "not set", accent: "fine" };

function sealCheck(seal: string | null): Check {
  if (seal === null) return ["Seals", "warn", "There is none yet."];
  return ["Seals", "good", `The newest covers ${counted(Number(seal.split("\n")[1]), "event")}.`];
}

function anchorCheck(anchors: readonly Anchor[], nowMs: number): Check {
  if (anchors.length === 0) return ["Anchors", "plain", "Seals are sent nowhere."];
  const failing = anchors.filter(({ failures }) => failures > 0).length;
  if (failing > 0) return ["Anchors", "bad", `${counted(failing, "place")} of ${anchors.length} cannot be reached.`];
  const newest = anchors.flatMap(({ anchored_at }) => (anchored_at === null ? [] : [Date.parse(anchored_at)]));
  if (newest.length === 0) return ["Anchors", "warn", "No place has a seal yet."];
  return ["Anchors", "good", `The newest seal was taken ${relativeTime(Math.max(...newest), nowMs)}.`];
}

function upkeepChecks({ backups, disk, certificates }: Upkeep, nowMs: number): Check[] {
  const share = disk.free_bytes / disk.total_bytes;
  const room = `${size(disk.free_bytes)} of ${size(disk.total_bytes)} are free.`;
  return [
    backupCheck(backups, nowMs),
    ["Disk", disk.full ? "bad" : share < LOW_DISK ? "warn" : "good", disk.full ? "It is full." : room],
    ...certificates.map(({ role, expires_at }): Check => {
      const daysLeft = (Date.parse(expires_at) - nowMs) / DAY_MS;
      const tone = daysLeft <= 0 ? "bad" : daysLeft < WARN_DAYS ? "warn" : "good";
      const name = role === "server" ? "Certificate" : "Certificate authority of clients";
      return [
        name,
        tone,
        `${daysLeft <= 0 ? "It expired" : "It expires"} ${relativeTime(Date.parse(expires_at), nowMs)}.`,
      ];
    }),
  ];
}

function backupCheck(backups: Upkeep["backups"], nowMs: number): Check {
  if (backups === null) return ["Backups", "plain", "None are scheduled."];
  const { last_success_at: made, last_failure_at: failed } = backups;
  if (failed !== null && (made === null || failed > made)) {
    return ["Backups", "bad", `The last one failed ${relativeTime(Date.parse(failed), nowMs)}.`];
  }
  if (made === null) return ["Backups", "warn", "There is none yet."];
  return ["Backups", "good", `The newest is from ${relativeTime(Date.parse(made), nowMs)}.`];
}
