/** How far the places behind are that seals are taken to. A sink's name holds no secret. */
import type { AnchorLag } from "../anchors/queue.ts";
import type { Families, Sample } from "./family.ts";

export function anchorFamilies(families: Families, lags: () => AnchorLag[], clock: () => number): void {
  const each = (value: (lag: AnchorLag) => number | null) => (): Sample[] =>
    lags().flatMap((lag) => {
      const number = value(lag);
      return number === null ? [] : [{ labels: { sink: lag.sink }, value: number }];
    });
  families.gauge({
    name: "governd_anchor_waiting",
    help: "Workspaces whose newest seal waits for the sink.",
    samples: each(({ waiting }) => waiting),
  });
  families.gauge({
    name: "governd_anchor_lag_seconds",
    help: "How long the longest waiting seal has waited for the sink; 0 when none waits.",
    samples: each(({ sinceMs }) => (sinceMs === null ? 0 : (clock() - sinceMs) / 1_000)),
  });
  families.gauge({
    name: "governd_anchor_failures_in_a_row",
    help: "Deliveries to the sink that failed since the last one that did not.",
    samples: each(({ failures }) => failures),
  });
  families.gauge({
    name: "governd_anchor_last_success_timestamp_seconds",
    help: "When the sink last took a seal; absent when it took none since the start.",
    samples: each(({ deliveredMs }) => (deliveredMs === null ? null : deliveredMs / 1_000)),
  });
  families.counter({
    name: "governd_anchors_delivered_total",
    help: "Seals that the sink took.",
    samples: each(({ delivered }) => delivered),
  });
  families.counter({
    name: "governd_anchor_failures_total",
    help: "Deliveries to the sink that failed; they are tried again.",
    samples: each(({ failed }) => failed),
  });
  families.counter({
    name: "governd_anchors_dropped_total",
    help: "Seals that were not delivered, since too many waited; a later seal covers what they cover.",
    samples: each(({ dropped }) => dropped),
  });
}
