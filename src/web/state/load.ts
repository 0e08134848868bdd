/** Loading what a view shows. What is on the screen stays there until there is something better. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { isAbort } from "../api/client.ts";
import { type ApiProblem, asProblem } from "../api/problem.ts";
import type { Page } from "../api/types.ts";

/** Something loaded, or on its way. */
export interface Loaded<T> {
  data: T | undefined;
  problem: ApiProblem | null;
  /** An answer is awaited. */
  loading: boolean;
  reload(): void;
  /** Changes what is shown, when it is known what the daemon would answer. */
  set(change: (data: T) => T): void;
}

/** Loads when `key` changes; what another key loaded is not shown for this one. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; problem: ApiProblem | null; loading: boolean }>(
    {
      key,
      problem: null,
      loading: true,
    },
  );
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const abandoned = new AbortController();
    setState((old) => (old.key === key ? { ...old, loading: true } : { key, problem: null, loading: true }));
    latest.current(abandoned.signal).then(
      (data) => {
        if (!abandoned.signal.aborted) setState({ key, data, problem: null, loading: false });
      },
      (error: unknown) => {
        if (abandoned.signal.aborted || isAbort(error)) return;
        setState((old) => ({ ...old, problem: asProblem(error), loading: false }));
      },
    );
    return () => abandoned.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((old) => old + 1), []);
  const set = useCallback((change: (data: T) => T) => {
    setState((old) => (old.data === undefined ? old : { ...old, data: change(old.data) }));
  }, []);
  const mine = state.key === key;
  return {
    data: mine ? state.data : undefined,
    problem: mine ? state.problem : null,
    loading: !mine || state.loading,
    reload,
    set,
  };
}

/** A list that grows page by page. */
export interface LoadedList<T> extends Loaded<T[]> {
  hasMore: boolean;
  more(): void;
  loadingMore: boolean;
}

/** Loads the first page when `key` changes, and the next one when asked. */
export function useList<T>(
  key: string,
  load: (cursor: string | null, signal?: AbortSignal) => Promise<Page<T>>,
): LoadedList<T> {
  /** How many pages are shown: a reload asks for as many, so that the list does not shrink under the reader. */
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
    loading: first.loading,
    reload: first.reload,
    set: (change) => first.set((old) => ({ ...old, items: change(old.items) })),
    hasMore: cursor !== null,
    more: () => void more(),
    loadingMore,
  };
}

/** An action of the user: at most one at a time, and what went wrong with the last one. */
export interface Action<A extends unknown[]> {
  run(...args: A): Promise<void>;
  busy: boolean;
  problem: ApiProblem | null;
  clear(): void;
}

export function useAction<A extends unknown[]>(act: (...args: A) => Promise<void>): Action<A> {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const under = useRef(false);
  const run = async (...args: A) => {
    if (under.current) return;
    under.current = true;
    setBusy(true);
    setProblem(null);
    try {
      await act(...args);
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      under.current = false;
      setBusy(false);
    }
  };
  return { run, busy, problem, clear: () => setProblem(null) };
}
