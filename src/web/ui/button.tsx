/** Buttons. */
import type { ComponentChildren } from "preact";

export interface ButtonProps {
  children: ComponentChildren;
  kind?: "plain" | "primary" | "danger" | "danger-quiet" | "icon";
  small?: boolean;
  disabled?: boolean;
  onClick?(): void;
  /** The action of the button, in place of `onClick`. The button is disabled while it runs. */
  action?: { run(): Promise<void>; busy: boolean };
  title?: string;
  "aria-label"?: string;
  "aria-expanded"?: boolean;
  "aria-controls"?: string;
}

export function Button({ children, kind = "plain", small = false, action, ...rest }: ButtonProps) {
  const classes = ["button"];
  if (small) classes.push("button-small");
  if (kind !== "plain") classes.push(kind === "icon" ? "icon-button" : `button-${kind}`);
  const acts = action === undefined ? {} : { disabled: action.busy, onClick: () => void action.run() };
  return (
    <button type="button" class={classes.join(" ")} {...acts} {...rest}>
      {children}
    </button>
  );
}
