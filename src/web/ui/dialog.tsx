/** Modal dialogs. The browser's own element keeps the focus inside and closes with Escape. */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button, type ButtonProps } from "./button.tsx";
import { Form } from "./field.tsx";
import { Icon } from "./icon.tsx";
import { Close, Leave, useClose, useHold } from "./leave.ts";

let openDialogs = 0;

/** The element that had the focus before the first open dialog: a dialog may open before the previous one is closed. */
let opener: Element | null = null;

interface DialogProps {
  title: string;
  /** For a dialog without a button, and for more than closing. */
  onClose?(): void;
  /** For a dialog whose content is shown only once: only the button with this text, which confirms that it is kept, closes it. */
  once?: string;
  /** Whether only its own content closes it. Such a dialog hides the page. */
  covers?: boolean;
  children: ComponentChildren;
  wide?: boolean;
}

export function Dialog({ title, onClose, once, covers = false, children, wide = false }: DialogProps) {
  const close = useClose();
  const leave = onClose ?? close;
  const element = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState(false);
  const [asking, setAsking] = useState(false);
  const titleId = useId();
  const stays = once !== undefined || covers;
  /** Closes at once only when nothing would be lost. A second attempt returns to the typed text. */
  const tryToLeave = () => {
    if (stays) return;
    if (typed) setAsking(!asking);
    else leave();
  };
  useHold(once !== undefined || typed, tryToLeave);
  useLayoutEffect(() => {
    if (openDialogs++ === 0) opener = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (--openDialogs > 0) return;
      // Later, since nothing below an open dialog can take the focus.
      queueMicrotask(() => {
        if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
      });
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${wide ? "dialog-wide" : ""} ${covers ? "dialog-covers" : ""}`}
      aria-labelledby={titleId}
      onInput={(event) => isText(event.target) && setTyped(true)}
      onKeyDown={(event) => {
        // The browser closes a dialog at the second Escape, whatever is done at the first.
        if (event.key !== "Escape") return;
        event.preventDefault();
        tryToLeave();
      }}
      onCancel={(event) => {
        event.preventDefault();
        tryToLeave();
      }}
    >
      <div class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        {!stays && (
          <Button kind="icon" aria-label="Close" onClick={tryToLeave}>
            <Icon name="close" />
          </Button>
        )}
      </div>
      <Leave.Provider value={tryToLeave}>{children}</Leave.Provider>
      {once !== undefined && (
        <div class="row row-end dialog-end">
          <Button kind="primary" onClick={leave}>
            {once}
          </Button>
        </div>
      )}
      {asking && <Discard onDiscard={leave} onKeep={() => setAsking(false)} />}
    </dialog>
  );
}

/** Reports whether a control holds text that was composed. A password or a code is soon typed again. */
function isText(target: EventTarget | null): boolean {
  if (target instanceof HTMLTextAreaElement) return true;
  return target instanceof HTMLInputElement && target.type === "text" && target.autocomplete !== "one-time-code";
}

function Discard({ onDiscard, onKeep }: { onDiscard(): void; onKeep(): void }) {
  return (
    <div class="callout tone-warn row dialog-end" role="alert">
      <span>What you typed is not saved.</span>
      <Button small onClick={onKeep}>
        Keep editing
      </Button>
      <Button small kind="danger" onClick={onDiscard}>
        Discard it
      </Button>
    </div>
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
      <Form onSubmit={confirm} submit={action} kind={danger ? "danger" : "primary"} cancel>
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
