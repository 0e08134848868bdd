/** `governd version`, and what is generated from the commands themselves: shell completions and the manual page. */
import { Argument, type Command } from "commander";
import { VERSION } from "../../version.ts";
import type { Session } from "../session.ts";

/** The shells that have completions. Each script is imported when it is needed. */
const SHELLS = {
  bash: async () => (await import("../shell/bash.ts")).bashCompletion,
  zsh: async () => (await import("../shell/zsh.ts")).zshCompletion,
  fish: async () => (await import("../shell/fish.ts")).fishCompletion,
} as const;

const WHERE = `
Where shells look for the script:
  bash  governd completions bash > ~/.local/share/bash-completion/completions/governd
  zsh   governd completions zsh > a directory of fpath, as _governd
  fish  governd completions fish > ~/.config/fish/completions/governd.fish`;

export function addVersion(program: Command, session: Session): void {
  program
    .command("version")
    .description("print the version")
    .option("--json", "print JSON")
    .action(() => session.print({ version: VERSION }, [`governd ${VERSION}`]));
}

export function addCompletionsAndManual(program: Command, { terminal }: Session): void {
  program
    .command("completions")
    .description("print the completion script of a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(SHELLS)))
    .addHelpText("after", WHERE)
    .action(async (shell: keyof typeof SHELLS) => {
      const { commandTree } = await import("../shell/command-tree.ts");
      const completion = await SHELLS[shell]();
      await terminal.out(completion(commandTree(program)));
    });
  program
    .command("man")
    .description("print the manual page, for man(1)")
    .addHelpText("after", "\nRead it: governd man | man -l -")
    .action(async () => {
      const { commandTree } = await import("../shell/command-tree.ts");
      const { manualPage } = await import("../shell/manual.ts");
      await terminal.out(manualPage(commandTree(program), VERSION));
    });
}
