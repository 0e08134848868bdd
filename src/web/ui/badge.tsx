/** Small words with a colour that only repeats them. */
import type { AuditOutcome, Policies } from "../api/types.ts";
import { counted } from "./numbers.ts";

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

/** The policies that are in force, as badges. */
export function PolicyBadges({ policies }: { policies: Policies }) {
  const { block_pii, block_secrets, retention_days } = policies;
  if (!block_pii && !block_secrets && retention_days === undefined) {
    return <span class="faint">none</span>;
  }
  return (
    <span class="badges">
      {block_pii && <Badge tone="accent">blocks personal data</Badge>}
      {block_secrets && <Badge tone="accent">blocks secrets</Badge>}
      {retention_days !== undefined && <Badge>{`keeps ${counted(retention_days, "day")}`}</Badge>}
    </span>
  );
}
