/** Short messages about what was just done. */
import { signal } from "@preact/signals";

/** How long one stays. */
const SHOWN_MS = 6_000;

export interface Notice {
  id: number;
  text: string;
  tone: "good" | "bad";
}

export const notices = signal<readonly Notice[]>([]);

let lastId = 0;

export function say(text: string, tone: Notice["tone"] = "good"): void {
  const id = ++lastId;
  notices.value = [...notices.value, { id, text, tone }];
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}
