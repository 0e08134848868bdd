/** Names for the actors of events: labels of keys, names of members. Asked for once per workspace. */
import { signal } from "@preact/signals";
import { ask } from "../api/client.ts";
import type { ApiKey, Member } from "../api/types.ts";

const names = signal<ReadonlyMap<string, string>>(new Map());
const asked = new Set<string>();

/** Learns the names of a workspace's keys and members. */
export async function learnActors(workspaceId: string, again = false): Promise<void> {
  if (asked.has(workspaceId) && !again) return;
  asked.add(workspaceId);
  const base = `/account/workspaces/${workspaceId}`;
  const [keys, members] = await Promise.allSettled([
    ask<{ data: ApiKey[] }>(`${base}/keys`),
    ask<{ data: Member[] }>(`${base}/members`),
  ]);
  const learned = new Map(names.peek());
  if (keys.status === "fulfilled") {
    for (const { id, label } of keys.value.data) if (label !== null) learned.set(id, label);
  }
  if (members.status === "fulfilled") {
    for (const { account_id, name } of members.value.data) learned.set(account_id, name);
  }
  names.value = learned;
}

const FIXED: Record<string, string> = { system: "governd", cli: "command line" };

/** How an actor is called; its id when nothing better is known. */
export const actorName = (actor: string): string => FIXED[actor] ?? names.value.get(actor) ?? shortId(actor);

/** An identifier without its middle. */
export const shortId = (id: string): string => (id.length > 20 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id);
