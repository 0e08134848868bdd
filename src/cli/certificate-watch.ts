/** Notices that the server's certificate is another one: files that changed, or one's own that was renewed. */
import type { ServerCertificate } from "../tls/certificate.ts";
import type { CertificateSource } from "../tls/source.ts";
import type { Logger } from "./logger.ts";

/** Certificates change every few weeks or years; whoever cannot wait sends SIGHUP. */
const LOOK_INTERVAL_MS = 60_000;

export class CertificateWatch implements Disposable {
  readonly #source: CertificateSource;
  readonly #use: (certificate: ServerCertificate) => void;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  #current: ServerCertificate;
  #lastTrouble = "";

  constructor(
    source: CertificateSource,
    current: ServerCertificate,
    use: (certificate: ServerCertificate) => void,
    logger: Logger,
  ) {
    this.#source = source;
    this.#current = current;
    this.#use = use;
    this.#logger = logger;
    this.#timer = setInterval(() => void this.look(), LOOK_INTERVAL_MS).unref();
  }

  /** Looks now. A pair that cannot be used is reported, and the one in use stays. */
  async look(): Promise<void> {
    try {
      const found = await this.#source.load();
      this.#lastTrouble = "";
      if (found.cert === this.#current.cert && found.key === this.#current.key) return;
      this.#use(found);
      this.#current = found;
      this.#logger.info("the certificate was replaced", {
        expires_at: new Date(found.expiresAt).toISOString(),
      });
    } catch (error) {
      const trouble = error instanceof Error ? error.message : String(error);
      // A file that is wrong for an hour is one line in the log, not sixty.
      if (trouble === this.#lastTrouble) return;
      this.#lastTrouble = trouble;
      this.#logger.error("the certificate could not be replaced, the old one stays in use", {
        reason: trouble,
      });
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
