/** Shows the messages of `state/notices.ts`, and reads them to who listens. */
import { dismiss, notices } from "../state/notices.ts";
import { Icon } from "./icon.tsx";

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text, tone }) => (
        <div key={id} class={`notice notice-${tone}`}>
          <span>{text}</span>
          <button type="button" class="button icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
