/** Loads what a view shows. A reload keeps the old data on the screen until the new data is there. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Ask, ask, isAbort, type Query } from "../api/client.ts";
import { type ApiProblem, asProblem } from "../api/problem.ts";
import type { Page } from "../api/types.ts";

/** Something loaded, or on its way. */
export interface Loaded<T> {
  data: T | undefined;
  problem: ApiProblem | null;
  reload(): void;
  /** Changes the data in place, when it is known what a reload would return. */
  set(change: (data: T) => T): void;
}

/** Loads when `key` changes. Data loaded for another key is not shown. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; problem: ApiProblem | null }>({ key, problem: null });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const abandoned = new AbortController();
    setState((old) => (old.key === key ? old : { key, problem: null }));
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
  }, [key, round]);
  const reload = useCallback(() => setRound((old) => old + 1), []);
  const set = useCallback((change: (data: T) => T) => {
    setState((old) => (old.data === undefined ? old : { ...old, data: change(old.data) }));
  }, []);
  const mine = state.key === key;
  return { data: mine ? state.data : undefined, problem: mine ? state.problem : null, reload, set };
}

/** Loads the response to one request; loads again when the request changes. */
export function useAsk<T>(path: string, request: Ask = {}): Loaded<T> {
  return useLoad<T>(JSON.stringify([path, request]), (signal) => ask<T>(path, { ...request, signal }));
}

/** Loads a list that has no pages. */
export function useItems<T>(path: string): Loaded<T[]> {
  return useLoad<T[]>(path, async (signal) => (await ask<{ data: T[] }>(path, { signal })).data);
}

/** A list that grows page by page. */
export interface LoadedList<T> extends Loaded<T[]> {
  hasMore: boolean;
  more(): void;
  loadingMore: boolean;
}

/** Loads the first page of a workspace's list when the request changes, and the next one on request. */
export function useList<T>(workspace: string, path: string, query: Query): LoadedList<T> {
  const key = JSON.stringify([workspace, path, query]);
  const load = (cursor: string | null, signal?: AbortSignal) =>
    ask<Page<T>>(path, { workspace, query: { ...query, cursor }, signal });
  /** A reload asks for as many pages as are shown, so that the list does not shrink under the reader. */
  const shown = useRef({ key, pages: 1 });
  if (shown.current.key !== key) shown.current = { key, pages: 1 };
  const first = useLoad<{ items: T[]; cursor: string | null }>(key, async (signal) => {
    const items: T[] = [];
    let cursor: string | null = null;
    for (let pages = shown.current.pages; pages > 0; pages--) {
      const page: Page<T> = await load(cursor, signal);
      items.push(...page.data);
      cursor = page.next_cursor;
      if (cursor === null) break;
    }
    return { items, cursor };
  });
  const [loadingMore, setLoadingMore] = useState(false);
  const [moreProblem, setMoreProblem] = useState<ApiProblem | null>(null);
  const cursor = first.data?.cursor ?? null;
  const more = async () => {
    if (cursor === null || loadingMore) return;
    setLoadingMore(true);
    setMoreProblem(null);
    try {
      const page = await load(cursor);
      first.set((old) => {
        // A reload in between made this page one of another list.
        if (old.cursor !== cursor) return old;
        shown.current.pages++;
        return { items: [...old.items, ...page.data], cursor: page.next_cursor };
      });
    } catch (error) {
      setMoreProblem(asProblem(error));
    } finally {
      setLoadingMore(false);
    }
  };
  return {
    data: first.data?.items,
    problem: first.problem ?? moreProblem,
    reload: first.reload,
    set: (change) => first.set((old) => ({ ...old, items: change(old.items) })),
    hasMore: cursor !== null,
    more: () => void more(),
    loadingMore,
  };
}

/** An action of the user. It runs at most once at a time; `problem` is what went wrong with the last run. */
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
