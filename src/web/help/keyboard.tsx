/** The keys that work on every page, and the list of them. */
import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../ui/dialog.tsx";
import { Facts } from "../ui/parts.tsx";
import type { WorkspaceLink } from "./commands.ts";
import { Palette } from "./palette.tsx";

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ["Ctrl K or ⌘ K", "Go to a page, an agent, a workspace or an event"],
  ["/", "Search or filter on this page; where there is nothing to search, go to"],
  ["j and k", "The next and the previous row of a list"],
  ["Enter", "Open the row"],
  ["Escape", "Close a dialog"],
  ["?", "This list"],
];

/** The links of rows, in their order. */
const ROWS = "main :is(.event-row, .tree a, .card-link, .table tbody th a)";

type Open = "palette" | "keys" | null;

/** Whether keys are text for what has the focus. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, select, textarea, [contenteditable]");
}

/** Listens for the keys, and shows what they open. */
export function Keyboard({ links }: { links: readonly WorkspaceLink[] }) {
  const [open, setOpen] = useState<Open>(null);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const opened = act(event);
      if (opened === undefined) return;
      event.preventDefault();
      setOpen(opened);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  const close = () => setOpen(null);
  if (open === "palette") return <Palette links={links} onClose={close} />;
  if (open === "keys") return <KeyList onClose={close} />;
  return null;
}

/** Performs the action of a key. Returns what the key opens; null for nothing, and undefined for a key without a meaning here. */
function act(event: KeyboardEvent): Open | undefined {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) return undefined;
  if (key.toLowerCase() === "k" && (ctrlKey || metaKey) && !altKey) return "palette";
  if (ctrlKey || metaKey || altKey || isTyping(target)) return undefined;
  if (key === "?") return "keys";
  if (key === "/") return focusSearch() ? null : "palette";
  if (key === "j" || key === "k") return focusRow(key === "j" ? 1 : -1) ? null : undefined;
  return undefined;
}

function focusSearch(): boolean {
  const field = document.querySelector<HTMLElement>("main input[type=search]");
  field?.focus();
  return field !== null;
}

/** Moves the focus to the row after or before the one that has it; to the first or the last when none has. */
function focusRow(step: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)].filter((row) => row.offsetParent !== null);
  const now = rows.indexOf(document.activeElement as HTMLElement);
  const next = now === -1 ? rows.at(step === 1 ? 0 : -1) : rows[now + step];
  next?.focus();
  return rows.length > 0;
}

function KeyList({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <Facts of={Object.fromEntries(KEYS.map(([keys, what]) => [keys, what]))} />
    </Dialog>
  );
}
