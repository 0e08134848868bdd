/** `governd data export` and `governd data import`: an agent's entries as lines of JSON, over the API. */
import type { Command } from "commander";
import type { Probe } from "../../daemon/health-probe.ts";
import { EXIT, Failure, readText } from "../../failure.ts";
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
import { exportEntries } from "../data/export.ts";
import { importEntries, MAX_SHOWN } from "../data/import.ts";
import { addCommonOptions, type Session, settingsOf } from "../session.ts";
import { count } from "../terminal.ts";

interface DataOptions extends AddressOptions {
  agent: string;
  apiKeyFile?: string;
  resume?: boolean;
}

const EXPORT = `write an agent's entries to a file

Every line is a JSON object with key, value, metadata, created_at, updated_at, expires_at and audit_id, in the order of
the keys. The file is complete when it has its name; until then the command writes FILE.part, and --resume continues one
that was interrupted. Entries that change meanwhile are exported as they are when their turn comes. Each page is
recorded as data.list.`;

const IMPORT = `write entries from a file to an agent

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
    .argument("<file>", "the file to write; it must not exist")
    .option("--prefix <prefix>", "only keys that begin with this", "")
    .action((file: string, options: DataOptions & { prefix: string }) => runExport(session, file, options));
  const imported = data
    .command("import")
    .summary("write entries from a file to an agent")
    .description(IMPORT)
    .argument("<file>", "the file to read")
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
  const done = await session.withProgress(
    (progress) =>
      exportEntries(api, { file, agent, prefix, resume }, (entries, total) => progress.step(entries, total, "entries")),
    { lines: true },
  );
  await session.print({ agent_id: agent, file, ...done }, [`${count(done.entries, "line")} in ${file}.`]);
}

async function runImport(session: Session, file: string, options: DataOptions & { keep?: boolean }): Promise<void> {
  const api = apiOf(options);
  const { agent, keep = false, resume = false } = options;
  const done = await session.withProgress(
    (progress) =>
      importEntries(api, { file, agent, keep, resume }, (bytes, total) => progress.step(bytes, total, "bytes")),
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
