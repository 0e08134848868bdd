/** Reads the environment and the settings file. No other module does. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { cannotRead, Failure, systemCode } from "../failure.ts";
import { API_KEY_VARIABLE, CONFIG_FILE, CONFIG_VARIABLE, type Settings } from "./definitions.ts";
import { type Origins, resolveSettings, type Sources } from "./resolve.ts";

export interface LoadedSettings {
  settings: Settings;
  origins: Origins;
}

/**
 * Returns the settings in force for this process, given the flags of the command. `config` is the flag `--config`.
 * @throws {Failure} `invalid_settings` with every mistake on a line of its own
 */
export function loadSettings(flags: Sources["flags"], config: string | undefined): LoadedSettings {
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

/** Returns the API key in the environment. */
export const apiKeyOfEnvironment = (): string | undefined => process.env[API_KEY_VARIABLE];

/**
 * Returns how many requests the runtime sends at the same time, to all servers together; further requests wait. The
 * runtime itself reads this number from the environment, once, when the process starts.
 */
export const requestsAtOnce = (): number => Number(process.env.BUN_CONFIG_MAX_HTTP_REQUESTS) || 256;

function readFile(path: string, named: boolean): Sources["file"] {
  try {
    return { path, directory: dirname(path), text: readFileSync(path, "utf8") };
  } catch (error) {
    if (!named && systemCode(error) === "ENOENT") return null;
    throw cannotRead("invalid_settings", `the settings file ${path}`, error);
  }
}
