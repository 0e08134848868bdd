/** Findings as series of numbers. */
import type { FindingsOverTime } from "../../api/types.ts";
import { type Series, sum } from "../../ui/series.ts";
import { detectorName } from "./words.ts";

/** Returns the numbers of each detector, the most frequent first. */
export function seriesOf({ data }: FindingsOverTime, member: "blocked" | "redacted" | "reported"): Series[] {
  const detectors = new Set(data.flatMap((each) => Object.keys(each[member] ?? {})));
  return [...detectors]
    .map((name) => ({ name: detectorName(name), values: data.map((each) => each[member]?.[name] ?? 0) }))
    .sort((a, b) => sum(b.values) - sum(a.values));
}
