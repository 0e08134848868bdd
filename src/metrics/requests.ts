/** What was asked and what was decided. */
import type { RequestMeter } from "../http/pipeline/request-meter.ts";
import type { Families } from "./family.ts";

export function requestFamilies(families: Families, meter: RequestMeter): void {
  families.counter({
    name: "governd_http_requests_total",
    help: "Requests answered, by route template; the route is none when the request was refused before it had one.",
    samples: () =>
      [...meter.routes()].flatMap(({ method, route, byStatus }) =>
        [...byStatus].map(([status, value]) => ({ labels: { method, route, status }, value })),
      ),
  });
  families.histogram({
    name: "governd_http_request_duration_seconds",
    help: "From a request's arrival to the begin of its answer.",
    samples: () =>
      [...meter.routes()].map(({ method, route, durations }) => ({
        labels: { method, route },
        histogram: durations,
      })),
  });
  families.counter({
    name: "governd_http_problems_total",
    help: "Requests that were answered with a problem document, by its code.",
    samples: () => [...meter.problems()].map(([code, value]) => ({ labels: { code }, value })),
  });
  families.counter({
    name: "governd_authentication_failures_total",
    help: "Requests without valid credentials, and failed sign-ins, by the problem's code.",
    samples: () => meter.failedAuthentications().map(([code, value]) => ({ labels: { code }, value })),
  });
  families.counter({
    name: "governd_operations_total",
    help: "Operations recorded in the audit trail, by result.",
    samples: () => {
      const totals = new Map<string, { labels: { operation: string; result: string }; value: number }>();
      for (const { operation, result, count } of meter.decisions()) {
        const total = totals.get(`${operation} ${result}`);
        if (total === undefined) {
          totals.set(`${operation} ${result}`, { labels: { operation, result }, value: count });
        } else total.value += count;
      }
      return totals.values();
    },
  });
  families.counter({
    name: "governd_policy_decisions_total",
    help: "Operations that policies decide about, by the policy that refused; none when it was allowed, suspension when the agent was suspended, quota when the workspace was full.",
    samples: () => {
      // Those that there can be are shown from the start: what first appears with 1 never rose.
      const totals = new Map(DECISIONS.map((by) => [nameOf(by), { ...by, value: 0 }]));
      for (const { result, refusedBy, count } of meter.decisions()) {
        const by = decisionOf(result, refusedBy);
        if (by === null) continue;
        const name = nameOf(by);
        totals.set(name, { ...by, value: (totals.get(name)?.value ?? 0) + count });
      }
      return [...totals.values()].map(({ decision, policy, value }) => ({
        labels: { decision, policy },
        value,
      }));
    },
  });
}

interface DecisionLabels {
  decision: string;
  policy: string;
}

const DECISIONS: readonly DecisionLabels[] = [
  { decision: "allowed", policy: "none" },
  { decision: "blocked", policy: "block_pii" },
  { decision: "blocked", policy: "block_secrets" },
  { decision: "denied", policy: "suspension" },
  { decision: "denied", policy: "quota" },
];

/** What an operation was denied by, from the problem that it answered. */
const DENIED_BY: Readonly<Record<string, string>> = {
  agent_suspended: "suspension",
  quota_exceeded: "quota",
};

const nameOf = ({ decision, policy }: DecisionLabels): string => `${decision} ${policy}`;

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
