/** Leaving a dialog or a page without losing unsaved input. */
import { createContext } from "preact";
import { useContext, useLayoutEffect, useRef } from "preact/hooks";
import { hold } from "../state/router.ts";

/** Closes the dialog that a button opened. */
export const Close = createContext(() => {});

/** Returns what closes the dialog around a component, when its work is done. */
export const useClose = (): (() => void) => useContext(Close);

/** Gives up what a dialog was opened for. The dialog asks first when something typed would be lost. */
export const Leave = createContext(() => {});

/**
 * While `active`, the page is not left without asking: the browser asks before it closes or loads the page, and its
 * button Back calls `onBack` instead of going back. Both hold from the moment that the page shows what must not be
 * lost, so these are layout effects: a busy browser runs other effects a while after the text is on the page.
 */
export function useHold(active: boolean, onBack: () => void): void {
  const latest = useRef(onBack);
  latest.current = onBack;
  useAskBeforeUnload(active);
  useLayoutEffect(() => (active ? hold(() => latest.current()) : undefined), [active]);
}

/** While `active`, the browser asks before it closes or loads the page. */
export function useAskBeforeUnload(active: boolean): void {
  useLayoutEffect(() => {
    if (!active) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [active]);
}
