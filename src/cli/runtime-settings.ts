/** Settings of the runtime. Bun reads them only from the environment, and only when a process starts. */
import { IS_COMPILED } from "../compiled.ts";
import { systemCode } from "../failure.ts";

/** The daemon's settings, by variable of the environment. */
const SETTINGS = {
  // How long the allocator (Bun's fork of mimalloc) keeps freed memory, and how often it searches used blocks for free
  // pages, in ms. By default it returns memory after 0.1 s, and searches whenever a thread waits. A busy daemon needs
  // the same memory again at once. The system clears each page that it gives back to the daemon, which took a third of
  // the processor time of a batch.
  MIMALLOC_PURGE_DELAY: "2000",
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "2000",
  // How many requests Bun sends at the same time, by default 256. A node of a libSQL server passes requests on to other
  // nodes, and a live stream counts as long as it lasts.
  BUN_CONFIG_MAX_HTTP_REQUESTS: "16384",
  // How long Bun keeps the addresses of a name, by default 30 s. A libSQL server or a node that is started elsewhere has
  // another address, and the old one may not even refuse connections, as that of a removed container.
  BUN_CONFIG_DNS_TIME_TO_LIVE_SECONDS: "1",
};

let refused: string | null = null;

/**
 * Starts the daemon with {@link SETTINGS}: the running program replaces itself once, in the same process (execve(2)).
 * Settings that the environment already has are kept. If the system refuses to replace the program, this returns, and
 * the daemon runs with the runtime's own settings: see {@link runtimeSettingsRefused}.
 */
export function useRuntimeSettings(): void {
  if (Object.keys(SETTINGS).every((name) => name in process.env)) return;
  const { argv0, argv, execArgv, execPath, env } = process;
  // The second word is the source file, or a path within the binary.
  const words = IS_COMPILED ? argv.slice(2) : [...execArgv, ...argv.slice(1)];
  try {
    process.execve?.(execPath, [argv0, ...words], { ...SETTINGS, ...env });
    refused = "execve is not available";
  } catch (error) {
    refused = systemCode(error) ?? "execve failed";
  }
}

/** Returns why the daemon runs without {@link SETTINGS}; null when it has them, or did not need to start again. */
export const runtimeSettingsRefused = (): string | null => refused;
