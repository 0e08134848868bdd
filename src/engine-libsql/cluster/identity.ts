/**
 * Authenticates nodes to each other: by certificates of an authority that is derived from the seal key, which all nodes
 * have. So nothing else must be distributed, and a process without that key can neither send requests to a node nor act
 * as one.
 */
import { createECDH, createPrivateKey, hkdfSync } from "node:crypto";
import type { SealKey } from "../../core/datadir/seal-key.ts";
import { parseCertificate, type ServerCertificate } from "../../serve/tls/certificate.ts";
import { authorityWith, issueServerCertificate } from "../../serve/tls/issue.ts";

const AUTHORITY_NAME = "governd nodes";
/** The purpose of the derived key (RFC 5869, `info`). */
const PURPOSE = "governd node authority 1";
/** The order of the group P-256 (SEC 2, section 2.4.2). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/**
 * More bytes than the order has, so that all numbers below it are almost equally likely (FIPS 186-5, appendix A.2.1).
 */
const DERIVED_BYTES = 48;

/** A node's certificate, as a server and as a client, and the authority of all nodes. */
export type NodeIdentity = ServerCertificate & { clientCa: string };

/** Returns an identity for a node with these names. */
export async function nodeIdentity(seal: SealKey, names: readonly string[], now: number): Promise<NodeIdentity> {
  const authority = await authorityWith(authorityKey(seal), AUTHORITY_NAME, now);
  const { cert, key } = await issueServerCertificate(authority, names, now, { asClient: true });
  const { validFrom, validTo } = parseCertificate(cert, PURPOSE);
  return { cert, key, clientCa: authority.cert, validFrom: Date.parse(validFrom), expiresAt: Date.parse(validTo) };
}

/** Returns the private key of the authority, PKCS #8 in PEM. */
function authorityKey({ privateKey }: SealKey): string {
  const { d: seed } = privateKey.export({ format: "jwk" });
  const derived = hkdfSync("sha256", Buffer.from(seed as string, "base64url"), "", PURPOSE, DERIVED_BYTES);
  const scalar = (BigInt(`0x${Buffer.from(derived).toString("hex")}`) % (ORDER - 1n)) + 1n;
  const bytes = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex");
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(bytes);
  const point = ecdh.getPublicKey();
  const base64 = (part: Buffer) => part.toString("base64url");
  const jwk = {
    kty: "EC",
    crv: "P-256",
    d: base64(bytes),
    x: base64(point.subarray(1, 33)),
    y: base64(point.subarray(33)),
  };
  return createPrivateKey({ key: jwk, format: "jwk" }).export({ format: "pem", type: "pkcs8" }).toString();
}
