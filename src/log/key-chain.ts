/**
 * The chain of a log's sealing keys, verifiable without the database. After a rotation, exports and receipts contain
 * `keys`: each key that the log has named, with the event that announces it under a seal by the previous key
 * (docs/audit-format.md, "Keys over time"). So an auditor who trusts one of the keys can trust all later ones.
 */
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { JsonObject, JsonValue } from "../json.ts";
import { Hash, only } from "../schemas.ts";
import { EventFormatError, GENESIS, parseEvent } from "./event.ts";
import { fingerprintOf, NoteError, parseVerifierKey } from "./note.ts";
import { genuineDetails, storedFromPresented } from "./present.ts";
import { MAX_PROOF_HASHES, verifyInclusion } from "./proof.ts";
import { checkSeal, parseSeal, ROTATE_SEAL_KEY, sealedWorkspace } from "./seal.ts";

/** The form of `keys`. The members of an event are checked when it is read. */
export const KeyChainSchema = Type.Array(
  only({
    public_key: Type.String(),
    event: Type.Unsafe<JsonObject>(Type.Object({})),
    path: Type.Array(Hash, { maxItems: MAX_PROOF_HASHES }),
    seal: Type.String(),
  }),
  { minItems: 1 },
);

/** The keys of a log in order, with the announcement of each. */
export type KeyChain = Static<typeof KeyChainSchema>;

const chain = TypeCompiler.Compile(KeyChainSchema);

/** The announcements of a log's keys were changed. */
export class KeyChainError extends Error {
  override readonly name = "KeyChainError";
}

/**
 * Returns the keys of a log, 32 raw bytes each, after checking that each is announced under a seal by the previous one.
 * @throws KeyChainError when a key is not
 */
export function readKeyChain(workspaceId: string, announcements: JsonValue): Uint8Array[] {
  if (!chain.Check(announcements))
    throw new KeyChainError("the announcements of the log's keys do not have their form");
  const keys: Uint8Array[] = [];
  let lastSeq = -1;
  for (const announcement of announcements) {
    const { key, seq } = readAnnouncement(workspaceId, announcement, keys.at(-1) ?? null);
    if (seq <= lastSeq) throw new KeyChainError("the announcements of the log's keys are not in order");
    keys.push(key);
    lastSeq = seq;
  }
  return keys;
}

function readAnnouncement(
  workspaceId: string,
  { public_key: text, event: shown, path, seal: note }: KeyChain[number],
  previous: Uint8Array | null,
): { key: Uint8Array; seq: number } {
  try {
    const key = parseVerifierKey(text).publicKey;
    const stored = storedFromPresented(shown);
    const event = parseEvent(stored.canonical);
    const details = genuineDetails(stored, event);
    const announces = event.operation === (previous === null ? GENESIS : ROTATE_SEAL_KEY);
    const own = event.workspace_id === workspaceId && event.agent_id === null && event.result === "ok";
    if (details === null || !announces || !own) throw new KeyChainError("an event does not announce a key of this log");
    if (details.signing_key !== fingerprintOf(key)) {
      throw new KeyChainError(`event ${event.seq} announces another key than the one that is given with it`);
    }
    const seal = parseSeal(note);
    const bytes = (hex: string): Uint8Array => Buffer.from(hex, "hex");
    if (
      sealedWorkspace(seal) !== workspaceId ||
      !verifyInclusion(bytes(stored.hash), event.seq, seal, path.map(bytes)) ||
      checkSeal(seal, previous ?? key) !== "good"
    ) {
      throw new KeyChainError(`event ${event.seq}, which announces a key, is not under a seal by the key before it`);
    }
    return { key, seq: event.seq };
  } catch (error) {
    if (error instanceof EventFormatError || error instanceof NoteError) throw new KeyChainError(error.message);
    throw error;
  }
}

/** Returns the keys that the auditor trusts: those given, and those of the log after one of them. */
export function trustedKeys(given: readonly Uint8Array[], keys: readonly Uint8Array[]): readonly Uint8Array[] {
  const from = keys.findIndex((key) => given.some((one) => Buffer.compare(one, key) === 0));
  return from < 0 ? given : [...given, ...keys.slice(from + 1)];
}

/** Whether a given key is in fact the fingerprint of one of the log's keys, which also has 32 bytes. */
export function isFingerprint(given: readonly Uint8Array[], keys: readonly Uint8Array[]): boolean {
  const fingerprints = new Set(keys.map(fingerprintOf));
  return given.some((one) => fingerprints.has(Buffer.from(one).toString("hex")));
}
