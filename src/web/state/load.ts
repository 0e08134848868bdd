/**
 * Loads the data of views, and reports events that change the data. A reload keeps the old data on the screen until the
 * new data has arrived.
 */

import { signal } from "@preact/signals";
import { useCallback, useContext, useEffect, useRef, useState } from "preact/hooks";
import type { DisplayGroup } from "../../operation-facts.ts";
import { eventFacts } from "../../operations.ts";
import { type Ask, ask, isAbort, type Query } from "../api/client.ts";
import { type LiveState, listen } from "../api/live.ts";
import { type ApiProblem, asProblem } from "../api/problem.ts";
import { returned } from "../api/reach.ts";
import type { AuditEvent, Page } from "../api/types.ts";
import { AccessContext, resumed, useAccess } from "./session.ts";
import { keep, kept, keptOnReturn } from "./visits.ts";

/** Something loaded, or on its way. */
export interface Loaded<T> {
  data: T | undefined;
  problem: ApiProblem | null;
  reload(): void;
  /** Changes the data in place, when it is known what a reload would return. */
  set(change: (data: T) => T): void;
}

interface LoadState<T> {
  key: string;
  data?: T;
  problem: ApiProblem | null;
}

/** The data that the page showed under a key before somebody left it and came back, until it is loaded again. */
function stateBefore<T>(key: string): LoadState<T> {
  const data = keptOnReturn<T>(key);
  return data === undefined ? { key, problem: null } : { key, data, problem: null };
}

/** Loads when `key` changes, and when the daemon or the session is back. Data loaded for another key is not shown. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<LoadState<T>>(() => stateBefore(key));
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const abandoned = new AbortController();
    setState((old) => (old.key === key ? old : stateBefore(key)));
    latest.current(abandoned.signal).then(
      (data) => {
        if (!abandoned.signal.aborted) setState({ key, data, problem: null });
      },
      (error: unknown) => {
        if (abandoned.signal.aborted || isAbort(error)) return;
        setState((old) => ({ ...old, problem: asProblem(error) }));
      },
    );
    return () => abandoned.abort();
  }, [key, round, resumed.value, returned.value]);
  useEffect(() => {
    if (state.data !== undefined) keep(state.key, state.data);
  }, [state]);
  const reload = useCallback(() => setRound((old) => old + 1), []);
  const set = useCallback((change: (data: T) => T) => {
    setState((old) => (old.data === undefined ? old : { ...old, data: change(old.data) }));
  }, []);
  const mine = state.key === key;
  return { data: mine ? state.data : undefined, problem: mine ? state.problem : null, reload, set };
}

/**
 * Loads the response to one request; loads again when the request changes. Requests to `/v1` are for the page's
 * workspace.
 */
export function useAsk<T>(path: string, request: Ask = {}): Loaded<T> {
  const access = useContext(AccessContext);
  const whole = path.startsWith("/v1/") && access !== null ? { ...request, workspace: access.id } : request;
  return useLoad<T>(JSON.stringify([path, whole]), (signal) => ask<T>(path, { ...whole, signal }));
}

/** Loads a list that has no pages. */
export const useItems = <T>(path: string): Loaded<T[]> =>
  useLoad<T[]>(path, async (signal) => (await ask<{ data: T[] }>(path, { signal })).data);

/** A list that grows page by page. */
export interface LoadedList<T, P extends Page<T> = Page<T>> extends Loaded<T[]> {
  /** The first page, for its facts about the whole list. */
  first: P | undefined;
  hasMore: boolean;
  more: Action<[]>;
  /** Loads the first page alone. */
  restart(): void;
}

/** Loads the first page of a list of the workspace when the request changes, and the next one on request. */
export function useList<T, P extends Page<T> = Page<T>>(path: string, query: Query): LoadedList<T, P> {
  const { id, api } = useAccess();
  const key = JSON.stringify([id, path, query]);
  /** A reload asks for as many pages as are shown, so that the list does not shrink under the reader. */
  const before = { key, pages: kept<number>(`pages ${key}`) ?? 1 };
  const shown = useRef(before);
  if (shown.current.key !== key) shown.current = before;
  const show = (pages: number) => {
    shown.current.pages = pages;
    keep(`pages ${key}`, pages);
  };
  const loaded = useLoad<{ items: T[]; first: P | undefined; cursor: string | null }>(key, async (signal) => {
    const items: T[] = [];
    let first: P | undefined;
    let { pages } = shown.current;
    for await (const page of api.pages<T>(path, query, signal)) {
      first ??= page as P;
      items.push(...page.data);
      if (--pages === 0) return { items, first, cursor: page.next_cursor };
    }
    return { items, first, cursor: null };
  });
  const cursor = loaded.data?.cursor ?? null;
  const more = useAction(async () => {
    const page = await api.ask<Page<T>>(path, { query: { ...query, cursor } });
    loaded.set((old) => {
      // A reload in between made this page one of another list.
      if (old.cursor !== cursor) return old;
      show(shown.current.pages + 1);
      return { ...old, items: [...old.items, ...page.data], cursor: page.next_cursor };
    });
  });
  return {
    data: loaded.data?.items,
    first: loaded.data?.first,
    problem: loaded.problem ?? more.problem,
    reload: loaded.reload,
    restart() {
      show(1);
      loaded.reload();
    },
    set: (change) => loaded.set((old) => ({ ...old, items: change(old.items) })),
    hasMore: cursor !== null,
    more,
  };
}

/** An action of the user. It runs at most once at a time; `problem` is the problem of the last run. */
export interface Action<A extends unknown[]> {
  run(...args: A): Promise<void>;
  busy: boolean;
  problem: ApiProblem | null;
  clear(): void;
}

export function useAction<A extends unknown[]>(act: (...args: A) => Promise<void>): Action<A> {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const running = useRef(false);
  const run = async (...args: A) => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setProblem(null);
    try {
      await act(...args);
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      running.current = false;
      setBusy(false);
    }
  };
  return { run, busy, problem, clear: () => setProblem(null) };
}

interface Listener {
  onEvent(event: AuditEvent): void;
  /** Called when events may have been missed. */
  onGap(): void;
}

/** References to what each view does now. */
const listeners = new Set<{ current: Listener }>();

/** Whether the stream of the workspace's events is connected. */
export const liveState = signal<LiveState>("connecting");

/** Keeps the stream of a workspace open while a page of it is shown. */
export function useLiveWorkspace(workspace: string): void {
  useEffect(
    () =>
      listen({
        workspace,
        onEvent: (event) => {
          for (const { current } of listeners) current.onEvent(event);
        },
        onState: (state) => {
          liveState.value = state;
        },
        onGap: () => {
          for (const { current } of listeners) current.onGap();
        },
      }),
    [workspace],
  );
}

/** Calls `onEvent` for each event of the workspace, and `onGap` when some may have been missed. */
export function useEvents(onEvent: Listener["onEvent"], onGap: Listener["onGap"] = () => {}): void {
  const latest = useRef<Listener>({ onEvent, onGap });
  latest.current = { onEvent, onGap };
  useEffect(() => {
    listeners.add(latest);
    return () => void listeners.delete(latest);
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
