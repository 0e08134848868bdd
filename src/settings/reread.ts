/** How settings that were read again change a running daemon. */
import { isDeepStrictEqual } from "node:util";
import { DEFINITIONS, type SettingName, type Settings } from "./definitions.ts";

/** The comparison of settings that were read again with the settings in force. */
export interface Reread {
  /** The settings to use from now on. */
  settings: Settings;
  /** The names of settings whose new values apply now. */
  changed: ReadonlySet<SettingName>;
  /** The names of changed settings whose new values apply only from the next start. */
  waiting: readonly SettingName[];
}

/** Compares the settings in force with the settings found now. */
export function reread(inForce: Settings, found: Settings): Reread {
  const different = DEFINITIONS.filter(({ name }) => !isDeepStrictEqual(inForce[name], found[name]));
  const names = (fixed: boolean) => different.filter((one) => one.fixed === fixed).map(({ name }) => name);
  const changed = new Set(names(false));
  const taken = Object.fromEntries([...changed].map((name) => [name, found[name]]));
  return { settings: { ...inForce, ...taken }, changed, waiting: names(true) };
}
