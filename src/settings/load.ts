/** The one place that reads the environment and the settings file. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { Failure, systemCode, systemReason } from "../failure.ts";
import { CONFIG_FILE, CONFIG_VARIABLE } from "./definitions.ts";
import { type Origins, resolveSettings, type Spoken } from "./resolve.ts";
import type { SettingName, Settings } from "./schema.ts";

/** What a command line says about settings. */
export interface SettingFlags {
  flags: Partial<Record<SettingName, string>>;
  /** `--config`. */
  config?: string | undefined;
}

/**
 * The settings in force for this process.
 * Throws `Failure` (`invalid_settings`) that lists every mistake, one a line.
 */
export function loadSettings({ flags, config }: SettingFlags): { settings: Settings; origins: Origins } {
  const environment = process.env;
  const cwd = process.cwd();
  const named = config ?? environment[CONFIG_VARIABLE];
  const resolution = resolveSettings({
    flags,
    environment,
    file: readFile(resolve(cwd, named ?? CONFIG_FILE), named !== undefined),
    world: { cwd, cores: availableParallelism() },
  });
  if (resolution.ok) return resolution;
  const many = resolution.mistakes.length;
  const count = many === 1 ? "is a mistake" : `are ${many} mistakes`;
  const lines = resolution.mistakes.map((mistake) => `  ${mistake}`).join("\n");
  throw new Failure("invalid_settings", `There ${count} in the settings:\n${lines}`);
}

function readFile(path: string, named: boolean): Spoken["file"] {
  try {
    return { path, directory: dirname(path), text: readFileSync(path, "utf8") };
  } catch (error) {
    if (!named && systemCode(error) === "ENOENT") return null;
    throw new Failure("invalid_settings", `Cannot read the settings file ${path}: ${systemReason(error)}.`);
  }
}
