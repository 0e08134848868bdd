/**
 * A witness, written from C2SP tlog-witness and tlog-cosignature with nothing of the daemon's but its
 * hashing and the name of an algorithm: it cosigns a checkpoint when that continues the one it cosigned before.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto";
import type { Algorithm } from "../log/cosigning.ts";
import { sha256 } from "../log/tree.ts";

interface Log {
  name: string;
  publicKey: Uint8Array;
}

export class TestWitness implements AsyncDisposable {
  readonly name = "witness.example/w1";
  readonly #key: KeyObject;
  readonly #raw: Buffer;
  readonly #server: ReturnType<typeof Bun.serve>;
  readonly #monitoring: ReturnType<typeof Bun.serve> | null;
  readonly #logs = new Map<string, Log>();
  /** What it has cosigned, by origin. */
  readonly state = new Map<string, { size: number; root: string }>();
  readonly statuses: number[] = [];
  /** The newest cosigned checkpoints, by the hash of their origin. */
  readonly checkpoints = new Map<string, string>();

  /** @param tls the certificate with which its monitoring prefix is served */
  constructor(
    private readonly algorithm: Algorithm = "ed25519",
    tls?: { cert: string; key: string },
  ) {
    const isEd25519 = algorithm === "ed25519";
    const { privateKey, publicKey } = isEd25519 ? generateKeyPairSync("ed25519") : generateKeyPairSync("ml-dsa-44");
    this.#key = privateKey;
    // The raw key is the end of its SubjectPublicKeyInfo.
    this.#raw = publicKey.export({ format: "der", type: "spki" }).subarray(isEd25519 ? -32 : -1312);
    const fetch = (request: Request) => this.#answer(request);
    this.#server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });
    this.#monitoring = tls === undefined ? null : Bun.serve({ port: 0, hostname: "127.0.0.1", fetch, tls });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/prefix`;
  }

  get monitoringUrl(): string {
    return `https://127.0.0.1:${this.#monitoring?.port}/prefix`;
  }

  get #typed(): Buffer {
    return Buffer.concat([Buffer.of(this.algorithm === "ed25519" ? 4 : 6), this.#raw]);
  }

  #keyId(): Buffer {
    return sha256(Buffer.from(`${this.name}\n`), this.#typed).subarray(0, 4);
  }

  get verifierKey(): string {
    return `${this.name}+${this.#keyId().toString("hex")}+${this.#typed.toString("base64")}`;
  }

  trust(origin: string, publicKey: Uint8Array): void {
    this.#logs.set(origin, { name: origin, publicKey });
  }

  async #answer(request: Request): Promise<Response> {
    const asked = /^\/prefix\/([0-9a-f]{64})\/checkpoint$/.exec(new URL(request.url).pathname)?.[1];
    if (request.method === "GET" && asked !== undefined) {
      const checkpoint = this.checkpoints.get(asked);
      return checkpoint === undefined ? new Response("", { status: 404 }) : new Response(checkpoint);
    }
    const response = this.#addCheckpoint(new URL(request.url).pathname, await request.text());
    this.statuses.push(response.status);
    return response;
  }

  #addCheckpoint(path: string, body: string): Response {
    if (path !== "/prefix/add-checkpoint") return new Response("", { status: 405 });
    const at = body.indexOf("\n\n");
    const [first = "", ...proof] = body.slice(0, at).split("\n");
    const note = body.slice(at + 2);
    const textEnd = note.indexOf("\n\n") + 1;
    const text = note.slice(0, textEnd);
    const [origin = "", sizeText = "", root = ""] = text.split("\n");
    const [oldSize, size] = [Number(first.slice("old ".length)), Number(sizeText)];
    const log = this.#logs.get(origin);
    if (log === undefined) return new Response("unknown log", { status: 404 });
    if (!this.#signedBy(log, text, note.slice(textEnd + 1))) return new Response("", { status: 403 });
    if (oldSize > size) return new Response("", { status: 400 });
    const known = this.state.get(origin) ?? { size: 0, root: "" };
    if (oldSize !== known.size) {
      return new Response(`${known.size}\n`, { status: 409, headers: { "content-type": "text/x.tlog.size" } });
    }
    const hashes = proof.filter((line) => line !== "").map((line) => Buffer.from(line, "base64"));
    const newRoot = Buffer.from(root, "base64");
    const continues =
      known.size === 0
        ? hashes.length === 0
        : consistent(known.size, size, Buffer.from(known.root, "base64"), newRoot, hashes);
    if (!continues) return new Response("", { status: 422 });
    this.state.set(origin, { size, root });
    const cosignature = this.#cosign(text);
    this.checkpoints.set(sha256(Buffer.from(origin)).toString("hex"), note + cosignature);
    return new Response(cosignature);
  }

  #signedBy({ name, publicKey }: Log, text: string, signatures: string): boolean {
    const id = sha256(Buffer.from(`${name}\n`), Buffer.of(1), publicKey).subarray(0, 4);
    const key = createPublicKey({
      key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(publicKey).toString("base64url") },
      format: "jwk",
    });
    return signatures.split("\n").some((line) => {
      const [dash, who, encoded = ""] = line.split(" ");
      const bytes = Buffer.from(encoded, "base64");
      if (dash !== "—" || who !== name || !bytes.subarray(0, 4).equals(id)) return false;
      return verify(null, Buffer.from(text), key, bytes.subarray(4));
    });
  }

  #cosign(text: string): string {
    const time = Buffer.alloc(8);
    const seconds = BigInt(Math.floor(Date.now() / 1000));
    time.writeBigUInt64BE(seconds);
    const message = this.algorithm === "ed25519" ? `cosignature/v1\ntime ${seconds}\n${text}` : this.#tree(time, text);
    const signature = sign(null, Buffer.from(message), this.#key);
    return `— ${this.name} ${Buffer.concat([this.#keyId(), time, signature]).toString("base64")}\n`;
  }

  /** The `cosigned_message` of tlog-cosignature over a whole tree. */
  #tree(time: Buffer, text: string): Buffer {
    const [origin = "", size = "", root = ""] = text.split("\n");
    const start = Buffer.alloc(8);
    const end = Buffer.alloc(8);
    end.writeBigUInt64BE(BigInt(size));
    const [name, log] = [Buffer.from(this.name), Buffer.from(origin)];
    return Buffer.concat([
      ...[Buffer.from("subtree/v1\n\0"), Buffer.of(name.length), name, time],
      ...[Buffer.of(log.length), log, start, end, Buffer.from(root, "base64")],
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
    await this.#monitoring?.stop(true);
  }
}

/** RFC 6962, 2.1.2, the other way round: both roots from the proof, by the recursion of its definition. */
function consistent(m: number, n: number, oldRoot: Buffer, newRoot: Buffer, proof: Buffer[]): boolean {
  if (m === n) return proof.length === 0 && oldRoot.equals(newRoot);
  const left = [...proof];
  const roots = (from: number, size: number, whole: boolean): [Buffer, Buffer] => {
    if (from === size) {
      const hash = whole ? oldRoot : left.shift();
      if (hash === undefined) throw new Error("too short");
      return [hash, hash];
    }
    let half = 1;
    while (half * 2 < size) half *= 2;
    const node = (a: Buffer, b: Buffer) => sha256(Buffer.of(1), a, b);
    if (from <= half) {
      const [a, b] = roots(from, half, whole);
      return [a, node(b, take())];
    }
    const [a, b] = roots(from - half, size - half, false);
    const sibling = take();
    return [node(sibling, a), node(sibling, b)];
  };
  const take = (): Buffer => {
    const hash = left.shift();
    if (hash === undefined) throw new Error("too short");
    return hash;
  };
  try {
    const [a, b] = roots(m, n, true);
    return left.length === 0 && a.equals(oldRoot) && b.equals(newRoot);
  } catch {
    return false;
  }
}
