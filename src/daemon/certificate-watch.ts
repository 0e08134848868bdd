/**
 * Reloads the server's certificate when its files change or the daemon's own certificate was renewed, and warns when
 * a certificate expires soon.
 */
import { messageOf } from "../failure.ts";
import type { Clock } from "../ids.ts";
import {
  type CertificateStatus,
  certificateStatus,
  type ServerCertificate,
  WARN_BEFORE_DAYS,
} from "../tls/certificate.ts";
import type { CertificateSource } from "../tls/source.ts";
import type { Logger } from "./logger.ts";

/** How often to check for a new certificate. SIGHUP makes the daemon check at once. */
const CHECK_INTERVAL_MS = 60_000;
const WARN_INTERVAL_MS = 24 * 60 * 60 * 1_000;

export interface CertificateWatchOptions {
  clock: Clock;
  logger: Logger;
  /** Makes the server use another certificate. */
  use(certificate: ServerCertificate): Promise<void>;
}

export class CertificateWatch implements Disposable {
  readonly #source: CertificateSource;
  readonly #options: CertificateWatchOptions;
  readonly #timer: NodeJS.Timeout;
  #current: ServerCertificate;
  #lastTrouble = "";
  /** A serial queue: checks are requested by a timer and by signals, and run one after another. */
  #queue: Promise<void> = Promise.resolve();
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(source: CertificateSource, current: ServerCertificate, options: CertificateWatchOptions) {
    this.#source = source;
    this.#current = current;
    this.#options = options;
    this.#timer = setInterval(() => void this.check(), CHECK_INTERVAL_MS).unref();
    this.#reportAuthority(current);
    this.#warn();
  }

  /** The certificates in use, the server's own first, and when they expire. */
  get status(): CertificateStatus[] {
    return certificateStatus(this.#current, this.#options.clock());
  }

  /** Checks now. When the new certificate cannot be used, logs the reason and keeps the present one. */
  check(): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      await this.#replace();
      this.#warn();
    });
    return this.#queue;
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
      this.#reportAuthority(found);
    } catch (error) {
      const trouble = messageOf(error);
      // A file that stays wrong for an hour is logged once, not sixty times.
      if (trouble === this.#lastTrouble) return;
      this.#lastTrouble = trouble;
      logger.error("cannot replace the certificate; the old one stays in use", { reason: trouble });
    }
  }

  /** Warns once a day for as long as a certificate expires soon or has expired. */
  #warn(): void {
    const { clock, logger } = this.#options;
    const now = clock();
    if (now - this.#warnedAtMs < WARN_INTERVAL_MS) return;
    const ending = this.status.filter(({ notAfter, daysLeft }) => notAfter <= now || daysLeft < WARN_BEFORE_DAYS);
    for (const { role, subject, notAfter, daysLeft } of ending) {
      const what = { role, subject, not_after: showTime(notAfter), days_left: daysLeft };
      if (notAfter <= now) logger.warn("a certificate has expired: clients refuse it", what);
      else logger.warn("a certificate expires soon", what);
    }
    if (ending.length > 0) this.#warnedAtMs = now;
  }

  #reportAuthority({ formerAuthorityEnds }: ServerCertificate): void {
    if (formerAuthorityEnds === undefined) return;
    this.#options.logger.warn("the certificate authority was renewed: distribute its new file to the clients", {
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
