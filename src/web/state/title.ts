/** The title of the browser's tab: what is shown, from the detail to the whole, so that no two tabs look alike. */
import { computed, effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { visible } from "../ui/text/visible.ts";

/** The parts of a title, in their order. */
const PARTS = ["notice", "detail", "tab", "page", "workspace"] as const;

type Part = (typeof PARTS)[number];

const parts = signal<Partial<Record<Part, string>>>({});

const title = computed(() => {
  const shown = PARTS.map((part) => parts.value[part]).filter((text) => text !== undefined && text !== "");
  // The overview of a workspace has the workspace's own name.
  return [...new Set([...shown, "governd"])].join(" · ");
});

effect(() => {
  document.title = visible(title.value);
});

/** Names a part of the title while a component is shown. */
export function useTitle(part: Part, text: string | null): void {
  useEffect(() => {
    if (text === null) return;
    parts.value = { ...parts.peek(), [part]: text };
    return () => {
      const { [part]: mine, ...others } = parts.peek();
      // The next view may have set the name before this component is removed.
      if (mine === text) parts.value = others;
    };
  }, [part, text]);
}
