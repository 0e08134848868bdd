/**
 * Every command, and where it is. A command brings in what it needs and no other: a daemon keeps no code of
 * commands in its memory, and a command starts sooner.
 */
import type { Command } from "commander";
import type { Session } from "./session.ts";

type Add = (program: Command, session: Session) => void;

interface Entry {
  /** The word that it is called by; null for what is added only with all the others. */
  word: string | null;
  load(): Promise<Add>;
}

/** In the order of `--help`. */
const COMMANDS: readonly Entry[] = [
  { word: "serve", load: async () => (await import("./commands/serve.ts")).addServe },
  { word: "health", load: async () => (await import("./commands/health.ts")).addHealth },
  { word: "verify", load: async () => (await import("./commands/verify.ts")).addVerify },
  { word: "scan", load: async () => (await import("./commands/scan.ts")).addScan },
  { word: "workspace", load: async () => (await import("./commands/workspace.ts")).addWorkspaceCommands },
  { word: "key", load: async () => (await import("./commands/key.ts")).addKeyCommands },
  { word: "key-info", load: async () => (await import("./commands/key-info.ts")).addKeyInfo },
  {
    word: "rotate-seal-key",
    load: async () => (await import("./commands/rotate-seal-key.ts")).addRotateSealKey,
  },
  { word: "erase", load: async () => (await import("./commands/erase.ts")).addErase },
  { word: "account", load: async () => (await import("./commands/account.ts")).addAccountCommands },
  { word: "prune", load: async () => (await import("./commands/prune.ts")).addPrune },
  { word: "rekey", load: async () => (await import("./commands/rekey.ts")).addRekey },
  { word: "backup", load: async () => (await import("./commands/backup.ts")).addBackup },
  { word: "restore", load: async () => (await import("./commands/restore.ts")).addRestore },
  { word: "check", load: async () => (await import("./commands/check.ts")).addCheck },
  { word: "version", load: async () => (await import("./commands/version.ts")).addVersion },
  // These tell of all the others, so they come only with them.
  { word: null, load: async () => (await import("./commands/completions.ts")).addPapers },
];

/** Adds the command that `word` calls; all of them when it calls none, for what is said about them then. */
export async function addCommands(
  program: Command,
  session: Session,
  word: string | undefined,
): Promise<void> {
  const called = COMMANDS.find((one) => one.word === word);
  for (const { load } of called === undefined ? COMMANDS : [called]) (await load())(program, session);
}
