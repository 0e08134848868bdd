/** `governd health`: asks the running daemon whether it is alive and ready. For container engines and scripts. */
import { existsSync, readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import type { Command } from "commander";
import { askHealth, type Probe } from "../../daemon/health-probe.ts";
import { reachable } from "../../daemon/link-url.ts";
import { dataDirectory } from "../../datadir/layout.ts";
import { cannotRead, EXIT, Failure, readText, systemCode } from "../../failure.ts";
import type { Settings } from "../../settings/definitions.ts";
import { formatAddress } from "../../settings/values.ts";
import { addCommonOptions, type Session, settingsOf } from "../session.ts";

/** A name in every certificate of the daemon's own authority. */
const OWN_NAME = "localhost";

interface HealthOptions {
  url?: string;
  ca?: string;
  cert?: string;
  key?: string;
}

const EXIT_HELP = `
Exit codes: 0 healthy, 1 not healthy or no response within five seconds, 2 usage or environment.

Without --url it asks the daemon that the settings describe on this machine.`;

export function addHealth(program: Command, session: Session): void {
  const health = program
    .command("health")
    .description("ask the running daemon whether it is alive and accepts requests")
    .option("--url <url>", "the daemon's address, for example https://governd.example.org")
    .option(
      "--ca <path>",
      "certificate authority to trust, with --url (default: the daemon's own, if it is on this machine)",
    )
    .option("--cert <path>", "client certificate, if the daemon requires one")
    .option("--key <path>", "private key of the client certificate")
    .addHelpText("after", EXIT_HELP)
    .action((options: HealthOptions) => runHealth(session, options));
  addCommonOptions(health, ["data_dir", "listen", "tls"]);
}

async function runHealth(session: Session, options: HealthOptions): Promise<void> {
  const settings = settingsOf(options);
  const probe = probeOf(settings, options);
  const health = await askHealth({ ...probe, tls: { ...probe.tls, ...shown(options) } });
  const { url, alive, ready, reason } = health;
  const healthy = reason === null;
  const text = healthy ? `healthy: ${url} accepts requests` : `not healthy: ${reason}`;
  session.exitCode = healthy ? EXIT.done : EXIT.no;
  await session.print({ healthy, url, alive, ready, reason }, [text]);
}

/** @throws {Failure} `usage` when the address is not known, `environment` when a file cannot be read */
function probeOf(settings: Settings, { url, ca }: HealthOptions): Probe {
  const own = dataDirectory(settings.data_dir).authority;
  if (url !== undefined) {
    const trusted = [...rootCertificates];
    if (ca !== undefined) trusted.push(readText("environment", ca, "the certificate authority"));
    // The daemon may run on another machine.
    else if (existsSync(own)) trusted.push(readOwnAuthority(own));
    return { url: originOf(url), tls: { ca: trusted } };
  }
  if (ca !== undefined) throw new Failure("usage", "--ca needs --url: give both.");
  if (settings.listen.port === 0) {
    throw new Failure("usage", "The setting listen says any free port, so the address is not known. Give --url.");
  }
  const address = formatAddress(reachable(settings.listen));
  if (settings.tls === "off") return { url: `http://${address}`, tls: {} };
  // A certificate from files is for the daemon's public name. This request stays on the machine and carries no secret.
  if (settings.tls === "files") return { url: `https://${address}`, tls: { rejectUnauthorized: false } };
  return { url: `https://${address}`, tls: { ca: [readOwnAuthority(own)], serverName: OWN_NAME } };
}

/** Returns the client certificate, for a daemon with `client_ca`. */
function shown({ cert, key }: HealthOptions): { cert?: string; key?: string } {
  if ((cert === undefined) !== (key === undefined)) throw new Failure("usage", "Give both --cert and --key.");
  if (cert === undefined || key === undefined) return {};
  return {
    cert: readText("environment", cert, "the certificate"),
    key: readText("environment", key, "the private key"),
  };
}

function originOf(url: string): string {
  const parsed = URL.parse(url);
  const plain = parsed && /^https?:$/.test(parsed.protocol) && parsed.username === "" && parsed.pathname === "/";
  if (!plain || parsed.search !== "" || parsed.hash !== "") {
    throw new Failure("usage", "--url must look like https://governd.example.org or https://127.0.0.1:8443.");
  }
  return parsed.origin;
}

function readOwnAuthority(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code, message } = cannotRead("environment", `the certificate authority ${path}`, error);
    const hint =
      systemCode(error) === "ENOENT"
        ? "Was the daemon started with this data directory (--data-dir, --config)?"
        : "Run this as the user that runs the daemon, or as root.";
    throw new Failure(code, `${message} ${hint}`);
  }
}
