/** The actors of events, with their names: labels of keys, names of members. */
import { signal } from "@preact/signals";
import { ask } from "../api/client.ts";
import type { ApiKey, Member } from "../api/types.ts";

const names = signal<ReadonlyMap<string, string>>(new Map());
const asked = new Set<string>();

/** Loads the names of a workspace's keys and members, once unless `again`. */
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

/** Returns the name of an actor, or a short form of its id. */
const actorName = (actor: string): string => FIXED[actor] ?? names.value.get(actor) ?? shortId(actor);

/** Returns an identifier without its middle. */
export const shortId = (id: string): string => (id.length > 20 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id);

/** Who did something: the name, with the id on hover. */
export function Actor({ id }: { id: string }) {
  const kind = id.startsWith("key_") ? "API key " : "";
  return (
    <span class="nowrap" title={`${kind}${id}`}>
      {actorName(id)}
    </span>
  );
}
