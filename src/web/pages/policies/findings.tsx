/** The policies' findings over time, by detector: blocked, redacted, or only reported. */
import { useState } from "preact/hooks";
import type { FindingsOverTime } from "../../api/types.ts";
import { useAsk, useEvents, useThrottled } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { Section, Show } from "../../ui/parts.tsx";
import { StackedChart } from "../../ui/stacked-chart.tsx";
import { intervalName } from "../../ui/text/times.ts";
import { type ActivityWindow, WINDOWS, WindowChoice } from "../agent/activity.tsx";
import { seriesOf } from "./found.ts";

/** Events reload the charts at most this often. */
const REFRESH_MS = 10_000;

const OUTCOMES = [
  ["blocked", "Blocked", "Nothing was blocked in this time."],
  ["redacted", "Stored, redacted", "Nothing was redacted in this time."],
  ["reported", "Stored, reported", "Nothing was reported in this time."],
] as const;

export function FindingsTab() {
  const { account } = useAccess();
  const [window, setWindow] = useState<ActivityWindow>("24h");
  const found = useAsk<FindingsOverTime>(`${account}/findings/${WINDOWS[window].interval}`);
  const refresh = useThrottled(found.reload, REFRESH_MS);
  useEvents((event) => {
    if (event.result === "blocked" || event.details?.findings !== undefined) refresh();
  }, found.reload);
  return (
    <>
      <div class="toolbar">
        <p class="faint">In how many operations of all agents each detector found something.</p>
        <WindowChoice window={window} onWindow={setWindow} />
      </div>
      <Show of={found}>
        {(findings) => (
          <>
            {OUTCOMES.map(([member, title, none]) => (
              <Section key={member} title={title}>
                <div class="card">
                  {findings.data.some((each) => each[member] === null) ? (
                    <p class="faint">There are too many events in this time to look through. Choose a shorter one.</p>
                  ) : (
                    <StackedChart
                      label={`${title}: ${WINDOWS[window].label}, by detector`}
                      bars={findings.data.map((each) => intervalName(findings.interval, each.start_time))}
                      series={seriesOf(findings, member)}
                      none={none}
                    />
                  )}
                </div>
              </Section>
            ))}
          </>
        )}
      </Show>
    </>
  );
}
