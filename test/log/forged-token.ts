/** Time stamps as no authority would make them: at any time, by any certificate, with others enclosed. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { Integer, ObjectIdentifier, OctetString } from "asn1js";
import * as pkijs from "pkijs";

const DAY_MS = 86_400_000;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const SHA_256 = "2.16.840.1.101.3.4.2.1";
export const TIME_STAMPING = "1.3.6.1.5.5.7.3.8";

/** A certificate with its key. */
export interface Holder {
  cert: x509.X509Certificate;
  keys: CryptoKeyPair;
}

interface Wish {
  issuer?: Holder;
  /** What its key may be used for; null for no such extension. Time stamps unless said. */
  usage?: readonly string[] | null;
  critical?: boolean;
  isAuthority?: boolean;
  /** Days from now. */
  from?: number;
  to?: number;
  serial?: string;
}

/** Issues a certificate; by itself unless an issuer is named. */
export async function issue(name: string, wish: Wish = {}): Promise<Holder> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const { issuer, usage = [TIME_STAMPING], critical = true, isAuthority = false, from = -1, to = 1 } = wish;
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: wish.serial ?? "0a",
    subject: `CN=${name}`,
    issuer: issuer?.cert.subject ?? `CN=${name}`,
    notBefore: new Date(Date.now() + from * DAY_MS),
    notAfter: new Date(Date.now() + to * DAY_MS),
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(isAuthority, undefined, true),
      ...(isAuthority || usage === null ? [] : [new x509.ExtendedKeyUsageExtension([...usage], critical)]),
    ],
  });
  return { cert, keys };
}

interface Token {
  /** Days from now. */
  days?: number;
  /** The certificates that it holds; the signer's unless said. */
  certificates?: readonly Holder[];
  imprint?: string;
  contentType?: string;
}

/** Returns a token over a text. */
export async function forgeToken(text: string, signer: Holder, token: Token = {}): Promise<Uint8Array> {
  const { days = 0, certificates = [signer], imprint = SHA_256, contentType = pkijs.id_eContentType_TSTInfo } = token;
  const hashed = new Uint8Array(await crypto.subtle.digest("SHA-256", Buffer.from(text)));
  const info = new pkijs.TSTInfo({
    version: 1,
    policy: "1.2.3.4.1",
    messageImprint: new pkijs.MessageImprint({
      hashAlgorithm: new pkijs.AlgorithmIdentifier({ algorithmId: imprint }),
      hashedMessage: new OctetString({ valueHex: hashed }),
    }),
    serialNumber: new Integer({ value: 1 }),
    genTime: new Date(Date.now() + days * DAY_MS),
  });
  const content = info.toSchema().toBER();
  const digest = await crypto.subtle.digest("SHA-256", content);
  const { issuer, serialNumber } = asCertificate(signer);
  const data = new pkijs.SignedData({
    version: 3,
    encapContentInfo: new pkijs.EncapsulatedContentInfo({ eContentType: contentType }),
    certificates: certificates.map(asCertificate),
    signerInfos: [
      new pkijs.SignerInfo({
        version: 1,
        sid: new pkijs.IssuerAndSerialNumber({ issuer, serialNumber }),
        signedAttrs: new pkijs.SignedAndUnsignedAttributes({
          type: 0,
          attributes: [
            new pkijs.Attribute({
              type: "1.2.840.113549.1.9.3",
              values: [new ObjectIdentifier({ value: contentType })],
            }),
            new pkijs.Attribute({ type: "1.2.840.113549.1.9.4", values: [new OctetString({ valueHex: digest })] }),
          ],
        }),
      }),
    ],
  });
  // The constructor would cut it into pieces, which DER does not allow.
  data.encapContentInfo.eContent = new OctetString({ valueHex: content });
  await data.sign(signer.keys.privateKey, 0, "SHA-256");
  const all = new pkijs.ContentInfo({ contentType: pkijs.id_ContentType_SignedData, content: data.toSchema(true) });
  return new Uint8Array(all.toSchema().toBER());
}

export const asCertificate = ({ cert }: Holder): pkijs.Certificate =>
  pkijs.Certificate.fromBER(new Uint8Array(cert.rawData));
