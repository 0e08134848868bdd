/** Options that several commands share. */
import type { Command } from "commander";
import { DEFINITIONS, flagOf } from "../settings/definitions.ts";
import type { SettingFlags } from "../settings/load.ts";
import type { SettingName } from "../settings/schema.ts";

const CONFIG_HELP = "settings file (default: governd.toml, if it is there)";

/** `--config` and the flags of the named settings; of all when none is named. */
export function addSettingOptions(command: Command, names?: readonly SettingName[]): Command {
  command.option("--config <path>", CONFIG_HELP);
  for (const { name, kind, help } of DEFINITIONS) {
    if (names && !names.includes(name)) continue;
    command.option(`${flagOf(name)} <${kind.metavar}>`, help);
  }
  return command;
}

/** What the parsed options say about settings. */
export function settingFlags(options: Readonly<Record<string, unknown>>): SettingFlags {
  const flags: Partial<Record<SettingName, string>> = {};
  for (const { name } of DEFINITIONS) {
    const value = options[camelCase(name)];
    if (typeof value === "string") flags[name] = value;
  }
  return { flags, config: typeof options.config === "string" ? options.config : undefined };
}

/** `data_dir` is `dataDir` among the parsed options. */
function camelCase(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
