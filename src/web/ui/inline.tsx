/** Parts of a line: badges, the actors of events, times. */
import { signal } from "@preact/signals";
import type { JsonValue } from "../../json.ts";
import type { Mode } from "../../screen/modes.ts";
import { allPolicies } from "../../screen/policies.ts";
import { ask } from "../api/client.ts";
import type { ApiKey, AuditOutcome, Member, Policies } from "../api/types.ts";
import { exactTime, relativeTime, utcTime } from "./text/times.ts";

/** The result of an operation: allowed, blocked, redacted, denied; or a plain mark. */
export type Tone = "good" | "bad" | "warn" | "denied" | "plain" | "accent";

export function Badge({ tone = "plain", children }: { tone?: Tone; children: string }) {
  return <span class={`badge tone-${tone}`}>{children}</span>;
}

export const MODE_TONES: Record<Mode, Tone> = { off: "plain", audit: "accent", redact: "warn", block: "bad" };

const RESULT_TONES: Record<AuditOutcome, Tone> = {
  ok: "plain",
  allowed: "good",
  blocked: "bad",
  denied: "denied",
  conflict: "plain",
  not_found: "plain",
};

export function ResultBadge({ result }: { result: AuditOutcome }) {
  return <Badge tone={RESULT_TONES[result] ?? "plain"}>{result.replace("_", " ")}</Badge>;
}

export function PolicyBadges({ policies }: { policies: Policies }) {
  const inForce = allPolicies().filter(([name, { off }]) => (policies[name] ?? off) !== off);
  if (inForce.length === 0) return <span class="faint">none</span>;
  return (
    <span class="badges">
      {inForce.map(([name, { display }]) => (
        <Badge key={name} tone="accent">
          {display.badge(policies[name] as JsonValue)}
        </Badge>
      ))}
    </span>
  );
}

const names = signal<ReadonlyMap<string, string>>(new Map());
const asked = new Set<string>();

/** Loads the names of a workspace's keys and members, once unless `again`. */
export async function learnActors(workspaceId: string, again = false): Promise<void> {
  if (asked.has(workspaceId) && !again) return;
  asked.add(workspaceId);
  const base = `/account/workspaces/${workspaceId}`;
  const [keys, members] = await Promise.allSettled([
    ask<{ data: ApiKey[] }>(`${base}/keys`),
    ask<{ data: Member[] }>(`${base}/members`),
  ]);
  const learned = new Map(names.peek());
  if (keys.status === "fulfilled") {
    for (const { id, label } of keys.value.data) if (label !== null) learned.set(id, label);
  }
  if (members.status === "fulfilled") {
    for (const { account_id, name } of members.value.data) learned.set(account_id, name);
  }
  names.value = learned;
}

const FIXED: Record<string, string> = { system: "governd", cli: "command line" };

/** Returns the name of an actor, or a short form of its id. */
const actorName = (actor: string): string => FIXED[actor] ?? names.value.get(actor) ?? shortId(actor);

/** Returns an identifier without its middle. */
export const shortId = (id: string): string => (id.length > 20 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id);

/** Who did something: the name, with the id on hover. */
export function Actor({ id }: { id: string }) {
  const kind = id.startsWith("key_") ? "API key " : id.startsWith("wid_") ? "Workload " : "";
  return (
    <span class="nowrap" title={`${kind}${id}`}>
      {actorName(id)}
    </span>
  );
}

/** How often relative times are updated. */
const TICK_MS = 20_000;

const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, TICK_MS);

export function Time({ at }: { at: string }) {
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={`${exactTime(ms)}\n${utcTime(ms)}`}>
      {relativeTime(ms, Math.max(now.value, Date.now()))}
    </time>
  );
}

/** A time to the second, in the reader's zone. */
export function ExactTime({ at }: { at: string }) {
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={utcTime(ms)}>
      {exactTime(ms)}
    </time>
  );
}

/** Like {@link Time}, for something that may never have happened. */
export function TimeOr({ at, none }: { at: string | null; none: string }) {
  return at === null ? <span class="faint">{none}</span> : <Time at={at} />;
}
