/** TLS connections to receivers. */
import { systemCode } from "../../failure.ts";
import type { SinkConfig } from "./config.ts";

/** Returns the options of a TLS connection: the receiver's authority, and the daemon's client certificate. */
export const tlsOptions = ({ ca, clientCertificate: cert, clientKey: key }: Omit<Endpoint, "url">) => ({
  ...(ca === null ? {} : { ca }),
  ...(cert === null ? {} : { cert }),
  ...(key === null ? {} : { key }),
});

/** The settings of a connection to a receiver. */
export type Endpoint = Pick<SinkConfig, "url" | "ca" | "clientCertificate" | "clientKey">;

/** Explanations of the errors that an operator can fix. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody listens at the receiver's address",
  ConnectionRefused: "nobody listens at the receiver's address",
  ECONNRESET: "the receiver closed the connection",
  EPIPE: "the receiver closed the connection",
  EHOSTUNREACH: "there is no route to the receiver",
  ENETUNREACH: "there is no route to the receiver",
  ETIMEDOUT: "the receiver does not answer",
  ABORT_ERR: "the receiver did not answer in time",
  ERR_TLS_CERT_ALTNAME_INVALID: "the receiver's certificate is for another name",
  CERT_HAS_EXPIRED: "the receiver's certificate has expired",
};

/**
 * Returns why a connection failed. For other errors it is only the code, since their messages may repeat an address.
 */
export function reasonOf(error: unknown): string {
  const code = systemCode(error) ?? (error instanceof Error ? error.name : "unknown");
  const known = REASONS[code];
  if (known !== undefined) return known;
  if (/CERT|SIGNATURE|ISSUER/.test(code)) return `the receiver's certificate cannot be verified (${code}): set "ca"`;
  return `the connection failed (${code})`;
}
