/**
 * The keys that an issuer publishes (OpenID Connect Discovery 1.0, RFC 7517), fetched over verified TLS and cached.
 * When the issuer stops answering, cached keys are used for {@link USABLE_MS} at most.
 */
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { JWKSNoMatchingKey } from "jose/errors";
import { isJsonObject } from "../json.ts";
import { sendRequest } from "../outbound.ts";
import { keySet, metadataAddress, parseAnswer, plainIssuer } from "./answers.ts";
import { IssuerUnavailable } from "./refused.ts";

/** How long the issuer may take for one answer, ms. */
const PATIENCE_MS = 5_000;
/**
 * How long keys are used before they are fetched again, ms. A key that the issuer withdraws is refused after this time.
 */
const FRESH_MS = 5 * 60_000;
/** How long keys are used when the issuer does not answer, ms. */
const USABLE_MS = 3_600_000;
/** The shortest time between two attempts to fetch keys, regardless of the keys that tokens name, ms. */
const PAUSE_MS = 30_000;
/** Far more than the documents of an issuer have. */
const MAX_DOCUMENT_BYTES = 1024 * 1024;

interface IssuerKeysOptions {
  issuer: string;
  /** Returns the certificate authorities of the issuer in PEM; null for the default ones. */
  ca: () => string | null;
  monotonicMs: () => number;
  /** Called when the keys could not be fetched. */
  onTrouble: (error: IssuerUnavailable) => void;
}

export class IssuerKeys {
  #keys: ReturnType<typeof createLocalJWKSet> | null = null;
  #fetchedMs = Number.NEGATIVE_INFINITY;
  #triedMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | null = null;

  constructor(private readonly options: IssuerKeysOptions) {}

  /**
   * Returns the key that a token names. An unknown key is fetched from the issuer.
   * @throws {IssuerUnavailable} without usable keys, and the library's errors when there is no such key
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (this.#age(this.#fetchedMs) >= FRESH_MS) await this.#refresh();
    try {
      return await this.#usable()(header, token);
    } catch (error) {
      if (!(error instanceof JWKSNoMatchingKey)) throw error;
      // The issuer may have begun to use another key.
      await this.#refresh();
      return await this.#usable()(header, token);
    }
  };

  #usable(): ReturnType<typeof createLocalJWKSet> {
    if (this.#keys === null || this.#age(this.#fetchedMs) >= USABLE_MS) throw new IssuerUnavailable("no keys");
    return this.#keys;
  }

  #age(sinceMs: number): number {
    return this.options.monotonicMs() - sinceMs;
  }

  /** Fetches the keys, unless that was tried within {@link PAUSE_MS}. Concurrent requests wait for the same answer. */
  async #refresh(): Promise<void> {
    if (this.#fetching === null && this.#age(this.#triedMs) >= PAUSE_MS) {
      this.#triedMs = this.options.monotonicMs();
      this.#fetching = this.#fetch().finally(() => {
        this.#fetching = null;
      });
    }
    await this.#fetching;
  }

  async #fetch(): Promise<void> {
    try {
      const { issuer } = this.options;
      const described = await this.#document(metadataAddress(issuer));
      const { issuer: named } = described;
      if (typeof named !== "string" || plainIssuer(named) !== plainIssuer(issuer))
        throw new IssuerUnavailable("it names another issuer");
      const address = URL.parse(typeof described.jwks_uri === "string" ? described.jwks_uri : "");
      if (address?.protocol !== "https:") throw new IssuerUnavailable("it publishes no keys");
      this.#keys = createLocalJWKSet(keySet(await this.#document(address.href)) as unknown as JSONWebKeySet);
      this.#fetchedMs = this.options.monotonicMs();
    } catch (error) {
      this.options.onTrouble(error instanceof IssuerUnavailable ? error : unavailable(error));
    }
  }

  async #document(url: string) {
    const ca = this.options.ca();
    const response = await sendRequest(url, {
      redirect: "error",
      headers: { accept: "application/json, application/jwk-set+json" },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(ca === null ? {} : { tls: { ca } }),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new IssuerUnavailable(`it answers ${response.status}`);
    }
    const document = parseAnswer(await boundedText(response));
    if (!isJsonObject(document)) throw new IssuerUnavailable("it answers something else");
    return document;
  }
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_DOCUMENT_BYTES) throw new IssuerUnavailable("it answers too much");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Returns an error with a word for the log: the code of the system or the library, and no text of the issuer. */
function unavailable(error: unknown): IssuerUnavailable {
  const { code, name } = error instanceof Error ? (error as Error & { code?: unknown }) : { code: "", name: "unknown" };
  return new IssuerUnavailable(typeof code === "string" && code !== "" ? code : name, { cause: error });
}
