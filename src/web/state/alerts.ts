/** Alerts that are shown on every page: writes that were refused, and proofs that failed. */
import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AuditEvent } from "../api/types.ts";
import { counted } from "../ui/numbers.ts";
import { useEvents } from "./load.ts";
import { useAccess } from "./session.ts";
import { useTitle } from "./title.ts";

/** Writes and restores that policies blocked since somebody looked. */
export const refused = signal(0);

/** The event of a verification that found the log or the data changed; null while none is known. */
export const broken = signal<string | null>(null);

/** Shows the alerts in the title of the tab. */
const notice = computed(() => {
  if (broken.value !== null) return "A proof does not hold";
  return refused.value === 0 ? null : `${counted(refused.value, "write")} refused`;
});

/** Counts what happens in the workspace while a page of it is open. */
export function useAlerts(): void {
  const { id } = useAccess();
  useEffect(() => {
    refused.value = 0;
    broken.value = null;
  }, [id]);
  useEvents(note);
  useTitle("notice", notice.value);
}

function note({ id, operation, result, agent_id, details }: AuditEvent): void {
  if (result === "blocked") refused.value++;
  if (operation !== "audit.verify" || result !== "ok") return;
  if (details?.valid === false) broken.value = id;
  // Only a verification of everything shows that a failed proof holds again.
  else if (agent_id === null) broken.value = null;
}

/** Somebody goes where the refused writes are. */
export function looked(): void {
  refused.value = 0;
}
