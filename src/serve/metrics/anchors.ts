/** The backlog of each target of seals. The name of a target, its label `sink`, contains no secret. */
import type { AnchorLag } from "../../follow/anchors/queue.ts";
import type { Families, Sample } from "./family.ts";

export function anchorFamilies(families: Families, anchors: { readonly lags: AnchorLag[] }, clock: () => number): void {
  const each = (value: (lag: AnchorLag) => number | null) => (): Sample[] =>
    anchors.lags.flatMap((lag) => {
      const number = value(lag);
      return number === null ? [] : [{ labels: { sink: lag.target }, value: number }];
    });
  families.gauge(
    "governd_anchor_waiting",
    "Workspaces whose newest seal waits for the sink.",
    each(({ waiting }) => waiting),
  );
  families.gauge(
    "governd_anchor_lag_seconds",
    "How long the longest waiting seal has waited for the sink; 0 when none waits.",
    each(({ sinceMs }) => (sinceMs === null ? 0 : (clock() - sinceMs) / 1_000)),
  );
  families.gauge(
    "governd_anchor_failures_in_a_row",
    "Deliveries to the sink that failed since the last success.",
    each(({ failures }) => failures),
  );
  families.gauge(
    "governd_anchor_last_success_timestamp_seconds",
    "When the sink last accepted a seal; absent when it accepted none since the start.",
    each(({ deliveredMs }) => (deliveredMs === null ? null : deliveredMs / 1_000)),
  );
  families.counter(
    "governd_anchors_delivered_total",
    "Seals that the sink accepted.",
    each(({ delivered }) => delivered),
  );
  families.counter(
    "governd_anchor_failures_total",
    "Deliveries to the sink that failed; they are retried.",
    each(({ failed }) => failed),
  );
  families.counter(
    "governd_anchors_dropped_total",
    "Seals that were dropped because too many waited; a later seal covers the same events.",
    each(({ dropped }) => dropped),
  );
}
