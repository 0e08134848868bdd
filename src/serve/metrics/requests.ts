/** Requests and decisions. */

import { LIMITS } from "../../screen/limits.ts";
import { contentPolicies } from "../../screen/policies.ts";
import { PATTERNS } from "../../screen/screening.ts";
import { REQUIRE_CONFIG } from "../../screen/workspace-policies.ts";
import type { RequestMeter } from "../http/pipeline/request-meter.ts";
import type { Families } from "./family.ts";

export function requestFamilies(families: Families, meter: RequestMeter): void {
  families.counter(
    "governd_http_requests_total",
    "Requests answered, by route template; the route is none for a request that was refused before routing.",
    () =>
      [...meter.routes()].flatMap(({ method, route, byStatus }) =>
        [...byStatus].map(([status, value]) => ({ labels: { method, route, status }, value })),
      ),
  );
  families.histogram(
    "governd_http_request_duration_seconds",
    "From the arrival of a request to the start of the response.",
    () =>
      [...meter.routes()].map(({ method, route, durations }) => ({ labels: { method, route }, histogram: durations })),
  );
  families.counter("governd_http_problems_total", "Problem documents returned, by code.", () =>
    [...meter.problems()].map(([code, value]) => ({ labels: { code }, value })),
  );
  families.counter(
    "governd_authentication_failures_total",
    "Requests without valid credentials, and failed sign-ins, by problem code.",
    () => meter.failedAuthentications().map(([code, value]) => ({ labels: { code }, value })),
  );
  families.counter("governd_operations_total", "Operations recorded in the audit trail, by result.", () =>
    summed(
      Array.from(meter.decisions(), ({ operation, result, count }) => ({
        labels: { operation, result },
        value: count,
      })),
    ),
  );
  families.counter(
    "governd_policy_decisions_total",
    "Operations that policies decide about, by the policy that refused; none when allowed, suspension when the agent was suspended, quota when the workspace was full.",
    () => {
      // All possible labels are shown with 0 from the start, since a series that first appears with 1 shows no
      // increase.
      const samples = DECISIONS.map((labels) => ({ labels, value: 0 }));
      for (const { result, refusedBy, count } of meter.decisions()) {
        const labels = decisionOf(result, refusedBy);
        if (labels !== null) samples.push({ labels, value: count });
      }
      return summed(samples);
    },
  );
}

/** Adds up the samples that have the same labels. */
function summed<Labels extends Record<string, string>>(samples: readonly { labels: Labels; value: number }[]) {
  const byLabels = Map.groupBy(samples, ({ labels }) => Object.values(labels).join(" "));
  return Array.from(byLabels.values(), (same) => ({
    labels: (same[0] as { labels: Labels }).labels,
    value: same.reduce((sum, { value }) => sum + value, 0),
  }));
}

type DecisionLabels = { decision: string; policy: string };

const DECISIONS: readonly DecisionLabels[] = [
  { decision: "allowed", policy: "none" },
  ...[...contentPolicies().map(([policy]) => policy), PATTERNS, LIMITS, REQUIRE_CONFIG].map((policy) => ({
    decision: "blocked",
    policy,
  })),
  { decision: "denied", policy: "suspension" },
  { decision: "denied", policy: "quota" },
];

/** The label for the reason of a denial, by the code of the problem. */
const DENIED_BY: Readonly<Record<string, string>> = { agent_suspended: "suspension", quota_exceeded: "quota" };

function decisionOf(result: string, refusedBy: string | null): DecisionLabels | null {
  switch (result) {
    case "allowed":
      return { decision: "allowed", policy: "none" };
    case "blocked":
      return { decision: "blocked", policy: refusedBy ?? "none" };
    case "denied":
      return { decision: "denied", policy: DENIED_BY[refusedBy ?? ""] ?? "none" };
    default:
      return null;
  }
}
