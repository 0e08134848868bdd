/** Compares two states of an agent's data, such as a checkpoint and now: what a restore would change. */
import type { WorkspaceApi } from "../../api/client.ts";
import type { EntryItem } from "../../api/types.ts";
import { sortedJson } from "../../ui/json-text.ts";

/** The largest page of the API. */
const PAGE_SIZE = 1_000;

/** An entry of a state. */
interface Held {
  key: string;
  value?: string;
  metadata: object;
}

export interface EntryChange {
  key: string;
  kind: "comes back" | "is removed" | "changes back";
  /** In the checkpoint. */
  old: Held | null;
  now: Held | null;
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

const content = ({ value, metadata }: Held): string => sortedJson([value, metadata]);

/** Returns what would make one state of the entries of another: a checkpoint of what there is now. */
export function compare(wanted: readonly Held[], now: readonly Held[]): StateDiff {
  const live = new Map(now.map((entry) => [entry.key, entry]));
  const changes: EntryChange[] = [];
  let unchanged = 0;
  for (const old of wanted) {
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
