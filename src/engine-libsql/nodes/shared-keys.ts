/**
 * Shares the keys that encrypt the secrets of sinks and second factors. All nodes on a libSQL server need the same keys, so the
 * server stores them, encrypted with a key that is derived from the seal key. A node that cannot decrypt them has
 * another seal key than the others, and is refused.
 */
import { createHash, hkdfSync } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { replaceFile } from "../../core/datadir/private-files.ts";
import type { SealKey } from "../../core/datadir/seal-key.ts";
import { KeyUnusable, SecretKey } from "../../core/datadir/secret-key.ts";
import { Failure, orNull } from "../../failure.ts";
import type { Namespace } from "../namespace.ts";
import { query } from "../server.ts";

const TABLE = "governd_keys";
const CREATE = `CREATE TABLE IF NOT EXISTS ${TABLE} (
  name       TEXT PRIMARY KEY,
  encrypted  TEXT NOT NULL,
  digest     TEXT NOT NULL   -- of the key, SHA-256, hex
) STRICT`;

/** The purpose of the derived key (RFC 5869, `info`). */
const PURPOSE = "governd shared keys 1";
const KEY_BYTES = 32;

/**
 * Gives all nodes the keys of the first node.
 * @throws {Failure} `data_directory_unusable` when this node has another seal key, or other keys
 */
export async function shareKeys(
  namespace: Namespace,
  { factorKey, sinkKey }: DataDirectory,
  { privateKey }: SealKey,
): Promise<void> {
  const { d: seed } = privateKey.export({ format: "jwk" });
  const derived = hkdfSync("sha256", Buffer.from(seed as string, "base64url"), "", PURPOSE, KEY_BYTES);
  const seal = new SecretKey("", new Uint8Array(derived));
  await namespace.write([{ sql: CREATE }]);
  for (const [name, path] of Object.entries({ factorKey, sinkKey })) await shareKey(namespace, seal, name, path);
}

async function shareKey(namespace: Namespace, seal: SecretKey, name: string, path: string): Promise<void> {
  const isNew = !existsSync(path);
  if (isNew && (await storedKey(namespace, name)) === undefined) new SecretKey(path).create();
  const own = existsSync(path) ? readFileSync(path, "latin1") : null;
  if (own !== null) {
    const insert = `INSERT INTO ${TABLE} (name, encrypted, digest) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING`;
    await namespace.write([query(insert, name, seal.encrypt(name, own), digestOf(own))]);
  }
  const [encrypted, digest] = (await storedKey(namespace, name)) as [string, string];
  const key = orNull(KeyUnusable, () => seal.decrypt(name, encrypted));
  if (own !== null && digestOf(own) === digest) {
    // Otherwise the seal key was replaced, so the stored key is encrypted again.
    if (key !== null) return;
    const update = `UPDATE ${TABLE} SET encrypted = ? WHERE name = ?`;
    await namespace.write([query(update, seal.encrypt(name, own), name)]);
    return;
  }
  if (key === null) throw new Failure("data_directory_unusable", OTHER_SEAL_KEY);
  if (!isNew) throw new Failure("data_directory_unusable", otherKey(path));
  // Another node may have stored its new key before this one.
  replaceFile(path, key);
}

async function storedKey(namespace: Namespace, name: string): Promise<[string, string] | undefined> {
  const [rows = []] = await namespace.read([query(`SELECT encrypted, digest FROM ${TABLE} WHERE name = ?`, name)]);
  return rows[0] as [string, string] | undefined;
}

const digestOf = (key: string): string => createHash("sha256").update(key).digest("hex");

const OTHER_SEAL_KEY =
  "This node has another seal key than the other nodes on the libSQL server. Copy keys/seal.key and keys/seal.pub of the first node to the data directory, or set seal_key to the same key on all nodes.";

const otherKey = (path: string): string =>
  `${path} is not the key that the other nodes on the libSQL server have. If this data directory held no workspaces of its own, move the file away and start again: the node gets the key of the others.`;
