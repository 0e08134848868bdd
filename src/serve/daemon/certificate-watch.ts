/**
 * Reloads the server's certificate when its files change or the daemon's own certificate was renewed, and warns when
 * a certificate expires soon or is not valid yet.
 */

import { SerialQueue } from "../../core/serial-queue.ts";
import { messageOf } from "../../failure.ts";
import { type Clock, showTime } from "../../ids.ts";
import type { SettingName, Settings } from "../../settings/definitions.ts";
import type { Reread } from "../../settings/reread.ts";
import {
  type CertificateStatus,
  certificateStatus,
  type ServerCertificate,
  WARN_BEFORE_DAYS,
} from "../tls/certificate.ts";
import type { CertificateSource } from "../tls/source.ts";
import type { Logger } from "./logger.ts";
import type { Applies } from "./reload.ts";

/** How often to check for a new certificate, ms. SIGHUP makes the daemon check at once. */
const CHECK_INTERVAL_MS = 60_000;
const WARN_INTERVAL_MS = 24 * 60 * 60 * 1_000;

/** The settings of the source that can change without a restart. */
const SOURCE_SETTINGS = ["tls_cert", "tls_key", "client_ca"] as const satisfies readonly SettingName[];

interface CertificateWatchOptions<C extends ServerCertificate> {
  clock: Clock;
  logger: Logger;
  /** Returns the source that the settings define; null for none. */
  sourceOf(settings: Settings): CertificateSource<C> | null;
  /** Makes the server use another certificate. */
  use(certificate: C): Promise<void>;
}

export class CertificateWatch<C extends ServerCertificate = ServerCertificate> implements Applies, Disposable {
  readonly #timer = setInterval(() => void this.check(), CHECK_INTERVAL_MS).unref();
  #lastTrouble = "";
  /** Checks are requested by a timer and by signals, and run one after another. */
  readonly #queue = new SerialQueue();
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private source: CertificateSource<C>,
    private current: C,
    private readonly options: CertificateWatchOptions<C>,
  ) {
    this.#reportAuthority(current);
    this.#warn();
  }

  /** The certificate in use. */
  get certificate(): C {
    return this.current;
  }

  /** The certificates in use, the server's own first, and when they expire. */
  get status(): CertificateStatus[] {
    return certificateStatus(this.current, this.options.clock());
  }

  /** Checks now, with the source of the settings. */
  apply({ settings, changed }: Reread): Promise<void> {
    if (SOURCE_SETTINGS.some((name) => changed.has(name))) this.source = this.options.sourceOf(settings) ?? this.source;
    return this.check();
  }

  /** Checks now. When the new certificate cannot be used, logs the reason and keeps the present one. */
  check(): Promise<void> {
    return this.#queue.run(async () => {
      await this.#replace();
      this.#warn();
    });
  }

  async #replace(): Promise<void> {
    const { logger, use } = this.options;
    try {
      const found = await this.source.load();
      this.#lastTrouble = "";
      if (isSame(found, this.current)) return;
      await use(found);
      this.current = found;
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

  /** Warns once a day while a certificate expires soon, has expired or is not valid yet. */
  #warn(): void {
    const { clock, logger } = this.options;
    const now = clock();
    if (Math.abs(now - this.#warnedAtMs) < WARN_INTERVAL_MS) return;
    const troubled = this.status.filter(
      ({ notBefore, daysLeft }) => notBefore !== undefined || daysLeft < WARN_BEFORE_DAYS,
    );
    for (const { role, subject, notBefore, notAfter, daysLeft } of troubled) {
      if (notBefore !== undefined) {
        const message = "a certificate is not valid yet: clients refuse it until then, or the clock is wrong";
        logger.warn(message, { role, subject, not_before: showTime(notBefore) });
        continue;
      }
      const message = notAfter <= now ? "a certificate has expired: clients refuse it" : "a certificate expires soon";
      logger.warn(message, { role, subject, not_after: showTime(notAfter), days_left: daysLeft });
    }
    if (troubled.length > 0) this.#warnedAtMs = now;
  }

  #reportAuthority({ formerAuthorityEnds }: ServerCertificate): void {
    if (formerAuthorityEnds === undefined) return;
    this.options.logger.warn("the certificate authority was renewed: distribute its new file to the clients", {
      ca_file: this.source.authorityFile,
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
