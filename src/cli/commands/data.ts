/** `governd data export` and `governd data import`: an agent's entries as lines of JSON, over the API. */
import type { Command } from "commander";
import { EXIT, Failure, readText } from "../../failure.ts";
import type { Probe } from "../../serve/daemon/health-probe.ts";
import { API_KEY_VARIABLE, type Settings } from "../../settings/definitions.ts";
import { apiKeyOfEnvironment } from "../../settings/load.ts";
import {
  type AddressOptions,
  addAddressOptions,
  localDaemon,
  namedDaemon,
  shownCertificate,
} from "../daemon-address.ts";
import { DaemonApi } from "../data/api.ts";
import { exportEntries, streamEntries } from "../data/export.ts";
import { importEntries, importStream, MAX_SHOWN } from "../data/import.ts";
import { addCommonOptions, type Session, settingsOf } from "../session.ts";
import { DASH, STANDARD_INPUT, STANDARD_OUTPUT } from "../standard-streams.ts";
import { count } from "../terminal.ts";

interface DataOptions extends AddressOptions {
  agent: string;
  apiKeyFile?: string;
  resume?: boolean;
}

const EXPORT = `write an agent's entries to a file, or with - to standard output

Every line is a JSON object with key, value, metadata, created_at, updated_at, expires_at and audit_id, in the order of
the keys. The file is complete when it has its name; until then the command writes FILE.part, and --resume continues one
that was interrupted. Entries that change meanwhile are exported as they are when their turn comes. Each page is
recorded as data.list.`;

const IMPORT = `write entries from a file, or with - from standard input, to an agent

Every line is a JSON object with the members key and value, and optionally metadata and expires_at; other members are
ignored. So what data export wrote can be imported. Policies apply as to every write, and each entry is recorded as data.write. What is
refused is reported by the number of its line, never with its text; the other lines are imported. What comes too fast for a
limit on writes waits for its turn. An import that was
interrupted is continued with --resume: each line is written once.`;

const EXIT_HELP = `
The API key is in the environment variable ${API_KEY_VARIABLE}, or in a file that --api-key-file names. Without --url the
command asks the daemon that the settings describe on this machine.`;

export function addDataCommands(program: Command, session: Session): void {
  const data = program.command("data").description("export and import an agent's entries");
  const exported = data
    .command("export")
    .summary("write an agent's entries to a file")
    .description(EXPORT)
    .argument("<file>", `the file to write, which must not exist; ${STANDARD_OUTPUT}`)
    .option("--prefix <prefix>", "only keys that begin with this", "")
    .action((file: string, options: DataOptions & { prefix: string }) => runExport(session, file, options));
  const imported = data
    .command("import")
    .summary("write entries from a file to an agent")
    .description(IMPORT)
    .argument("<file>", `the file to read; ${STANDARD_INPUT}`)
    .option("--keep", "leave entries that exist as they are")
    .action((file: string, options: DataOptions & { keep?: boolean }) => runImport(session, file, options));
  for (const command of [exported, imported]) {
    command
      .requiredOption("--agent <id>", "the agent")
      .option("--resume", "continue where an earlier run was interrupted")
      .option("--api-key-file <path>", "file with the API key");
    addAddressOptions(command);
    addCommonOptions(command, ["data_dir", "listen", "tls"]);
  }
  exported.addHelpText("after", `${EXIT_HELP}\n\nExit codes: 0 done, 2 usage or environment.`);
  imported.addHelpText("after", `${EXIT_HELP}\n\nExit codes: 0 done, 1 lines were refused, 2 usage or environment.`);
}

async function runExport(session: Session, file: string, options: DataOptions & { prefix: string }): Promise<void> {
  const api = apiOf(options);
  const { agent, prefix, resume = false } = options;
  requireFileToResume(file, resume);
  const done = await session.withProgress(
    (progress) => {
      const onPage = (entries: number, total: number) => progress.step(entries, total, "entries");
      return file === DASH
        ? streamEntries(api, { agent, prefix }, (text) => session.terminal.out(text), onPage)
        : exportEntries(api, { file, agent, prefix, resume }, onPage);
    },
    { lines: true },
  );
  const where = file === DASH ? "on standard output" : `in ${file}`;
  await session.printBeside(file, { agent_id: agent, file, ...done }, [`${count(done.entries, "line")} ${where}.`]);
}

/** @throws {Failure} `usage` for a stream, which cannot be continued */
function requireFileToResume(file: string, resume: boolean): void {
  if (file === DASH && resume)
    throw new Failure("usage", "--resume needs a file: standard input and output cannot be continued.");
}

async function runImport(session: Session, file: string, options: DataOptions & { keep?: boolean }): Promise<void> {
  const api = apiOf(options);
  const { agent, keep = false, resume = false } = options;
  requireFileToResume(file, resume);
  const done = await session.withProgress(
    (progress) => {
      const onBatch = (bytes: number, total: number | null = null) => progress.step(bytes, total, "bytes");
      return file === DASH
        ? importStream(api, { agent, keep }, process.stdin, onBatch)
        : importEntries(api, { file, agent, keep, resume }, onBatch);
    },
    { lines: true },
  );
  if (done.refused > 0) session.exitCode = EXIT.no;
  const lines = done.refusals.map(({ line, reason }) => `line ${line}: ${reason}`);
  if (done.refused > MAX_SHOWN) lines.push(`… and ${count(done.refused - MAX_SHOWN, "more line")}`);
  lines.push(`${count(done.written, "line")} written, ${done.kept} kept as they were, ${done.refused} refused.`);
  await session.print({ agent_id: agent, file, ...done }, lines);
}

function apiOf(options: DataOptions): DaemonApi {
  const daemon = daemonOf(settingsOf(options), options);
  return new DaemonApi({ ...daemon, tls: { ...daemon.tls, ...shownCertificate(options) } }, apiKeyOf(options));
}

/** The daemon is sent a key and data, so it must prove who it is. */
function daemonOf(settings: Settings, options: AddressOptions): Probe {
  const named = namedDaemon(settings, options);
  if (named === null && settings.tls === "auto") return localDaemon(settings);
  if (named?.url.startsWith("https:")) return named;
  throw new Failure("usage", "Give --url with the https address of the daemon, for which its certificate is.");
}

function apiKeyOf({ apiKeyFile }: DataOptions): string {
  const found = apiKeyFile === undefined ? apiKeyOfEnvironment() : readText("environment", apiKeyFile, "the API key");
  const key = found?.trim() ?? "";
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new Failure(
    "usage",
    `Give an API key: in the environment variable ${API_KEY_VARIABLE}, or with --api-key-file.`,
  );
}
