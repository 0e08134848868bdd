/** The manual page, written with the man macros that every `man` understands. */
import { API_KEY_VARIABLE, CONFIG_VARIABLE, DEFINITIONS, flagOf, variableOf } from "../../settings/definitions.ts";
import { type CommandNode, type CommandOption, everyCommand } from "./command-tree.ts";

const FILES: readonly (readonly [string, string])[] = [
  ["governd.toml", "settings, read from the current directory unless --config or GOVERND_CONFIG names another file"],
  ["/etc/governd/governd.toml", "settings of the system service"],
  ["/var/lib/governd", "data directory of the system service"],
  ["governd-data", "default data directory, in the current directory"],
  ["governd-data/tls/ca.crt", "the certificate authority that clients must trust, with tls = auto"],
  ["governd-data/keys/seal.pub", "the public key that auditors need"],
];

/** Returns the page that `governd man` prints. */
export function manualPage(root: CommandNode, version: string): string {
  const commands = everyCommand(root).filter(({ path, commands }) => path.length > 0 && commands.length === 0);
  const parts = [
    `.TH GOVERND 1 "" ${quoted(`governd ${version}`)} "User Commands"`,
    ".SH NAME",
    escaped("governd - a self-hosted governance daemon for software agents"),
    ".SH SYNOPSIS",
    ".B governd",
    escaped("COMMAND [options]"),
    ".SH DESCRIPTION",
    paragraphs(
      `${root.description}\n\nIt keeps versioned configurations with enforced policies, governed data, ` +
        "checkpoints, and an audit log that can be verified offline, and serves them over HTTPS. One file, " +
        "no other services, no outbound connection unless a setting names one.",
    ),
    ".SH COMMANDS",
    ...commands.map(ofCommand),
    ".SH ENVIRONMENT",
    paragraphs(
      "A flag takes precedence over the environment, the environment over the settings file, and that over the default.",
    ),
    item(CONFIG_VARIABLE, "the settings file"),
    item(API_KEY_VARIABLE, "the API key of commands that ask a daemon"),
    ...DEFINITIONS.map(({ name }) => item(variableOf(name), `the same as ${flagOf(name)}; in the file: ${name}`)),
    ".SH FILES",
    ...FILES.map(([name, meaning]) => item(name, meaning)),
    ".SH SIGNALS",
    item(
      "SIGTERM, SIGINT",
      "stop: finish running requests, seal, and close, within ten seconds; a second signal stops at once",
    ),
    item("SIGHUP", "reload the certificate"),
    ".SH EXIT STATUS",
    item("0", "done"),
    item("1", "the answer is no: tampering was found, the daemon is not healthy"),
    item("2", "usage or environment"),
    "",
  ];
  return parts.join("\n");
}

function ofCommand({ path, usage, description, after, options }: CommandNode): string {
  const usual = options.filter(({ flags }) => !flags.includes("--help"));
  return [
    `.SS ${quoted(path.join(" "))}`,
    ".nf",
    escaped(["governd", ...path, usage].join(" ")),
    ".fi",
    ".PP",
    paragraphs(description),
    ...usual.map((option) => item(flagsOf(option), option.help)),
    ...(after === "" ? [] : [".PP", paragraphs(after)]),
  ].join("\n");
}

const flagsOf = ({ flags, value }: CommandOption): string =>
  value === null ? flags.join(", ") : `${flags.join(", ")} <${value.name}>`;

const item = (term: string, meaning: string): string => `.TP\n.B ${quoted(term)}\n${escaped(meaning)}`;

/** Formats text in which empty lines separate paragraphs. */
function paragraphs(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((paragraph) => escaped(paragraph))
    .join("\n.PP\n");
}

/** Escapes text so that roff prints it literally. Other characters than ASCII are written as code points. */
function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^(?=[.'])/gm, "\\&")
    .replace(/[^\n -~]/gu, (character) => {
      const codePoint = (character.codePointAt(0) as number).toString(16).toUpperCase();
      return `\\[u${codePoint.padStart(4, "0")}]`;
    });
}

const quoted = (text: string): string => `"${escaped(text).replaceAll('"', '""')}"`;
