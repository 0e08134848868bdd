/** The backlog of each sink. Sinks are named by their ids, so an address never gets into a label. */
import type { SinkState } from "../../follow/sinks/delivery.ts";
import type { Families, Sample } from "./family.ts";

/** A sink, and whether its owner switched it off. */
export interface SinkLag extends SinkState {
  isDisabled: boolean;
}

export function sinkFamilies(families: Families, sinks: { readonly lags: readonly SinkLag[] }): void {
  const ofEnabled = (samples: (lag: SinkLag) => Sample[]) => () =>
    sinks.lags.filter(({ isDisabled }) => !isDisabled).flatMap(samples);
  families.gauge(
    "governd_sink_lag_events",
    "Events that the sink has not acknowledged; absent until the log was looked at.",
    ofEnabled(({ id, lag }) => (lag === null ? [] : [{ labels: { sink: id }, value: lag }])),
  );
  families.gauge(
    "governd_sink_failing",
    "1 when the last delivery to the sink was not acknowledged.",
    ofEnabled(({ id, isFailing }) => [{ labels: { sink: id }, value: Number(isFailing) }]),
  );
  families.counter(
    "governd_sink_deliveries_total",
    "Deliveries to the sink since the start, by outcome: acknowledged, or failed and sent again.",
    ofEnabled(({ id, delivered, failed }) => [
      { labels: { sink: id, outcome: "acknowledged" }, value: delivered },
      { labels: { sink: id, outcome: "failed" }, value: failed },
    ]),
  );
}
