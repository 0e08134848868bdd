/** An authority for clients, as a test wants its certificates. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

const DAY_MS = 86_400_000;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

const USAGES = { client: x509.ExtendedKeyUsage.clientAuth, server: x509.ExtendedKeyUsage.serverAuth } as const;

export interface Pair {
  cert: string;
  key: string;
}

export interface Wish {
  /** Days from now; yesterday to a month from now unless said. */
  from?: number;
  to?: number;
  /** What the certificate may be used for; a client's unless said. */
  usage?: keyof typeof USAGES;
}

export class TestAuthority {
  private constructor(
    readonly cert: string,
    readonly keys: CryptoKeyPair,
  ) {}

  static async make(name: string, wish: Wish = {}): Promise<TestAuthority> {
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: "01",
      name: `CN=${name}`,
      ...validity(wish),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
    });
    return new TestAuthority(certificate.toString("pem"), keys);
  }

  async issue(name: string, wish: Wish = {}): Promise<Pair> {
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: "02",
      subject: `CN=${name}`,
      issuer: new x509.X509Certificate(this.cert).subjectName,
      ...validity(wish),
      publicKey: keys.publicKey,
      signingKey: this.keys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.ExtendedKeyUsageExtension([USAGES[wish.usage ?? "client"]]),
        new x509.SubjectAlternativeNameExtension([
          { type: "dns", value: "localhost" },
          { type: "ip", value: "127.0.0.1" },
        ]),
      ],
    });
    const key = x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
    return { cert: certificate.toString("pem"), key };
  }
}

function newKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

function validity({ from = -1, to = 30 }: Wish): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() + from * DAY_MS), notAfter: new Date(Date.now() + to * DAY_MS) };
}
