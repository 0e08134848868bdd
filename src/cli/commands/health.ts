/** `governd health`: asks the running daemon whether it is alive and ready. For container engines and scripts. */
import type { Command } from "commander";
import { EXIT } from "../../failure.ts";
import { askHealth } from "../../serve/daemon/health-probe.ts";
import {
  type AddressOptions,
  addAddressOptions,
  localDaemon,
  namedDaemon,
  shownCertificate,
} from "../daemon-address.ts";
import { addCommonOptions, type Session, settingsOf } from "../session.ts";

const EXIT_HELP = `
Exit codes: 0 healthy, 1 not healthy or no response within five seconds, 2 usage or environment.

Without --url it asks the daemon that the settings describe on this machine.`;

export function addHealth(program: Command, session: Session): void {
  const health = program
    .command("health")
    .description("ask the running daemon whether it is alive and accepts requests")
    .addHelpText("after", EXIT_HELP)
    .action((options: AddressOptions) => runHealth(session, options));
  addAddressOptions(health);
  addCommonOptions(health, ["data_dir", "listen", "tls"]);
}

async function runHealth(session: Session, options: AddressOptions): Promise<void> {
  const settings = settingsOf(options);
  const probe = namedDaemon(settings, options) ?? localDaemon(settings);
  const health = await askHealth({ ...probe, tls: { ...probe.tls, ...shownCertificate(options) } });
  const { url, alive, ready, reason } = health;
  const healthy = reason === null;
  const text = healthy ? `healthy: ${url} accepts requests` : `not healthy: ${reason}`;
  session.exitCode = healthy ? EXIT.done : EXIT.no;
  await session.print({ healthy, url, alive, ready, reason }, [text]);
}
