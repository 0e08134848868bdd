/** Badges. Their colour only repeats their words. */
import type { JsonValue } from "../../json.ts";
import { allPolicies } from "../../policy/policies.ts";
import type { AuditOutcome, Policies } from "../api/types.ts";

export type Tone = "good" | "bad" | "warn" | "plain" | "accent";

export function Badge({ tone = "plain", children }: { tone?: Tone; children: string }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}

const RESULT_TONES: Record<AuditOutcome, Tone> = {
  ok: "plain",
  allowed: "good",
  blocked: "bad",
  denied: "warn",
  conflict: "warn",
  not_found: "warn",
};

export function ResultBadge({ result }: { result: AuditOutcome }) {
  return <Badge tone={RESULT_TONES[result] ?? "plain"}>{result.replace("_", " ")}</Badge>;
}

/** The policies in force, as badges. */
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
