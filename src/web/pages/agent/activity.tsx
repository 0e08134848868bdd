/** Events and refusals over time, of the workspace or of one agent. */
import { useState } from "preact/hooks";
import type { Activity } from "../../api/types.ts";
import { changesOrRefuses, useEvents, useLoad, useThrottled } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { ActivityChart } from "../../ui/chart.tsx";
import { Show } from "../../ui/parts.tsx";

/** Events reload the chart at most this often. */
const REFRESH_MS = 10_000;

const HOUR_MS = 3_600_000;

/** The windows of the chart, each with an interval that makes readable bars. */
export const WINDOWS = {
  "1h": { label: "1 hour", interval: "minute", ms: HOUR_MS },
  "24h": { label: "24 hours", interval: "hour", ms: 24 * HOUR_MS },
  "30d": { label: "30 days", interval: "day", ms: 30 * 24 * HOUR_MS },
} as const;

export type ActivityWindow = keyof typeof WINDOWS;

interface Props {
  /** Null for the whole workspace. */
  agentId: string | null;
  window: ActivityWindow;
}

export function ActivityCard({ agentId, window, linkTo }: Props & Pick<Parameters<typeof ActivityChart>[0], "linkTo">) {
  const { id, api } = useAccess();
  const { label, interval, ms } = WINDOWS[window];
  const whose = agentId === null ? { scope: "workspace" } : { agent_id: agentId };
  const activity = useLoad<Activity>(`${id} ${agentId ?? ""} ${window}`, (signal) =>
    api.ask<Activity>("/v1/audit/activity", {
      query: { ...whose, interval, start_time: new Date(Date.now() - ms).toISOString() },
      signal,
    }),
  );
  const refresh = useThrottled(activity.reload, REFRESH_MS);
  useEvents((event) => {
    if (agentId !== null && event.agent_id !== agentId) return;
    if (changesOrRefuses(event)) refresh();
  }, activity.reload);
  return (
    <div class="card chart-place">
      <Show of={activity}>
        {(data) => <ActivityChart activity={data} label={`Events of the last ${label}`} {...(linkTo && { linkTo })} />}
      </Show>
    </div>
  );
}

export function WindowChoice({ window, onWindow }: Pick<Props, "window"> & { onWindow(window: ActivityWindow): void }) {
  return (
    <fieldset class="segments">
      <legend class="sr-only">Time shown</legend>
      {Object.entries(WINDOWS).map(([id, { label }]) => (
        <button key={id} type="button" aria-pressed={id === window} onClick={() => onWindow(id as ActivityWindow)}>
          {label}
        </button>
      ))}
    </fieldset>
  );
}

/** The activity of one agent. It is loaded only on request, since the request is recorded. */
export function AgentActivity({ agentId }: { agentId: string }) {
  const [open, setOpen] = useState(false);
  const [window, setWindow] = useState<ActivityWindow>("24h");
  return (
    <details class="activity" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Activity over time</summary>
      {open && (
        <div class="stack">
          <WindowChoice window={window} onWindow={setWindow} />
          <ActivityCard agentId={agentId} window={window} />
        </div>
      )}
    </details>
  );
}
