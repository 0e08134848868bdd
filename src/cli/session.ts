/** The session that every command gets, and the options that several commands share. */
import { type Command, InvalidArgumentError } from "commander";
import { parseTimestamp } from "../api/timestamp.ts";
import { DEFINITIONS, flagOf, type SettingName, type Settings } from "../settings/definitions.ts";
import { type LoadedSettings, loadSettings } from "../settings/load.ts";
import { SERVER_SETTINGS } from "../settings/server-options.ts";
import { LINE_INTERVAL_MS, Progress } from "./progress.ts";
import { DASH } from "./standard-streams.ts";
import type { Terminal } from "./terminal.ts";

const CONFIG_HELP = "settings file (default: governd.toml in the current directory, if it exists)";

/** One run of one command. */
export class Session {
  exitCode = 0;
  /** Whether the command was given `--json`. */
  json = false;

  constructor(readonly terminal: Terminal) {}

  /** Prints a result: one JSON value with `--json`, the given lines otherwise. */
  print(value: unknown, lines: readonly string[]): Promise<void> {
    return this.terminal.out(this.json ? `${JSON.stringify(value)}\n` : `${lines.join("\n")}\n`);
  }

  /** Prints a result like {@link print}, but to standard error when standard output has the content of `file`. */
  printBeside(file: string, value: unknown, lines: readonly string[]): Promise<void> {
    if (file !== DASH) return this.print(value, lines);
    return this.terminal.err(this.json ? `${JSON.stringify(value)}\n` : `${lines.join("\n")}\n`);
  }

  /**
   * Runs `work` with a progress bar, and removes the bar afterwards. `bar` false hides it. `lines`: without a terminal,
   * print the progress as lines.
   */
  async withProgress<T>(
    work: (progress: Progress) => Promise<T>,
    { bar = !this.json, lines = false } = {},
  ): Promise<T> {
    const progress = new Progress(this.terminal, {
      bar,
      ...(lines && !this.json && { linesEveryMs: LINE_INTERVAL_MS }),
    });
    try {
      return await work(progress);
    } finally {
      await progress.clear();
    }
  }
}

/** The settings that say where workspaces, accounts and keys are stored. */
export const STORED: readonly SettingName[] = ["data_dir", "encryption_key_file", ...SERVER_SETTINGS];

/** Adds `--json`, `--config` and the flags of the named settings, or of every setting when none is named. */
export const addCommonOptions = (command: Command, names?: readonly SettingName[]): Command =>
  addSettingOptions(command.option("--json", "print JSON"), names);

/** Adds `--config` and the flags of the named settings, or of every setting when none is named. */
export function addSettingOptions(command: Command, names?: readonly SettingName[]): Command {
  command.option("--config <path>", CONFIG_HELP);
  for (const { name, kind, help } of DEFINITIONS) {
    if (names && !names.includes(name)) continue;
    command.option(`${flagOf(name)} <${kind.metavar}>`, help);
  }
  return command;
}

/** Returns a parser of whole numbers from `least` to `most`. @throws {InvalidArgumentError} */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const number = /^\d{1,16}$/.test(text) ? Number(text) : -1;
    if (number >= least && number <= most) return number;
    const end = most === Number.MAX_SAFE_INTEGER ? "on" : `to ${most}`;
    throw new InvalidArgumentError(`It must be a whole number from ${least} ${end}.`);
  };
}

/**
 * Parses a date, which means its start in UTC, or an RFC 3339 time: ms since the epoch.
 * @throws {InvalidArgumentError}
 */
export function dateOrTime(text: string): number {
  const ms = parseTimestamp(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (ms !== null) return ms;
  throw new InvalidArgumentError("It must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z.");
}

/** Collects the values of an option that may be repeated. */
export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

/**
 * Returns the settings that are in force for a command with these parsed options, and where each came from.
 * @throws {Failure} `invalid_settings`
 */
export function settingsWithOrigins(options: object): LoadedSettings {
  const given = options as Readonly<Record<string, unknown>>;
  const flags: Partial<Record<SettingName, string>> = {};
  for (const { name } of DEFINITIONS) {
    // The option parser keeps `data_dir` as `dataDir`.
    const value = given[name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof value === "string") flags[name] = value;
  }
  return loadSettings(flags, typeof given.config === "string" ? given.config : undefined);
}

/**
 * Returns the settings that are in force for a command with these parsed options.
 * @throws {Failure} `invalid_settings`
 */
export const settingsOf = (options: object): Settings => settingsWithOrigins(options).settings;
