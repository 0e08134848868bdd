/**
 * Notices that the server's certificate is another one (files that changed, or one's own that was renewed),
 * and warns of one that ends soon.
 */
import { messageOf } from "../failure.ts";
import type { Clock } from "../ids.ts";
import type { ServerCertificate } from "../tls/certificate.ts";
import type { CertificateSource } from "../tls/source.ts";
import { type CertificateStatus, certificateStatus, WARN_BEFORE_DAYS } from "../tls/status.ts";
import type { Logger } from "./logger.ts";

/** Certificates change every few weeks or years; whoever cannot wait sends SIGHUP. */
const LOOK_INTERVAL_MS = 60_000;
const WARN_INTERVAL_MS = 24 * 60 * 60 * 1_000;

export interface CertificateWatchOptions {
  clock: Clock;
  logger: Logger;
  /** Told to use another certificate from now on. */
  use(certificate: ServerCertificate): Promise<void>;
}

export class CertificateWatch implements Disposable {
  readonly #source: CertificateSource;
  readonly #options: CertificateWatchOptions;
  readonly #timer: NodeJS.Timeout;
  #current: ServerCertificate;
  #lastTrouble = "";
  /** Looks come from a timer and from signals, and are made one after another. */
  #turn: Promise<void> = Promise.resolve();
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(source: CertificateSource, current: ServerCertificate, options: CertificateWatchOptions) {
    this.#source = source;
    this.#current = current;
    this.#options = options;
    this.#timer = setInterval(() => void this.look(), LOOK_INTERVAL_MS).unref();
    this.#tellOfAuthority(current);
    this.#warn();
  }

  /** The certificates in use, the server's own first, and how long they are good for. */
  get status(): CertificateStatus[] {
    return certificateStatus(this.#current, this.#options.clock());
  }

  /** Looks now. A pair that cannot be used is reported, and the one in use stays. */
  look(): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      await this.#replace();
      this.#warn();
    });
    return this.#turn;
  }

  async #replace(): Promise<void> {
    const { logger, use } = this.#options;
    try {
      const found = await this.#source.load();
      this.#lastTrouble = "";
      if (isSame(found, this.#current)) return;
      await use(found);
      this.#current = found;
      this.#warnedAtMs = Number.NEGATIVE_INFINITY;
      logger.info("the certificate was replaced", { expires_at: showTime(found.expiresAt) });
      this.#tellOfAuthority(found);
    } catch (error) {
      const trouble = messageOf(error);
      // A file that is wrong for an hour is one line in the log, not sixty.
      if (trouble === this.#lastTrouble) return;
      this.#lastTrouble = trouble;
      logger.error("the certificate could not be replaced, the old one stays in use", { reason: trouble });
    }
  }

  /** Once a day for as long as it is so. */
  #warn(): void {
    const { clock, logger } = this.#options;
    const now = clock();
    if (now - this.#warnedAtMs < WARN_INTERVAL_MS) return;
    const ending = this.status.filter(
      ({ notAfter, daysLeft }) => notAfter <= now || daysLeft < WARN_BEFORE_DAYS,
    );
    for (const { role, subject, notAfter, daysLeft } of ending) {
      const what = { role, subject, not_after: showTime(notAfter), days_left: daysLeft };
      if (notAfter <= now) logger.warn("a certificate has expired, so it is refused", what);
      else logger.warn("a certificate ends soon", what);
    }
    if (ending.length > 0) this.#warnedAtMs = now;
  }

  #tellOfAuthority({ formerAuthorityEnds }: ServerCertificate): void {
    if (formerAuthorityEnds === undefined) return;
    this.#options.logger.warn("the certificate authority was renewed: give its file to the clients anew", {
      ca_file: this.#source.authorityFile,
      former_ends_at: showTime(formerAuthorityEnds),
    });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function isSame(one: ServerCertificate, other: ServerCertificate): boolean {
  return one.cert === other.cert && one.key === other.key && one.clientCa === other.clientCa;
}

const showTime = (ms: number): string => new Date(ms).toISOString();
