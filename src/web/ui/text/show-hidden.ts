/**
 * Shows invisible characters, and characters that change the direction of text, as escapes without effect. This happens
 * where texts become part of the page, so no view can forget it. Copied and sent texts stay as they are.
 */
import { options } from "preact";
import { visible } from "./visible.ts";

/** Attributes that the browser shows or reads out. */
const SHOWN = ["title", "aria-label", "placeholder", "alt", "label"] as const;

/** Makes every text of the page visible from now on. */
export function showHidden(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    before?.(vnode);
    const { type, props } = vnode as { type: unknown; props: unknown };
    // A text is a node without a type, whose properties are the text.
    if (typeof props === "string") vnode.props = visible(props) as unknown as typeof vnode.props;
    else if (typeof type === "string") showAttributes(props as Record<string, unknown>);
  };
}

function showAttributes(props: Record<string, unknown>): void {
  for (const name of SHOWN) {
    const text = props[name];
    if (typeof text === "string") props[name] = visible(text);
  }
}
