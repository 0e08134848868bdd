/** Modal dialogs. The browser's own element keeps the focus inside and closes with Escape. */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { useAction } from "../state/load.ts";
import { Button } from "./button.tsx";
import { Form } from "./field.tsx";
import { Icon } from "./icon.tsx";

interface DialogProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
  wide?: boolean;
}

export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      // Later, since nothing behind an open dialog can take the focus.
      queueMicrotask(() => {
        if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
      });
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={wide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <Button kind="icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </Button>
      </div>
      {children}
    </dialog>
  );
}

interface ConfirmProps extends DialogProps {
  /** The verb on the button. */
  action: string;
  danger?: boolean;
  onConfirm(): Promise<void>;
}

/** Asks before an action, and closes once it is done. */
export function Confirm({ title, action, danger = false, onClose, onConfirm, children }: ConfirmProps) {
  const act = useAction(async () => {
    await onConfirm();
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <Form action={act} submit={action} kind={danger ? "danger" : "primary"} onCancel={onClose}>
        {children}
      </Form>
    </Dialog>
  );
}
