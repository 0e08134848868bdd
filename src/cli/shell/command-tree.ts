/** The commands as plain data, read from the parser. Completions and the manual page are generated from it. */
import type { Argument, Command, Option } from "commander";

/** The kind of a value: a file name, one of several words, or free text. */
export type Value = { kind: "file" } | { kind: "choice"; choices: readonly string[] } | { kind: "free" };

export interface CommandOption {
  /** The short and the long form, those that exist, with their dashes. */
  flags: readonly string[];
  help: string;
  /** Null for an option without a value. */
  value: (Value & { name: string }) | null;
  repeatable: boolean;
}

export interface CommandNode {
  /** The words after `governd`: empty for the program itself. */
  path: readonly string[];
  /** One line. */
  summary: string;
  /** The text of `--help` before the options. */
  description: string;
  /** The text of `--help` after the options. */
  after: string;
  /** The usage line after the name: `[options] <evidence...>`. */
  usage: string;
  options: readonly CommandOption[];
  arguments: readonly (Value & { name: string; help: string })[];
  commands: readonly CommandNode[];
}

/** The names of values that are files or directories. */
const FILES = new Set(["path", "file", "files", "evidence", "directory", "dir", "dest", "src", "source"]);
/** Matches a value name that lists its choices, such as `auto|files|off`. */
const LISTED = /^[a-z]+(\|[a-z]+)+$/;

/** Returns a command with all its subcommands. */
export function commandTree(command: Command, path: readonly string[] = []): CommandNode {
  return {
    path,
    summary: command.summary() || (command.description().split("\n", 1)[0] as string),
    description: command.description(),
    after: textAfterHelp(command),
    usage: command.usage(),
    options: command.createHelp().visibleOptions(command).map(readOption),
    arguments: command.registeredArguments.map(readArgument),
    commands: command.commands.map((child) => commandTree(child, [...path, child.name()])),
  };
}

/** Returns this command and all its subcommands, in order. */
export const everyCommand = (node: CommandNode): CommandNode[] => [node, ...node.commands.flatMap(everyCommand)];

function readOption(option: Option): CommandOption {
  const name = /[<[]([^>\]]*?)(?:\.\.\.)?[>\]]/.exec(option.flags)?.[1];
  return {
    flags: [option.short, option.long].filter((flag) => typeof flag === "string"),
    help: option.description,
    value: name === undefined ? null : { name, ...placeOf(name, option.argChoices) },
    repeatable: option.variadic || / may be given several times/.test(option.description),
  };
}

function readArgument(argument: Argument): Value & { name: string; help: string } {
  const name = argument.name();
  return { name, help: argument.description, ...placeOf(name, argument.argChoices) };
}

function placeOf(name: string, choices: readonly string[] | undefined): Value {
  if (choices) return { kind: "choice", choices };
  if (LISTED.test(name)) return { kind: "choice", choices: name.split("|") };
  return FILES.has(name) ? { kind: "file" } : { kind: "free" };
}

/** Returns the text after the help. The parser keeps it in event listeners, which its types do not declare. */
function textAfterHelp(command: Command): string {
  let text = "";
  const write = (piece: string) => {
    text += piece;
  };
  const emitter = command as Command & { emit(event: string, context: object): void };
  emitter.emit("afterHelp", { error: false, command, write });
  return text.trim();
}
