/** What the daemon at an address says of itself, and in words why it does not. */
import { systemCode, systemReason } from "../failure.ts";

/** How long the daemon may take for both answers together. */
const PATIENCE_MS = 5_000;
/** What of an answer is looked at; more than a problem document ever has. */
const ANSWER_MAX_CHARACTERS = 2_000;
/** Whom to ask, and how to know that it is the one. */
export interface Probe {
  /** Without a slash at its end. */
  url: string;
  tls: { ca?: string[]; serverName?: string; rejectUnauthorized?: boolean; cert?: string; key?: string };
}

/** What came of asking. */
export interface Health {
  url: string;
  /** `/healthz` was answered with 200. */
  alive: boolean;
  /** `/readyz` was answered with 200. */
  ready: boolean;
  /** Why it is not healthy, in a sentence; null when it is. */
  reason: string | null;
}

/** Asks `/healthz`, then `/readyz`. Whatever goes wrong on the way is an answer, not an error. */
export async function askHealth({ url, tls }: Probe, patienceMs = PATIENCE_MS): Promise<Health> {
  const signal = AbortSignal.timeout(patienceMs);
  const ask = async (path: string): Promise<string | null> => {
    try {
      // The daemon behind a TLS proxy takes a trusted proxy's word that the client came over HTTPS.
      const headers = url.startsWith("http:") ? { "x-forwarded-proto": "https" } : undefined;
      const answer = await fetch(url + path, {
        signal,
        tls,
        redirect: "manual",
        keepalive: false,
        ...(headers ? { headers } : {}),
      });
      return answer.status === 200 ? null : await complaint(path, answer);
    } catch (error) {
      if (signal.aborted) return `${url} did not answer within ${patienceMs / 1_000} seconds.`;
      return `${url} cannot be reached: ${connectionReason(error)}.`;
    }
  };
  const dead = await ask("/healthz");
  if (dead !== null) return { url, alive: false, ready: false, reason: dead };
  const unready = await ask("/readyz");
  return { url, alive: true, ready: unready === null, reason: unready };
}

/** What an answer other than 200 says, in its own words where it is a problem document (RFC 9457). */
async function complaint(path: string, answer: Response): Promise<string> {
  const text = (await answer.text()).slice(0, ANSWER_MAX_CHARACTERS);
  const said = `${path} answered ${answer.status}`;
  if (!answer.headers.get("content-type")?.startsWith("application/problem+json")) return `${said}.`;
  const { code, detail } = JSON.parse(text) as { code?: unknown; detail?: unknown };
  if (code === "https_required") {
    return `${said}: it takes requests from its proxies alone. Add this machine's address, as the daemon sees it, to trusted_proxies.`;
  }
  return typeof detail === "string" ? `${said}: ${detail}` : `${said}.`;
}

function connectionReason(error: unknown): string {
  const code = systemCode(error);
  switch (code) {
    case "ECONNREFUSED":
    case "ConnectionRefused":
      return "nothing listens there";
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
      return "its certificate is by an authority that is not trusted; name it with --ca";
    default:
      return systemReason(error).replace(/\.$/, "");
  }
}
