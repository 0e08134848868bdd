/** `governd serve`: the settings, then the daemon until a signal ends it. */
import type { Command } from "commander";
import { type Daemon, startDaemon } from "../../daemon/daemon.ts";
import { Logger, resolveFormat } from "../../daemon/logger.ts";
import { EXIT } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { loadSettings } from "../../settings/load.ts";
import type { Settings } from "../../settings/schema.ts";
import { settingsAsToml, showSettings } from "../../settings/show.ts";
import { VERSION } from "../../version.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { printResult, type Terminal } from "../terminal.ts";

/** Service managers kill after ten seconds at the earliest. */
const STOP_WITHIN_MS = 9_500;

/** Signals that are closer than this are one: a wrapper passes on what the terminal sent to both. */
const SAME_SIGNAL_MS = 300;

/** How a person runs this program: the binary, or the source through the package script. */
const PROGRAM = import.meta.path.endsWith(".ts") ? "npm run --silent governd --" : "governd";

interface ServeOptions {
  printSettings?: boolean;
  json?: boolean;
}

export function addServe(program: Command, session: Session): void {
  const serve = program
    .command("serve")
    .description("start the daemon")
    .option("--print-settings", "show the settings in force and where each came from, and stop")
    .option("--json", "print JSON (with --print-settings, and for a failure)")
    .action((options: ServeOptions) => runServe(session, options));
  addSettingOptions(serve).addHelpText(
    "after",
    "\nEvery setting can also be given in the environment (GOVERND_DATA_DIR for --data-dir) or in the settings file" +
      '\n(data_dir = "…"). A flag outranks the environment, and the environment outranks the file.' +
      "\nSIGTERM and SIGINT stop the daemon within ten seconds, a second one at once; SIGHUP has it read the\ncertificate again.",
  );
}

async function runServe(session: Session, options: ServeOptions): Promise<void> {
  const { terminal } = session;
  const { settings, origins } = loadSettings(settingFlags({ ...options }));
  if (options.printSettings) {
    const shown = showSettings(settings, origins);
    const byName = Object.fromEntries(shown.map(({ name, value, origin }) => [name, { value, origin }]));
    return printResult(terminal, options.json ?? false, byName, [settingsAsToml(shown)]);
  }
  const format = resolveFormat(settings.log_format, terminal.interactive);
  await using logger = new Logger({
    level: settings.log_level,
    format,
    clock: systemClock,
    sink: { write: (text) => terminal.err(text) },
  });
  const signals = new Signals();
  const daemon = await startDaemon(settings, systemClock, logger);
  signals.onReload(() => daemon.reload());
  await announce(terminal, daemon, settings, format);
  const signal = await signals.end;
  logger.info("stopping", { signal });
  const ending = await stopInTime(daemon, signals.again);
  if (ending === "stopped") logger.info("stopped");
  else logger.error("what was under way was cut off", { because: ending, limit_ms: STOP_WITHIN_MS });
  session.exitCode = ending === "stopped" ? EXIT.done : EXIT.trouble;
}

/** The signals that the daemon heeds. One that comes during the start is remembered. */
class Signals {
  /** The first one that asks for the end. */
  readonly end: Promise<string>;
  /** One after that: somebody does not want to wait. */
  readonly again: Promise<string>;

  constructor() {
    const first = Promise.withResolvers<string>();
    const second = Promise.withResolvers<string>();
    this.end = first.promise;
    this.again = second.promise;
    let askedAt: number | undefined;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        askedAt ??= performance.now();
        first.resolve(signal);
        if (performance.now() - askedAt > SAME_SIGNAL_MS) second.resolve(signal);
      });
    }
    process.on("SIGHUP", () => this.#reload());
  }

  #reload = (): void => {};

  onReload(reload: () => Promise<void>): void {
    this.#reload = () => void reload();
  }
}

async function announce(terminal: Terminal, daemon: Daemon, settings: Settings, format: "text" | "json") {
  const create = `${PROGRAM} workspace create --name NAME --data-dir ${shellWord(daemon.dataDir)}`;
  if (format === "json") {
    const { url, authorityFile, dataDir, empty, signUpUrl, metricsUrl } = daemon;
    const line = {
      message: "ready",
      version: VERSION,
      address: url,
      ca_file: authorityFile,
      data_dir: dataDir,
      ...(metricsUrl === null ? {} : { metrics: metricsUrl }),
      ...(signUpUrl === null ? {} : { sign_up_url: signUpUrl }),
    };
    await terminal.out(`${JSON.stringify(empty ? { ...line, next: create } : line)}\n`);
    return;
  }
  const lines = [`governd ${VERSION} answers at ${daemon.url}`, `  data       ${daemon.dataDir}`];
  if (daemon.authorityFile)
    lines.push(`  trust      ${daemon.authorityFile}  (the certificate authority, for curl --cacert)`);
  if (daemon.metricsUrl !== null) lines.push(`  metrics    ${daemon.metricsUrl}`);
  if (settings.tls === "off") lines.push(`  proxies    ${settings.trusted_proxies.join(", ")}`);
  if (daemon.signUpUrl !== null) {
    lines.push("", "There is no account yet. Make the first one, with this link that works once:");
    lines.push(`  ${daemon.signUpUrl}`);
  }
  if (daemon.empty)
    lines.push("", "There is no workspace yet. Make one, with its first API key:", `  ${create}`);
  await terminal.out(`${lines.join("\n")}\n`);
}

/** Stops the daemon, unless that takes too long or is not wanted any more. */
async function stopInTime(
  daemon: Daemon,
  again: Promise<string>,
): Promise<"stopped" | "time is up" | "asked again"> {
  const timeout = Promise.withResolvers<"time is up">();
  const timer = setTimeout(() => timeout.resolve("time is up"), STOP_WITHIN_MS);
  const stopped = daemon[Symbol.asyncDispose]().then(() => "stopped" as const);
  const ending = await Promise.race([stopped, timeout.promise, again.then(() => "asked again" as const)]);
  clearTimeout(timer);
  return ending;
}

/** Text as one word of a POSIX shell. */
function shellWord(text: string): string {
  return /^[\w./:@~+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
