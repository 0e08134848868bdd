/** Modal dialogs. The browser's own element keeps the focus inside and closes with Escape. */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button, type ButtonProps } from "./button.tsx";
import { Form } from "./field.tsx";
import { Icon } from "./icon.tsx";

let openDialogs = 0;

/** What had the focus before the first of the open dialogs: one may open before the one that it follows is closed. */
let opener: Element | null = null;

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
    if (openDialogs++ === 0) opener = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (--openDialogs > 0) return;
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
  const confirm = async () => {
    await onConfirm();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={confirm} submit={action} kind={danger ? "danger" : "primary"} onCancel={onClose}>
        {children}
      </Form>
    </Dialog>
  );
}

interface DialogButtonProps extends Omit<ButtonProps, "onClick" | "action"> {
  /** Renders the dialog while it is open. */
  dialog(close: () => void): ComponentChildren;
}

/** A button that opens a dialog. */
export function DialogButton({ dialog, ...button }: DialogButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {open && dialog(() => setOpen(false))}
    </>
  );
}
