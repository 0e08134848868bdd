/** Asks before what cannot be taken back. */
import type { ComponentChildren } from "preact";
import { useAction } from "../state/load.ts";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./problem.tsx";

interface ConfirmProps {
  title: string;
  /** The verb on the button. */
  action: string;
  danger?: boolean;
  onClose(): void;
  onConfirm(): Promise<void>;
  children: ComponentChildren;
}

export function Confirm({ title, action, danger = false, onClose, onConfirm, children }: ConfirmProps) {
  const act = useAction(async () => {
    await onConfirm();
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        {children}
        <Problem problem={act.problem} />
        <div class="row row-end">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            class={`button ${danger ? "button-danger" : "button-primary"}`}
            disabled={act.busy}
            onClick={() => act.run()}
          >
            {action}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
