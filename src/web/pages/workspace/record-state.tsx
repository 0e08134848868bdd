/** The state of what keeps the record safe: seals, anchors, backups, disk, certificates. */
import { orNull } from "../../api/client.ts";
import type { Anchor, Upkeep } from "../../api/types.ts";
import { useLoad } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { Badge, type Tone } from "../../ui/inline.tsx";
import { counted, size } from "../../ui/numbers.ts";
import { Section, Show } from "../../ui/parts.tsx";
import { relativeTime } from "../../ui/text/times.ts";

type Check = readonly [name: string, tone: Tone, words: string];

const DAY_MS = 86_400_000;
/** The days before its end at which a certificate needs attention, and the free share of a disk below which the disk does. */
const WARN_DAYS = 14;
const LOW_DISK = 0.1;

/** Shows the state of each of them. */
export function RecordState() {
  const { id, api, account } = useAccess();
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
    <Section title="State of the record" height="20rem">
      <Show of={checks}>
        {(items) => (
          <ul class="card tally checks">
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

const TONE_WORDS: Record<Tone, string> = {
  good: "fine",
  warn: "look",
  bad: "act",
  denied: "act",
  plain: "not set",
  accent: "fine",
};

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
  const access = `${size(disk.free_bytes)} of ${size(disk.total_bytes)} are free.`;
  return [
    backupCheck(backups, nowMs),
    ["Disk", disk.full ? "bad" : share < LOW_DISK ? "warn" : "good", disk.full ? "It is full." : access],
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
