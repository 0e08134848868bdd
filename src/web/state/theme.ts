/** Light or dark, as the reader wants it, or as the system is. */
import { effect, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;

type Theme = (typeof THEMES)[number];

const NAME = "governd-theme";

const isTheme = (text: string | null): text is Theme => (THEMES as readonly (string | null)[]).includes(text);

/** Returns what was chosen before; a browser may forbid to store anything. */
function stored(): Theme {
  try {
    const text = localStorage.getItem(NAME);
    return isTheme(text) ? text : "system";
  } catch {
    return "system";
  }
}

export const theme = signal<Theme>(stored());

/** Shows the page in the chosen theme from now on. */
export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  try {
    localStorage.setItem(NAME, chosen);
  } catch {
    // It holds until the page is loaded again.
  }
}
