/** A time stamp authority: `openssl ts` behind HTTP, with a root and an intermediate certificate. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { timestampRequest, tokenIn } from "../../src/log/timestamp-token.ts";

export const HAS_OPENSSL = Bun.which("openssl") !== null;

const CONFIG = `
[ tsa ]
default_tsa = authority
[ authority ]
serial = ./serial
signer_cert = ./tsa.pem
certs = ./chain.pem
signer_key = ./tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
[ root ]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[ stamps ]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
`;

export class TestTimestampAuthority implements AsyncDisposable {
  readonly #server: ReturnType<typeof Bun.serve>;
  /** What it answers in place of a token, if anything. */
  answer: (() => Response) | null = null;
  requests = 0;

  /** @param directory an empty one, in which it works */
  constructor(private readonly directory: string) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "openssl.cnf"), CONFIG);
    writeFileSync(join(directory, "serial"), "01\n");
    const issued = (name: string, issuer: string, extensions: string): string[] => [
      ...["x509", "-req", "-in", `${name}.csr`, "-CA", `${issuer}.pem`, "-CAkey", `${issuer}.key`, "-CAcreateserial"],
      ...["-out", `${name}.pem`, "-days", "30", "-extfile", "openssl.cnf", "-extensions", extensions],
    ];
    const key = ["-newkey", "rsa:2048", "-nodes"];
    const root = ["-config", "/dev/null", "-subj", "/CN=Test Root"];
    this.#openssl("req", "-x509", ...key, "-keyout", "root.key", "-out", "root.pem", ...root, ...ROOT_EXTENSIONS);
    for (const [name, issuer, subject, extensions] of [
      ["middle", "root", "/CN=Test Intermediate", "root"],
      ["tsa", "middle", "/O=Test/CN=Test Time Stamps", "stamps"],
    ] as const) {
      const wish = ["-config", "/dev/null", "-subj", subject];
      this.#openssl("req", ...key, "-keyout", `${name}.key`, "-out", `${name}.csr`, ...wish);
      this.#openssl(...issued(name, issuer, extensions));
    }
    writeFileSync(join(directory, "chain.pem"), readFileSync(join(directory, "middle.pem")));
    this.#server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => this.#stamp(request) });
  }

  get url(): string {
    return `http://${this.host}/tsr`;
  }

  get host(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  /** Returns a token over a text, as a client gets it. */
  async token(text: string): Promise<Uint8Array> {
    const headers = { "content-type": "application/timestamp-query" };
    const response = await fetch(this.url, { method: "POST", headers, body: timestampRequest(text) });
    return tokenIn(await response.bytes());
  }

  /** The certificate to trust. */
  get rootFile(): string {
    return join(this.directory, "root.pem");
  }

  async #stamp(request: Request): Promise<Response> {
    this.requests += 1;
    if (this.answer !== null) return this.answer();
    if (request.headers.get("content-type") !== "application/timestamp-query") return new Response("", { status: 415 });
    writeFileSync(join(this.directory, "query"), await request.bytes());
    this.#openssl("ts", "-reply", "-config", "openssl.cnf", "-queryfile", "query", "-out", "reply");
    const reply = readFileSync(join(this.directory, "reply"));
    return new Response(reply, { headers: { "content-type": "application/timestamp-reply" } });
  }

  #openssl(...words: string[]): void {
    const { exitCode, stderr } = Bun.spawnSync(["openssl", ...words], { cwd: this.directory, stderr: "pipe" });
    if (exitCode !== 0) throw new Error(`openssl ${words[0]} failed: ${stderr}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}

const ROOT_EXTENSIONS = [
  ...["-days", "30", "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"],
];
