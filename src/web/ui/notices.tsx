/** Short messages about what was just done. Screen readers read them out. */
import { signal } from "@preact/signals";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

/** How long a message stays. */
const SHOWN_MS = 6_000;

interface Notice {
  id: number;
  text: string;
  tone: "good" | "bad";
}

const notices = signal<readonly Notice[]>([]);

let lastId = 0;

/** Says what happened: to what, and what: `say("The key bot", "is revoked.")`. */
export function say(subject: string, happened: string, tone: Notice["tone"] = "good"): void {
  const id = ++lastId;
  notices.value = [...notices.value, { id, text: `${subject} ${happened}`, tone }];
  setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text, tone }) => (
        <div key={id} class={`notice tone-${tone}`}>
          <span>{text}</span>
          <Button kind="icon" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </Button>
        </div>
      ))}
    </div>
  );
}
