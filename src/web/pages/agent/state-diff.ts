/** Compares a checkpoint with the live data: what a restore would change. */
import type { WorkspaceApi } from "../../api/client.ts";
import type { CheckpointWithState, EntryItem, StateEntry } from "../../api/types.ts";
import { sortedJson } from "../../ui/json-text.ts";

/** The largest page of the API. */
const PAGE_SIZE = 1_000;

export interface EntryChange {
  key: string;
  kind: "comes back" | "is removed" | "changes back";
  /** In the checkpoint. */
  old: StateEntry | null;
  now: EntryItem | null;
}

export interface StateDiff {
  /** By key. */
  changes: EntryChange[];
  unchanged: number;
}

/** Returns every live entry of an agent, with values. */
export async function liveEntries(api: WorkspaceApi, agentId: string, signal?: AbortSignal): Promise<EntryItem[]> {
  const entries: EntryItem[] = [];
  const query = { agent_id: agentId, include_values: true, limit: PAGE_SIZE };
  for await (const page of api.pages<EntryItem>("/v1/data/list", query, signal)) entries.push(...page.data);
  return entries;
}

const content = ({ value, metadata }: { value?: string; metadata: object }): string => sortedJson([value, metadata]);

/** Returns what restoring the checkpoint's data would do to the live entries. */
export function compare(checkpoint: CheckpointWithState, now: readonly EntryItem[]): StateDiff {
  const live = new Map(now.map((entry) => [entry.key, entry]));
  const changes: EntryChange[] = [];
  let unchanged = 0;
  for (const old of checkpoint.state.entries) {
    const present = live.get(old.key) ?? null;
    live.delete(old.key);
    if (present === null) changes.push({ key: old.key, kind: "comes back", old, now: null });
    else if (content(old) === content(present)) unchanged++;
    else changes.push({ key: old.key, kind: "changes back", old, now: present });
  }
  for (const present of live.values()) changes.push({ key: present.key, kind: "is removed", old: null, now: present });
  changes.sort((a, b) => (a.key < b.key ? -1 : 1));
  return { changes, unchanged };
}
