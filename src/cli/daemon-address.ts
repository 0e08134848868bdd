/** The daemon that a command connects to: its address and how the command authenticates it. */
import { existsSync, readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import type { Command } from "commander";
import { dataDirectory } from "../core/datadir/layout.ts";
import { cannotRead, Failure, readText, systemCode } from "../failure.ts";
import type { Probe } from "../serve/daemon/health-probe.ts";
import { reachable } from "../serve/daemon/link-url.ts";
import type { Settings } from "../settings/definitions.ts";
import { formatAddress } from "../settings/values.ts";

/** A name in every certificate of the daemon's own authority. */
const OWN_NAME = "localhost";

export interface AddressOptions {
  url?: string;
  ca?: string;
  cert?: string;
  key?: string;
}

/** Adds the options that name a daemon. */
export const addAddressOptions = (command: Command): Command =>
  command
    .option("--url <url>", "the daemon's address, for example https://governd.example.org")
    .option(
      "--ca <path>",
      "certificate authority to trust, with --url (default: the daemon's own, if it is on this machine)",
    )
    .option("--cert <path>", "client certificate, if the daemon requires one")
    .option("--key <path>", "private key of the client certificate");

/** Returns the daemon that `--url` names; null without it. @throws {Failure} `usage`, `environment` */
export function namedDaemon(settings: Settings, { url, ca }: AddressOptions): Probe | null {
  if (url === undefined) {
    if (ca !== undefined) throw new Failure("usage", "--ca needs --url: give both.");
    return null;
  }
  const own = dataDirectory(settings.data_dir).authority;
  const trusted = [...rootCertificates];
  if (ca !== undefined) trusted.push(readText("environment", ca, "the certificate authority"));
  // The daemon may run on another machine.
  else if (existsSync(own)) trusted.push(readOwnAuthority(own));
  return { url: originOf(url), tls: { ca: trusted } };
}

/**
 * Returns the daemon that the settings describe on this machine.
 * @throws {Failure} `usage` when its address is not known, `environment` when a file cannot be read
 */
export function localDaemon(settings: Settings): Probe {
  if (settings.listen.port === 0) {
    throw new Failure("usage", "The setting listen says any free port, so the address is not known. Give --url.");
  }
  const address = formatAddress(reachable(settings.listen));
  if (settings.tls === "off") return { url: `http://${address}`, tls: {} };
  // A certificate from files is for the daemon's public name. A request without a secret may do without.
  if (settings.tls === "files") return { url: `https://${address}`, tls: { rejectUnauthorized: false } };
  const own = readOwnAuthority(dataDirectory(settings.data_dir).authority);
  return { url: `https://${address}`, tls: { ca: [own], serverName: OWN_NAME } };
}

/** Returns the client certificate, for a daemon with `client_ca`. */
export function shownCertificate({ cert, key }: AddressOptions): { cert?: string; key?: string } {
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
