/** Completion for bash, 3.2 and newer, with nothing but the shell itself. */
import { type CommandNode, type CommandOption, everyCommand } from "./command-tree.ts";

/** The script that `governd completions bash` prints. */
export function bashCompletion(root: CommandNode): string {
  const commands = everyCommand(root);
  const paths = commands.filter(({ path }) => path.length > 0).map(({ path }) => `"${pathOf(path)}"`);
  return `# bash completion for governd, made by: governd completions bash

_governd() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} path="" words="" files="" i
  local IFS=$'\\n'
  COMPREPLY=()
  # The shell takes --tls=off for three words.
  if [[ $cur == = ]]; then
    cur=""
  elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
      ${paths.join(" | ")})
        path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path" in
${commands.map(ofCommand).join("\n")}
  esac
  if [[ -n $files && $cur != -* ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
    return
  fi
  COMPREPLY=($(compgen -W "\${words// /$IFS}" -- "$cur"))
}
complete -F _governd governd
`;
}

function pathOf(path: readonly string[]): string {
  return path.map((word) => ` ${word}`).join("");
}

function ofCommand({ path, options, arguments: its, commands }: CommandNode): string {
  const words = [
    ...commands.map((command) => command.path.at(-1) as string),
    ...its.flatMap((argument) => (argument.kind === "choice" ? argument.choices : [])),
    ...options.flatMap(({ long, short }) => long ?? short ?? []),
  ];
  const takesFiles = its.some(({ kind }) => kind === "file");
  const valued = options.filter(({ value }) => value !== null);
  return [
    `    "${pathOf(path)}")`,
    ...(valued.length === 0
      ? []
      : [`      case "$prev" in`, ...valued.map((option) => `        ${ofValue(option)}`), "      esac"]),
    `      words="${words.join(" ")}"`,
    ...(takesFiles ? ["      files=1"] : []),
    "      ;;",
  ].join("\n");
}

function ofValue({ long, short, value }: CommandOption): string {
  const names = [long, short].filter((name) => name !== undefined).join(" | ");
  switch (value?.kind) {
    case "file":
      return `${names}) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return ;;`;
    case "choice":
      return `${names}) COMPREPLY=($(compgen -W $'${value.choices.join("\\n")}' -- "$cur")); return ;;`;
    default:
      return `${names}) return ;;`;
  }
}
