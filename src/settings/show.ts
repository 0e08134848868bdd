/** Settings as a person or a script reads them back: `serve --print-settings`. */
import { DEFINITIONS } from "./definitions.ts";
import type { Origins } from "./resolve.ts";
import type { Settings } from "./schema.ts";

const MASK = "********";

/** One setting as it is shown. */
export interface ShownSetting {
  name: string;
  value: string | number | string[];
  origin: string;
}

/** The settings in their order, in the form in which they are written, secrets masked. */
export function showSettings(settings: Settings, origins: Origins): ShownSetting[] {
  return DEFINITIONS.map(({ name, kind, secret }) => {
    const value = settings[name];
    const shown = kind.show(value as never);
    return { name, value: secret && shown !== "" ? MASK : shown, origin: origins[name] };
  });
}

/** The same as lines that `governd.toml` takes, each with where its value came from. */
export function settingsAsToml(shown: readonly ShownSetting[]): string {
  const lines = shown.map(({ name, value, origin }) => {
    const unset = value === "";
    const written = typeof value === "number" ? `${value}` : JSON.stringify(value);
    return {
      text: unset ? `# ${name} is not set` : `${name} = ${written}`,
      origin: unset ? "" : `# ${origin}`,
    };
  });
  const width = Math.max(...lines.map(({ text }) => text.length));
  return lines.map(({ text, origin }) => `${text.padEnd(width)}  ${origin}`.trimEnd()).join("\n");
}
