/** Asks the daemon at an address whether it is healthy, and explains why it is not. */
import { systemCode, systemReason } from "../../failure.ts";
import { sendRequest } from "../../outbound.ts";

/** How long the daemon may take for both responses together, ms. */
const PATIENCE_MS = 5_000;
/** How much of a response is read. Problem documents are shorter. */
const RESPONSE_MAX_CHARACTERS = 2_000;

/** The daemon to ask, and how to authenticate it. */
export interface Probe {
  /** The address, without a slash at its end. */
  url: string;
  tls: { ca?: string[]; serverName?: string; rejectUnauthorized?: boolean; cert?: string; key?: string };
}

interface Health {
  url: string;
  /** Whether `/healthz` responded with 200. */
  alive: boolean;
  /** Whether `/readyz` responded with 200. */
  ready: boolean;
  /** Why the daemon is not healthy, in a sentence; null when it is. */
  reason: string | null;
}

/** Requests `/healthz`, then `/readyz`. Failures are part of the result, and not thrown. */
export async function askHealth({ url, tls }: Probe, patienceMs = PATIENCE_MS): Promise<Health> {
  const signal = AbortSignal.timeout(patienceMs);
  const ask = async (path: string): Promise<string | null> => {
    try {
      // A daemon behind a TLS proxy trusts the proxy's statement that the client used HTTPS.
      const headers: Record<string, string> = url.startsWith("http:") ? { "x-forwarded-proto": "https" } : {};
      const answer = await sendRequest(url + path, { signal, tls, redirect: "manual", keepalive: false, headers });
      return answer.status === 200 ? null : await complaint(path, answer);
    } catch (error) {
      if (signal.aborted) return `${url} did not respond within ${patienceMs / 1_000} seconds.`;
      return `${url} cannot be reached: ${connectionReason(error)}.`;
    }
  };
  const dead = await ask("/healthz");
  if (dead !== null) return { url, alive: false, ready: false, reason: dead };
  const unready = await ask("/readyz");
  return { url, alive: true, ready: unready === null, reason: unready };
}

/** Describes a response other than 200. Quotes the detail of a problem document (RFC 9457). */
async function complaint(path: string, answer: Response): Promise<string> {
  const text = (await answer.text()).slice(0, RESPONSE_MAX_CHARACTERS);
  const said = `${path} returned ${answer.status}`;
  if (!answer.headers.get("content-type")?.startsWith("application/problem+json")) return `${said}.`;
  const { code, detail } = JSON.parse(text) as { code?: unknown; detail?: unknown };
  if (code === "https_required") {
    return `${said}: the daemon only accepts requests from its proxies. Add the address of this machine, as the daemon sees it, to trusted_proxies.`;
  }
  return typeof detail === "string" ? `${said}: ${detail}` : `${said}.`;
}

/** Describes why a daemon cannot be reached. */
export function connectionReason(error: unknown): string {
  const code = systemCode(error);
  switch (code) {
    case "ECONNREFUSED":
    case "ConnectionRefused":
      return "nothing is listening there";
    case "ECONNRESET":
      return "the connection was closed; is this an https address?";
    case "EPROTO":
      return "the TLS handshake failed; if the daemon has client_ca, show a certificate with --cert and --key";
    case "ENOTFOUND":
      return "there is no such host";
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return "its certificate is for another name";
    case "CERT_HAS_EXPIRED":
      return "its certificate has expired";
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "CERT_SIGNATURE_FAILURE":
      return "its certificate was issued by an authority that is not trusted; name the authority with --ca";
    default:
      return systemReason(error).replace(/\.$/, "");
  }
}
