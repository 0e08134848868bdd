/**
 * What is asked of a time stamp authority and what its tokens prove (RFC 3161), by pkijs, which takes a while to load:
 * import this file only when there is a token.
 */
import { fromBER, OctetString, type Sequence } from "asn1js";
import {
  AlgorithmIdentifier,
  Certificate,
  CertificateChainValidationEngine,
  ContentInfo,
  type ExtKeyUsage,
  IssuerAndSerialNumber,
  id_ContentType_SignedData,
  id_ExtKeyUsage,
  id_eContentType_TSTInfo,
  MessageImprint,
  SignedData,
  TimeStampReq,
  TimeStampResp,
  TSTInfo,
} from "pkijs";

const SHA_256 = "2.16.840.1.101.3.4.2.1";
/** SHA-256, SHA-384, SHA-512: digests by which a token may be signed. */
const DIGESTS: readonly string[] = [SHA_256, "2.16.840.1.101.3.4.2.2", "2.16.840.1.101.3.4.2.3"];
const TIME_STAMPING = "1.3.6.1.5.5.7.3.8";
const COMMON_NAME = "2.5.4.3";
/** The most certificates of a token, among which paths are sought. */
const MAX_CERTIFICATES = 16;
/** The request was granted, with or without changes. */
const GRANTED = [0, 1];

/** Something is no token, no answer with one, or no certificate. */
export class TimestampError extends Error {
  override readonly name = "TimestampError";
}

/** Returns the request for a token over a text (`application/timestamp-query`). */
export function timestampRequest(text: string): Uint8Array {
  const messageImprint = new MessageImprint({
    hashAlgorithm: new AlgorithmIdentifier({ algorithmId: SHA_256 }),
    hashedMessage: new OctetString({ valueHex: sha256(text) }),
  });
  return new Uint8Array(new TimeStampReq({ version: 1, messageImprint, certReq: true }).toSchema().toBER());
}

/** Returns the token in an answer (`application/timestamp-reply`). @throws {TimestampError} when there is none */
export function tokenIn(answer: Uint8Array): Uint8Array {
  const { status } = decoded(() => TimeStampResp.fromBER(answer)).status;
  if (!GRANTED.includes(status)) throw new TimestampError(`the answer is a refusal, status ${status}`);
  // As the authority encoded it, since what is signed must not be encoded again.
  const [, token] = (fromBER(answer).result as Sequence).valueBlock.value;
  if (token === undefined) throw new TimestampError("the answer has none");
  return Uint8Array.from(token.valueBeforeDecodeView);
}

/** A token that was read. What it says is verified by the methods alone. */
export class TimestampToken {
  private constructor(
    private readonly data: SignedData,
    private readonly info: TSTInfo,
    private readonly signer: Certificate,
  ) {}

  /** @throws {TimestampError} when the bytes are not a token that one signer signed, whose certificate it holds */
  static read(bytes: Uint8Array): TimestampToken {
    const data = signedData(bytes);
    const { eContentType, eContent } = data.encapContentInfo;
    const [signature, second] = data.signerInfos;
    if (eContentType !== id_eContentType_TSTInfo || eContent === undefined)
      throw new TimestampError("it is no time stamp");
    if (signature === undefined || second !== undefined) throw new TimestampError("it does not have one signer");
    if (!DIGESTS.includes(signature.digestAlgorithm.algorithmId)) throw new TimestampError("it has an old digest");
    const info = decoded(() => TSTInfo.fromBER(eContent.getValue()));
    if (Number.isNaN(info.genTime.getTime())) throw new TimestampError("it has no time");
    if ((data.certificates?.length ?? 0) > MAX_CERTIFICATES) throw new TimestampError("it has too many certificates");
    const { sid } = signature;
    const isSigner = ({ issuer, serialNumber }: Certificate): boolean =>
      sid instanceof IssuerAndSerialNumber && issuer.isEqual(sid.issuer) && serialNumber.isEqual(sid.serialNumber);
    const signer = certificatesOf(data).find(isSigner);
    if (signer === undefined) throw new TimestampError("it lacks its signer's certificate");
    return new TimestampToken(data, info, signer);
  }

  /** When it was made, as it says. */
  get time(): Date {
    return this.info.genTime;
  }

  /** The name of its signer, as its certificate says. */
  get authority(): string {
    const names = this.signer.subject.typesAndValues;
    const { value } = names.find(({ type }) => type === COMMON_NAME) ?? names.at(-1) ?? {};
    return String(value?.valueBlock.value ?? "an authority without a name");
  }

  /** Whether it is over this text, and signed with the key of the certificate that it holds. */
  async covers(text: string): Promise<boolean> {
    if (this.info.messageImprint.hashAlgorithm.algorithmId !== SHA_256) return false;
    const data = Uint8Array.from(Buffer.from(text)).buffer;
    return await this.data.verify({ signer: 0, data }).catch(() => false);
  }

  /**
   * Returns why its signer is no authority for time stamps to somebody who trusts these certificates; null when it is.
   * Certificates are judged at the time of the token, which proves more than the time at which somebody looks.
   */
  async whyNotFrom(trusted: readonly Certificate[]): Promise<string | null> {
    const usage = this.signer.extensions?.find(({ extnID }) => extnID === id_ExtKeyUsage);
    const purposes = (usage?.parsedValue as ExtKeyUsage | undefined)?.keyPurposes ?? [];
    if (!usage?.critical || purposes.length !== 1 || purposes[0] !== TIME_STAMPING)
      return "its certificate is not one for time stamps alone (extended key usage)";
    // The engine drops what is there twice, the signer too, and then judges another certificate.
    const isOther = (one: Certificate): boolean => !Buffer.from(one.tbsView).equals(this.signer.tbsView);
    const certs = [...certificatesOf(this.data).filter(isOther), this.signer];
    const engine = new CertificateChainValidationEngine({
      ...{ trustedCerts: trusted.filter(isOther), certs, checkDate: this.time },
    });
    const path = await engine.verify().then(
      ({ result, certificatePath }) => (result ? certificatePath : undefined),
      () => undefined,
    );
    if (path?.[0] === this.signer) return null;
    return "its certificate does not lead to a given authority, or was not valid at its time";
  }
}

const certificatesOf = ({ certificates = [] }: SignedData): Certificate[] =>
  certificates.filter((one) => one instanceof Certificate);

function signedData(bytes: Uint8Array): SignedData {
  return decoded(() => {
    const info = ContentInfo.fromBER(bytes);
    if (fromBER(bytes).offset !== bytes.length) throw new TimestampError("something follows it");
    if (info.contentType !== id_ContentType_SignedData) throw new TimestampError("it is not signed");
    return new SignedData({ schema: info.content });
  });
}

/** @throws {TimestampError} for whatever the library throws at bytes that it cannot read */
function decoded<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TimestampError) throw error;
    throw new TimestampError("it cannot be read");
  }
}

/** Reads the certificates of a PEM file. @throws {TimestampError} when there is none, or one cannot be read */
export function readAuthorities(pem: string): Certificate[] {
  const found = Array.from(pem.matchAll(/-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g), ([, body]) =>
    decoded(() => Certificate.fromBER(Uint8Array.from(Buffer.from(body ?? "", "base64")))),
  );
  if (found.length === 0) throw new TimestampError("it has no certificate in PEM");
  return found;
}

const sha256 = (text: string): Uint8Array => new Bun.SHA256().update(text).digest() as Uint8Array;
