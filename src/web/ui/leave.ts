/** Leaving a dialog or a page, and what must not be lost by it. */
import { createContext } from "preact";
import { useContext, useEffect, useRef } from "preact/hooks";
import { hold } from "../state/router.ts";

/** Closes the dialog that a button opened. */
export const Close = createContext(() => {});

/** Returns what closes the dialog around a component, when its work is done. */
export const useClose = (): (() => void) => useContext(Close);

/** Gives up what a dialog was opened for. The dialog asks first when something typed would be lost. */
export const Leave = createContext(() => {});

/**
 * While `active`, the page is not left without asking: the browser asks before it closes or loads the page, and its
 * button Back calls `onBack` instead of going back.
 */
export function useHold(active: boolean, onBack: () => void): void {
  const latest = useRef(onBack);
  latest.current = onBack;
  useAskBeforeUnload(active);
  useEffect(() => (active ? hold(() => latest.current()) : undefined), [active]);
}

/** While `active`, the browser asks before it closes or loads the page. */
export function useAskBeforeUnload(active: boolean): void {
  useEffect(() => {
    if (!active) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [active]);
}
