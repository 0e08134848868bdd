/** `governd completions` and `governd man`: what a shell and a reader need, made from the commands themselves. */
import { Argument, type Command } from "commander";
import { VERSION } from "../../version.ts";
import type { Session } from "../session.ts";
import { bashCompletion } from "../shell/bash.ts";
import { type CommandNode, commandTree } from "../shell/command-tree.ts";
import { fishCompletion } from "../shell/fish.ts";
import { manualPage } from "../shell/manual.ts";
import { zshCompletion } from "../shell/zsh.ts";

const SHELLS: Readonly<Record<string, (root: CommandNode) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

const WHERE = `
Where shells look for it:
  bash  governd completions bash > ~/.local/share/bash-completion/completions/governd
  zsh   governd completions zsh > a directory of fpath, as _governd
  fish  governd completions fish > ~/.config/fish/completions/governd.fish`;

export function addPapers(program: Command, { terminal }: Session): void {
  program
    .command("completions")
    .description("print the completion script of a shell")
    .addArgument(new Argument("<shell>", "whose").choices(Object.keys(SHELLS)))
    .addHelpText("after", WHERE)
    .action(async (shell: string) => {
      await terminal.out(SHELLS[shell]?.(commandTree(program)) ?? "");
    });
  program
    .command("man")
    .description("print the manual page, for man(1)")
    .addHelpText("after", "\nRead it: governd man | man -l -")
    .action(async () => {
      await terminal.out(manualPage(commandTree(program), VERSION));
    });
}
