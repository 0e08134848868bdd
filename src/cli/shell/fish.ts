/** Completion for fish. */
import { type CommandNode, type CommandOption, everyCommand } from "./command-tree.ts";

/** The script that `governd completions fish` prints. */
export function fishCompletion(root: CommandNode): string {
  const commands = everyCommand(root);
  const paths = commands.filter(({ path }) => path.length > 0).map(({ path }) => quoted(path.join(" ")));
  return `# fish completion for governd, made by: governd completions fish

function __governd_at --description 'whether the words so far name this command'
    set -l words (commandline -opc)
    set -l path
    for word in $words[2..]
        if contains -- (string join -- ' ' $path $word) ${paths.join(" ")}
            set -a path $word
        end
    end
    test "$path" = "$argv"
end

complete -c governd -f
${commands.flatMap(ofCommand).join("\n")}
`;
}

function ofCommand({ path, options, arguments: its, commands }: CommandNode): string[] {
  const start = `complete -c governd -n ${quoted(["__governd_at", ...path].join(" "))}`;
  return [
    ...commands.map((child) => `${start} -a ${child.path.at(-1)} -d ${quoted(child.summary)}`),
    ...its.flatMap((argument) => {
      if (argument.kind === "file") return [`${start} -F`];
      return argument.kind === "choice" ? [`${start} -a ${quoted(argument.choices.join(" "))}`] : [];
    }),
    ...options.map((option) => `${start} ${ofOption(option)}`),
  ];
}

function ofOption({ long, short, help, value }: CommandOption): string {
  const words = [
    ...(short ? [`-s ${short.slice(1)}`] : []),
    ...(long ? [`-l ${long.slice(2)}`] : []),
    // What takes a value and names no files must say so, or files are offered for it.
    ...(value ? [value.kind === "file" ? "-r -F" : "-x"] : []),
    ...(value?.kind === "choice" ? [`-a ${quoted(value.choices.join(" "))}`] : []),
    `-d ${quoted(help)}`,
  ];
  return words.join(" ");
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
