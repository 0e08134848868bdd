/** The workspace's events as they happen, for all views. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { DisplayGroup } from "../../operation-facts.ts";
import { eventFacts } from "../../operations.ts";
import { type LiveState, listen } from "../api/live.ts";
import type { AuditEvent } from "../api/types.ts";

type Listener = (event: AuditEvent) => void;

const listeners = new Set<Listener>();
const gapListeners = new Set<() => void>();

/** Whether the stream of events is connected. */
export const liveState = signal<LiveState>("connecting");

/** Keeps the stream of a workspace open while a page of it is shown. */
export function useLiveWorkspace(workspace: string): void {
  useEffect(
    () =>
      listen({
        workspace,
        onEvent: (event) => {
          for (const listener of listeners) listener(event);
        },
        onState: (state) => {
          liveState.value = state;
        },
        onGap: () => {
          for (const listener of gapListeners) listener();
        },
      }),
    [workspace],
  );
}

/** Calls `onEvent` for each event, and `onGap` when some may have been missed. */
export function useEvents(onEvent: Listener, onGap: () => void = () => {}): void {
  const latest = useRef({ onEvent, onGap });
  latest.current = { onEvent, onGap };
  useEffect(() => {
    const listener: Listener = (event) => latest.current.onEvent(event);
    const gapListener = () => latest.current.onGap();
    listeners.add(listener);
    gapListeners.add(gapListener);
    return () => {
      listeners.delete(listener);
      gapListeners.delete(gapListener);
    };
  }, []);
}

/** Groups whose operations change nothing: their events need no reload. */
const READING: readonly DisplayGroup[] = ["config_reads", "checkpoint_reads", "data_reads", "watching", "proofs"];

/** Reports whether an event may have changed what is shown of an agent. */
export function changesSomething({ operation, result }: AuditEvent): boolean {
  const group = eventFacts(operation)?.group;
  return (result === "ok" || result === "allowed") && (group === undefined || !READING.includes(group));
}

/** Reports whether an event changed something, or tried to and was refused. */
export const changesOrRefuses = (event: AuditEvent): boolean =>
  changesSomething(event) || event.result === "blocked" || event.result === "denied";

/** Reports whether an event put another configuration of the agent in force. */
export const changesConfig = (agentId: string, { agent_id, result, operation }: AuditEvent): boolean =>
  agent_id === agentId && result === "ok" && /^config\.(update|rollback)$|^checkpoint\.restore$/.test(operation);

/** Reloads after changes of an agent, at most once per interval. */
export function useReloadOnChange(agentId: string, reload: () => void, intervalMs: number): void {
  const refresh = useThrottled(reload, intervalMs);
  useEvents((event) => {
    if (event.agent_id === agentId && changesSomething(event)) refresh();
  }, reload);
}

/** Runs something at most once per interval, and once more after the last call. */
export function useThrottled(act: () => void, intervalMs: number): () => void {
  const latest = useRef(act);
  latest.current = act;
  const timer = useRef<number | null>(null);
  useEffect(() => () => clearTimeout(timer.current ?? undefined), []);
  return () => {
    if (timer.current !== null) return;
    timer.current = setTimeout(() => {
      timer.current = null;
      latest.current();
    }, intervalMs) as unknown as number;
  };
}
