/** `governd serve`: reads the settings and runs the daemon until a signal stops it. */

import type { Command } from "commander";
import { IS_COMPILED } from "../../compiled.ts";
import { EXIT, messageOf } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { type Daemon, startDaemon } from "../../serve/daemon/daemon.ts";
import { Logger, logStyle } from "../../serve/daemon/logger.ts";
import type { Settings } from "../../settings/definitions.ts";
import { settingsAsToml, showSettings } from "../../settings/resolve.ts";
import { atMost } from "../../timer.ts";
import { VERSION } from "../../version.ts";
import { runtimeSettingsRefused } from "../runtime-settings.ts";
import { addSettingOptions, type Session, settingsWithOrigins } from "../session.ts";
import type { Terminal } from "../terminal.ts";

/** Shorter than the ten seconds after which the first service managers kill a process. */
const STOP_WITHIN_MS = 9_500;

/** Signals closer together than this count as one: the terminal signals a wrapper, which signals this process again. */
const SAME_SIGNAL_MS = 300;

/**
 * Signals that end a process which does not handle them, and that mean nothing to a daemon. With SIGXFSZ ignored, a
 * write beyond a limit on file sizes fails with an error, like one to a full disk.
 */
export const IGNORED_SIGNALS = [
  "SIGUSR1",
  "SIGUSR2",
  "SIGPIPE",
  "SIGALRM",
  "SIGVTALRM",
  "SIGIO",
  "SIGXFSZ",
] as const satisfies readonly NodeJS.Signals[];

/** The warning when {@link runtimeSettingsRefused} returns a reason. */
const WITHOUT_RUNTIME_SETTINGS =
  'the daemon could not start itself again with the settings of the runtime, and runs slower: see "Sizing" in docs/install.md';

/** How a person runs this program: the binary, or the package script when it runs from source. */
const PROGRAM = IS_COMPILED ? "governd" : "npm run --silent governd --";

export function addServe(program: Command, session: Session): void {
  const serve = program
    .command("serve")
    .description("start the daemon")
    .option("--print-settings", "print the settings in force and where each came from, and exit")
    .option("--json", "print JSON (with --print-settings, and for errors)")
    .action((options: { printSettings?: boolean }) => runServe(session, options));
  addSettingOptions(serve).addHelpText(
    "after",
    "\nEvery setting can also be set in the environment (GOVERND_DATA_DIR for --data-dir) or in the settings file" +
      '\n(data_dir = "…"). A flag outranks the environment, and the environment outranks the file.' +
      "\nSIGTERM and SIGINT stop the daemon within ten seconds, and a second one stops it at once. SIGHUP makes it read" +
      "\nthe settings and the certificate again. SIGUSR1 and SIGUSR2 do nothing.",
  );
}

async function runServe(session: Session, options: { printSettings?: boolean }): Promise<void> {
  const { terminal } = session;
  const { settings, origins } = settingsWithOrigins(options);
  if (options.printSettings) {
    const shown = showSettings(settings, origins);
    const byName = Object.fromEntries(shown.map(({ name, value, origin }) => [name, { value, origin }]));
    return session.print(byName, [settingsAsToml(shown)]);
  }
  const style = logStyle(settings, terminal.interactive);
  await using logger = new Logger({ ...style, clock: systemClock, sink: { write: (text) => terminal.err(text) } });
  const reason = runtimeSettingsRefused();
  if (reason !== null) logger.warn(WITHOUT_RUNTIME_SETTINGS, { reason });
  let started: Daemon | undefined;
  const signals = handleSignals(() => started && void readAgain(started, logger, terminal, options));
  const daemon = await startDaemon(settings, systemClock, logger);
  started = daemon;
  await announce(terminal, daemon, settings, style.format);
  const signal = await signals.end;
  logger.info("stopping", { signal });
  const ending = await stopInTime(daemon, signals.again);
  if (ending === "stopped") logger.info("stopped");
  else logger.error("shutdown timed out", { because: ending, limit_ms: STOP_WITHIN_MS });
  session.exitCode = ending === "stopped" ? EXIT.done : EXIT.trouble;
}

/** Reads the settings again and applies them to the daemon. When they cannot be used, the settings in force stay. */
async function readAgain(daemon: Daemon, logger: Logger, terminal: Terminal, options: object): Promise<void> {
  try {
    const { settings } = settingsWithOrigins(options);
    logger.restyle(logStyle(settings, terminal.interactive));
    await daemon.reload(settings);
  } catch (error) {
    logger.error("the settings cannot be used; those in force stay", { reason: messageOf(error) });
  }
}

/**
 * Handles the signals of the daemon, also those that arrive during start-up. `end` resolves with the first signal that
 * stops the daemon, and `again` with a later one, which stops it at once.
 */
function handleSignals(onReload: () => void): { end: Promise<string>; again: Promise<string> } {
  const first = Promise.withResolvers<string>();
  const second = Promise.withResolvers<string>();
  let askedAt: number | undefined;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      askedAt ??= performance.now();
      first.resolve(signal);
      if (performance.now() - askedAt > SAME_SIGNAL_MS) second.resolve(signal);
    });
  }
  process.on("SIGHUP", onReload);
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => {});
  return { end: first.promise, again: second.promise };
}

async function announce(terminal: Terminal, daemon: Daemon, settings: Settings, format: "text" | "json") {
  const create = `${PROGRAM} workspace create --name NAME --data-dir ${shellWord(daemon.dataDir)}`;
  if (format === "json") {
    const { url, authorityFile, dataDir, empty, signUpUrl, metricsUrl } = daemon;
    const line = {
      level: "info",
      time: new Date(systemClock()).toISOString(),
      message: "ready",
      version: VERSION,
      address: url,
      ca_file: authorityFile,
      data_dir: dataDir,
      // Undefined members are left out.
      metrics: metricsUrl ?? undefined,
      sign_up_url: signUpUrl ?? undefined,
      next: empty ? create : undefined,
    };
    await terminal.out(`${JSON.stringify(line)}\n`);
    return;
  }
  const lines = [`governd ${VERSION} listening on ${daemon.url}`, `  data       ${daemon.dataDir}`];
  if (daemon.authorityFile)
    lines.push(`  trust      ${daemon.authorityFile}  (the certificate authority, for curl --cacert)`);
  if (daemon.metricsUrl !== null) lines.push(`  metrics    ${daemon.metricsUrl}`);
  if (settings.tls === "off") lines.push(`  proxies    ${settings.trusted_proxies.join(", ")}`);
  if (daemon.signUpUrl !== null) {
    lines.push("", "There is no account yet. Create the first one with this link, which works once:");
    lines.push(`  ${daemon.signUpUrl}`);
  }
  if (daemon.empty) lines.push("", "There is no workspace yet. Create one and its first API key:", `  ${create}`);
  await terminal.out(`${lines.join("\n")}\n`);
}

/** Stops the daemon. Gives up after a time limit, or when another signal arrives. */
async function stopInTime(daemon: Daemon, again: Promise<string>): Promise<"stopped" | "time is up" | "second signal"> {
  const stopped = daemon[Symbol.asyncDispose]().then(() => "stopped" as const);
  const ending = Promise.race([stopped, again.then(() => "second signal" as const)]);
  return (await atMost(STOP_WITHIN_MS, ending)) ?? "time is up";
}

const shellWord = (text: string): string => (/^[\w./:@~+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
