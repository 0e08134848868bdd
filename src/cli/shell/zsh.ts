/** Completion for zsh. */
import { type CommandNode, type CommandOption, everyCommand, type Value } from "./command-tree.ts";

/** The script that `governd completions zsh` prints: to be sourced, or put into `fpath` as `_governd`. */
export function zshCompletion(root: CommandNode): string {
  return `#compdef governd
# zsh completion for governd, made by: governd completions zsh

${everyCommand(root).map(ofCommand).join("\n\n")}

if [[ $funcstack[1] == _governd ]]; then
  _governd "$@"
else
  compdef _governd governd
fi
`;
}

function functionOf(path: readonly string[]): string {
  return ["_governd", ...path].join("_").replaceAll("-", "_");
}

function ofCommand(node: CommandNode): string {
  const specs = node.options.flatMap(ofOption);
  if (node.commands.length === 0) {
    const rest = node.arguments.map(({ name, ...value }) => quoted(`*:${escaped(name)}:${action(value)}`));
    return `${functionOf(node.path)}() {\n  _arguments ${[...specs, ...rest].join(" \\\n    ")}\n}`;
  }
  const described = node.commands.map(({ path, summary }) => quoted(`${path.at(-1)}:${escaped(summary)}`));
  const branches = node.commands.map(({ path }) => `      ${path.at(-1)}) ${functionOf(path)} ;;`);
  return `${functionOf(node.path)}() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands=(
    ${described.join("\n    ")}
  )
  _arguments -C ${specs.join(" \\\n    ")} \\
    '1: :->command' '*:: :->words'
  case $state in
    command) _describe command commands ;;
    words) case $line[1] in
${branches.join("\n")}
    esac ;;
  esac
}`;
}

function ofOption({ long, short, help, value, repeatable }: CommandOption): string[] {
  const names = [short, long].filter((name) => name !== undefined);
  const exclusive = repeatable ? "*" : names.length > 1 ? `(${names.join(" ")})` : "";
  const its = value === null ? "" : `:${escaped(value.name)}:${action(value)}`;
  return names.map((name) =>
    quoted(`${exclusive}${name}${value && name.startsWith("--") ? "=" : ""}[${escaped(help)}]${its}`),
  );
}

function action(value: Value): string {
  if (value.kind === "file") return "_files";
  return value.kind === "choice" ? `(${value.choices.join(" ")})` : " ";
}

/** Text within a specification, where colons and brackets mean something. */
function escaped(text: string): string {
  return text.replace(/[\\:[\]]/g, "\\$&");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
