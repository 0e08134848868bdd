/**
 * The daemon as one disposable object: everything that it holds, taken in order and given back in the
 * reverse order.
 */
import { Authenticator } from "../control/authenticator.ts";
import { ControlDatabase } from "../control/database.ts";
import { startLink } from "../control/operator-links.ts";
import { SessionKeeper } from "../control/session-keeper.ts";
import { lockDataDirectory } from "../datadir/lock.ts";
import { prepareDataDirectory } from "../datadir/prepare.ts";
import { readSealKey, sealKeySource } from "../datadir/seal-key.ts";
import type { Clock } from "../ids.ts";
import type { Settings } from "../settings/schema.ts";
import { formatAddress } from "../settings/values.ts";
import { certificateSource } from "../tls/source.ts";
import { CertificateWatch } from "./certificate-watch.ts";
import { linkUrl, publicBase, reachable } from "./link-url.ts";
import { Listener } from "./listener.ts";
import type { Logger } from "./logger.ts";
import { openService } from "./service.ts";

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
  /** Looks for another certificate now. */
  reload(): Promise<void>;
}

/**
 * Starts the daemon: it answers requests when this resolves.
 * @throws {Failure} for everything that the person who starts it can mend.
 */
export async function startDaemon(settings: Settings, clock: Clock, logger: Logger): Promise<Daemon> {
  await using stack = new AsyncDisposableStack();
  const directory = prepareDataDirectory(settings.data_dir, { ownKey: settings.seal_key === null });
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
          new CertificateWatch(source, certificate, (next) => listener.replaceCertificate(next), logger),
        )
      : null;
  if (certificate && certificate.expiresAt <= clock()) {
    logger.warn("the certificate has expired, so clients will refuse it", {
      expired_at: new Date(certificate.expiresAt).toISOString(),
    });
  }
  const empty = control.connection.get("SELECT 1 FROM workspaces LIMIT 1") === undefined;
  const token = startLink(control, clock);
  const held = stack.move();
  return {
    url: `${certificate ? "https" : "http"}://${formatAddress(reachable(listener.address))}`,
    signUpUrl: token && linkUrl(publicBase(settings, listener.address), "setup", token),
    dataDir: directory.root,
    authorityFile: source?.authorityFile ?? null,
    empty,
    reload: async () => watch?.look(),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}
