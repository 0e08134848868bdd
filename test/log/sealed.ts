/** Sealed logs for the tests, and logs as somebody without the key could rewrite them. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { CompactRange } from "../../src/log/merkle.ts";
import { ed25519Signer, fingerprintOf, formatVerifierKey, rawPublicKey, verifierKey } from "../../src/log/note.ts";
import { makeSeal } from "../../src/log/seal.ts";
import { SampleLog, WORKSPACE } from "./sample.ts";
import { MemoryTiles } from "./tree.ts";

export interface SealingKey {
  privateKey: KeyObject;
  publicKey: Uint8Array;
  fingerprint: string;
}

export function newKey(): SealingKey {
  return keyOf(generateKeyPairSync("ed25519").privateKey);
}

export function keyOf(privateKey: KeyObject): SealingKey {
  const publicKey = rawPublicKey(privateKey);
  return { privateKey, publicKey, fingerprint: fingerprintOf(publicKey) };
}

export const originOf = (workspaceId: string): string => `governd.example/${workspaceId}`;

/** A log that names its key in the genesis and can be sealed at any size. */
export class SealedLog extends SampleLog {
  constructor(
    readonly key = newKey(),
    workspaceId = WORKSPACE,
  ) {
    super(workspaceId, { signing_key: key.fingerprint, origin: originOf(workspaceId) });
  }

  grow(count: number, agents = ["alpha", "beta"]): this {
    while (this.events.length < count) {
      const seq = this.events.length;
      this.write(agents[seq % agents.length] as string, `k${seq}`, `value ${seq}`);
    }
    return this;
  }

  get origin(): string {
    return originOf(this.workspaceId);
  }

  get publicKey(): string {
    return formatVerifierKey(verifierKey(this.origin, this.key.publicKey));
  }

  tiles(): MemoryTiles {
    const tiles = new MemoryTiles();
    tiles.tail.push(...this.events.map(({ hash }) => Buffer.from(hash, "hex")));
    return tiles;
  }

  seal(size = this.events.length, key = this.key, origin = this.origin): string {
    const tree = new CompactRange();
    for (const { hash } of this.events.slice(0, size)) tree.append(Buffer.from(hash, "hex"));
    return makeSeal({ origin, size, root: tree.root() }, [ed25519Signer(origin, key.privateKey)]);
  }
}
