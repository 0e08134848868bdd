/**
 * The daemon as one disposable object: everything that it holds, taken in order and given back in the
 * reverse order.
 */

import { startLink } from "../control/accounts/operator-links.ts";
import { SessionKeeper } from "../control/accounts/session-keeper.ts";
import { Authenticator } from "../control/authenticator.ts";
import { ControlDatabase } from "../control/database.ts";
import { readEncryptionKey } from "../datadir/encryption-key.ts";
import { lockDataDirectory } from "../datadir/lock.ts";
import { prepareDataDirectory } from "../datadir/prepare.ts";
import { readSealKey, sealKeySource } from "../datadir/seal-key.ts";
import type { Clock } from "../ids.ts";
import type { Address, Settings } from "../settings/schema.ts";
import { formatAddress } from "../settings/values.ts";
import { certificateSource } from "../tls/source.ts";
import type { CertificateStatus } from "../tls/status.ts";
import { CertificateWatch } from "./certificate-watch.ts";
import { linkUrl, publicBase, reachable } from "./link-url.ts";
import { Listener } from "./listener.ts";
import type { Logger } from "./logger.ts";
import { scheduledBackups } from "./scheduled-backups.ts";
import { openService } from "./service.ts";
import type { Watching, WatchingParts } from "./watching.ts";

/** How long requests that were begun may take at the end; what remains of the ten seconds is for closing. */
const DRAIN_MS = 5_000;

/** A running daemon. Disposing of it stops it gracefully. */
export interface Daemon extends AsyncDisposable {
  /** Where it answers. */
  url: string;
  dataDir: string;
  /** The certificate authority that clients are to trust, when it is the daemon's own. */
  authorityFile: string | null;
  /** True while there is no workspace, so nobody could use it yet. */
  empty: boolean;
  /** The page and the one-time token to make the first account with; null when there is an account. */
  signUpUrl: string | null;
  /** Where metrics and probes are served; null when nobody asked for it. */
  metricsUrl: string | null;
  /** Looks for another certificate now. */
  reload(): Promise<void>;
  /** The certificates in use, the server's own first; none without TLS. */
  certificates(): CertificateStatus[];
}

/** What it takes is loaded only when somebody asks for it. */
async function openWatching(address: Address, parts: WatchingParts): Promise<Watching> {
  const { openWatching } = await import("./watching.ts");
  return openWatching(address, parts);
}

/**
 * Starts the daemon: it answers requests when this resolves.
 * @throws {Failure} for everything that the person who starts it can mend.
 */
export async function startDaemon(settings: Settings, clock: Clock, logger: Logger): Promise<Daemon> {
  await using stack = new AsyncDisposableStack();
  const directory = prepareDataDirectory(settings.data_dir, {
    ownKey: settings.seal_key === null,
    encryptionKey: readEncryptionKey(settings.encryption_key_file),
  });
  // A key that cannot be read is better known now than at the first seal.
  readSealKey(sealKeySource(directory, settings.seal_key));
  stack.use(lockDataDirectory(directory));
  const control = stack.use(ControlDatabase.open(directory));
  const onError = (error: unknown) =>
    logger.error("the control database could not be used", { reason: String(error) });
  const authenticator = stack.use(new Authenticator(control, { clock, onError }));
  const sessions = stack.use(new SessionKeeper(control, { clock, onError }));
  const service = stack.use(
    await openService({ settings, directory, control, authenticator, sessions, clock, logger }),
  );
  const source = certificateSource(settings, directory, clock);
  const certificate = (await source?.load()) ?? null;
  const listener = new Listener(service.serve, settings.listen, certificate);
  stack.defer(() => listener.close(DRAIN_MS));
  stack.defer(() => service.endLive());
  const watch =
    source && certificate
      ? stack.use(
          new CertificateWatch(source, certificate, {
            clock,
            logger,
            use: (next) => listener.replaceCertificate(next),
          }),
        )
      : null;
  const backups = stack.use(scheduledBackups(settings, clock, logger));
  const watching =
    settings.metrics_listen === null
      ? null
      : stack.use(
          await openWatching(settings.metrics_listen, {
            watched: service.watched,
            control,
            directory,
            moments: {
              certificates: () => watch?.status ?? [],
              lastBackupMs: () => backups?.status.lastSuccessMs ?? null,
              lastBackupFailureMs: () => backups?.status.lastFailureMs ?? null,
            },
            clock,
            logger,
          }),
        );
  const empty = control.connection.get("SELECT 1 FROM workspaces LIMIT 1") === undefined;
  const token = startLink(control, clock);
  const held = stack.move();
  return {
    url: `${certificate ? "https" : "http"}://${formatAddress(reachable(listener.address))}`,
    signUpUrl: token && linkUrl(publicBase(settings, listener.address), "setup", token),
    metricsUrl: watching && `http://${formatAddress(reachable(watching.address))}/metrics`,
    dataDir: directory.root,
    authorityFile: source?.authorityFile ?? null,
    empty,
    reload: async () => watch?.look(),
    certificates: () => watch?.status ?? [],
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}
