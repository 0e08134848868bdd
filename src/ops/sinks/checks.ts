/** Decides whether the settings of a sink are valid and allowed. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { expectedUrl, receiverAddress } from "../../follow/sinks/addresses.ts";
import { AllowedPlaces } from "../../follow/sinks/allowed.ts";
import type { StoredSink } from "../../follow/sinks/stored.ts";
import { invalid, Problem } from "../../problem.ts";
import type { SinkCredentials, SinkPlaces, SinkRequest, SinkSettings } from "../../sink.ts";

/** @throws {Problem} when a sink's settings are not valid, or `places` does not allow the receiver; null allows all */
export function refuseBadSettings(
  sink: Pick<SinkRequest, "type"> & SinkSettings & SinkCredentials,
  places: SinkPlaces | null,
): void {
  if (receiverAddress(sink.type, sink.url) === null) throw invalid(`"url" must be ${expectedUrl(sink.type)}.`, "url");
  if (places !== null) refuseForbidden(sink, places);
  if (sink.type === "splunk_hec" && sink.token === null) throw invalid('Send the "token" of the collector.', "token");
  if (sink.token !== null && !TOKEN.test(sink.token)) throw invalid('"token" must be visible ASCII.', "token");
  refuseBadCertificates(sink);
}

/** Reports whether the settings allow a sink's receiver, as far as can be decided without resolving its name. */
export function isAllowed({ type, url }: Pick<SinkRequest, "type" | "url">, places: SinkPlaces): boolean {
  const place = receiverAddress(type, url);
  if (place === null) return false;
  const { endpoint } = place;
  if (endpoint === null) return places.directory !== null;
  return new AllowedPlaces(places.allow).mayReach(endpoint.host, endpoint.port);
}

/** @throws {Problem} `forbidden` when the settings do not allow a receiver */
function refuseForbidden(sink: Pick<SinkRequest, "type" | "url">, places: SinkPlaces): void {
  if (isAllowed(sink, places)) return;
  throw new Problem("forbidden", sink.type === "file" ? NO_FILES : NOT_ALLOWED, { param: "url" });
}

/** @throws {Problem} when another sink of the workspace writes the same file, since their lines would be mixed */
export function refuseSharedFile(
  sinks: readonly Pick<StoredSink, "id" | "type" | "url">[],
  id: string | null,
  { type, url }: Pick<SinkRequest, "type" | "url">,
): void {
  if (type !== "file") return;
  // On some systems, names that differ only in case are the same file.
  const isTaken = sinks.some((other) => other.type === type && other.id !== id && isSameFile(other.url, url));
  if (isTaken) throw invalid("Another sink writes this file. Name another one.", "url");
}

const isSameFile = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/** The characters that a token may have in a header. */
const TOKEN = /^[\x21-\x7e]+$/;

const NOT_ALLOWED =
  "The server's setting sink_allow does not name this receiver, so nothing may be sent there. Ask the operator to add its host.";

const NO_FILES =
  "The server's setting sink_directory names no directory, so sinks write no files. Ask the operator to set it.";

/** @throws {Problem} when a certificate or key is not valid, or the key is not the certificate's */
function refuseBadCertificates({ ca, clientCertificate, clientKey }: SinkSettings & SinkCredentials): void {
  if (ca !== null && certificateIn(ca) === null) throw invalid('"ca" must be certificates in PEM.', "ca");
  if ((clientCertificate === null) !== (clientKey === null)) {
    throw invalid('Send "client_certificate" and "client_key" together.', "client_key");
  }
  if (clientCertificate === null || clientKey === null) return;
  const certificate = certificateIn(clientCertificate);
  if (certificate === null) throw invalid('"client_certificate" must be a certificate in PEM.', "client_certificate");
  if (!isKeyOf(certificate, clientKey)) {
    throw invalid('"client_key" must be the private key of "client_certificate", in PEM.', "client_key");
  }
}

function certificateIn(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

function isKeyOf(certificate: X509Certificate, pem: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(pem));
  } catch {
    return false;
  }
}
