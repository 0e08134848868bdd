/** Modal dialogs. The browser's own element keeps the focus inside and closes with Escape. */
import { type ComponentChildren, createContext } from "preact";
import { useContext, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button, type ButtonProps } from "./button.tsx";
import { Form } from "./field.tsx";
import { Icon } from "./icon.tsx";

let openDialogs = 0;

/** What had the focus before the first of the open dialogs: one may open before the one that it follows is closed. */
let opener: Element | null = null;

const Close = createContext(() => {});

/** Returns what closes the dialog that a {@link DialogButton} opened. */
export const useClose = (): (() => void) => useContext(Close);

interface DialogProps {
  title: string;
  /** For a dialog without a button, and for more than closing. */
  onClose?(): void;
  children: ComponentChildren;
  wide?: boolean;
}

export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const close = useClose();
  const leave = onClose ?? close;
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
        leave();
      }}
    >
      <div class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <Button kind="icon" aria-label="Close" onClick={leave}>
          <Icon name="close" />
        </Button>
      </div>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** The verb on the button. */
  action: string;
  danger?: boolean;
  onConfirm(): Promise<void>;
  children: ComponentChildren;
}

/** Asks before an action, and closes once it is done. */
export function Confirm({ title, action, danger = false, onConfirm, children }: ConfirmProps) {
  const close = useClose();
  const confirm = async () => {
    await onConfirm();
    close();
  };
  return (
    <Dialog title={title}>
      <Form onSubmit={confirm} submit={action} kind={danger ? "danger" : "primary"} onCancel={close}>
        {children}
      </Form>
    </Dialog>
  );
}

interface DialogButtonProps extends Omit<ButtonProps, "onClick" | "action"> {
  dialog: ComponentChildren;
  onClosed?(): void;
}

export function DialogButton({ dialog, onClosed, ...button }: DialogButtonProps) {
  const [open, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
    onClosed?.();
  };
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {open && <Close.Provider value={close}>{dialog}</Close.Provider>}
    </>
  );
}
