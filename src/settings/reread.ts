/** What settings that were read again change in a running daemon. */
import { isDeepStrictEqual } from "node:util";
import { DEFINITIONS, type SettingName, type Settings } from "./definitions.ts";

/** Settings that were read again, beside those in force. */
export interface Reread {
  /** The settings to use from now on. */
  settings: Settings;
  /** Those of them that are new. */
  changed: ReadonlySet<SettingName>;
  /** The names of settings that changed too and apply only from the next start. */
  waiting: readonly SettingName[];
}

/** Compares the settings in force with those that were found now. */
export function reread(inForce: Settings, found: Settings): Reread {
  const different = DEFINITIONS.filter(({ name }) => !isDeepStrictEqual(inForce[name], found[name]));
  const names = (fixed: boolean) => different.filter((one) => one.fixed === fixed).map(({ name }) => name);
  const changed = new Set(names(false));
  const taken = Object.fromEntries([...changed].map((name) => [name, found[name]]));
  return { settings: { ...inForce, ...taken }, changed, waiting: names(true) };
}
