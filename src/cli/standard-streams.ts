/** `-` in place of a file is standard input or output, of the commands whose help says so. */
import type { Command } from "commander";
import { Failure } from "../failure.ts";

export const DASH = "-";
/** What the help of an argument or an option says that takes `-`. Others refuse it. */
export const STANDARD_INPUT = "- means standard input";
export const STANDARD_OUTPUT = "- means standard output";

const takesDash = (description: string): boolean =>
  [STANDARD_INPUT, STANDARD_OUTPUT].some((words) => description.includes(words));

/** The arguments that are paths, and the placeholders of options whose value is one. */
const FILES: ReadonlySet<string> = new Set(["file", "evidence", "export", "backup", "dest"]);
const PATH = /<(?:path|file|dir)(?:\|off|\.\.\.)?>/;

/** @throws {Failure} `usage` for a `-` that would be the name of a file or directory */
export function refuseDashAsName(command: Command): void {
  const files = command.registeredArguments.filter((one) => FILES.has(one.name()) && !takesDash(one.description));
  const argument = files.find((one) =>
    [command.processedArgs[command.registeredArguments.indexOf(one)]].flat().includes(DASH),
  );
  if (argument !== undefined) throw refused(argument.name());
  const options = command.options.filter(({ flags }) => PATH.test(flags));
  const option = options.find(
    (one) => [command.getOptionValue(one.attributeName())].flat().includes(DASH) && !takesDash(one.description),
  );
  if (option !== undefined) throw refused(option.long ?? option.flags);
}

const refused = (what: string): Failure =>
  new Failure(
    "usage",
    `${what}: - would be a file of that name. Standard input and output cannot be used here: name a file.`,
  );
