/**
 * Receipts: one text file that proves one event, checked with a public key alone (docs/audit-format.md). It is a C2SP
 * tlog-proof (https://c2sp.org/tlog-proof) whose extra data is a JSON object: the event as the API shows it
 * (present.ts), or the exact texts that are hashed.
 */
import { SOME } from "../details.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { isErasable } from "../operations.ts";
import { type AuditEventBody, EventFormatError, parseEvent, VOCABULARY } from "./event.ts";
import { eventHash, saltedDigest } from "./hash.ts";
import { JsonTextError, parseStrictJson } from "./json-scan.ts";
import type { KeyChain } from "./key-chain.ts";
import { HASH_BYTES } from "./merkle.ts";
import { fromBase64, NoteError } from "./note.ts";
import { type ExportedEvent, presentEventJson, storedFromLeaf, storedFromPresented } from "./present.ts";
import { MAX_PROOF_HASHES, verifyInclusion } from "./proof.ts";
import { canonicalText, hexOf, type StoredEvent } from "./rows.ts";
import { checkSeal, parseSeal, type Seal, sealedWorkspace } from "./seal.ts";

/** The first line of a receipt. */
export const RECEIPT_HEAD = "c2sp.org/tlog-proof@v1";

/** The longest receipt that is read, characters. */
const MAX_RECEIPT_CHARS = 32 * 1024 * 1024;

/** A parsed receipt. Nothing is verified yet. */
export interface Receipt {
  stored: ExportedEvent;
  event: AuditEventBody;
  index: number;
  path: Uint8Array[];
  seal: Seal;
  /** The chain from the log's first key to the key of the seal, not checked yet; null when it is not given. */
  keys: JsonValue;
  /** The vocabulary in force at the event. */
  vocabulary: number;
}

/** The text is not a receipt. */
export class ReceiptError extends Error {
  override readonly name = "ReceiptError";
}

/** Returns the text of a receipt. @param exact whether it holds the exact texts instead of the event as shown */
export function makeReceipt(
  stored: StoredEvent,
  path: readonly Uint8Array[],
  seal: string,
  { vocabulary, keys, exact = false }: { vocabulary: number; keys?: KeyChain; exact?: boolean },
): string {
  const leaf = canonicalText(stored);
  const { seq } = parseEvent(leaf);
  const { details, salt } = stored;
  const given = exact
    ? JSON.stringify({ leaf, details, details_salt: salt === null ? null : hexOf(salt) })
    : presentEventJson(stored);
  const shown = `${given.slice(0, -1)},${JSON.stringify({ vocabulary, keys }).slice(1)}`;
  const proof = path.map((hash) => `${Buffer.from(hash).toString("base64")}\n`).join("");
  return `${RECEIPT_HEAD}\nextra ${Buffer.from(shown).toString("base64")}\nindex ${seq}\n${proof}\n${seal}`;
}

/** Parses a receipt. @throws ReceiptError when the text is not a receipt */
export function parseReceipt(text: string): Receipt {
  if (text.length > MAX_RECEIPT_CHARS) throw new ReceiptError("too long for a receipt");
  const end = text.indexOf("\n\n");
  const [head, extra = "", index = "", ...path] = text.slice(0, Math.max(end, 0)).split("\n");
  if (head !== RECEIPT_HEAD) throw new ReceiptError(`a receipt begins with ${RECEIPT_HEAD}`);
  const shown = extra.startsWith("extra ") ? fromBase64(extra.slice("extra ".length)) : null;
  if (shown === null) throw new ReceiptError("the receipt's event is missing or not base64");
  const number = /^index (0|[1-9][0-9]{0,15})$/.exec(index);
  if (number === null || path.length > MAX_PROOF_HASHES) throw new ReceiptError("the receipt's proof is malformed");
  try {
    const { vocabulary, keys = null, ...given } = asObject(parseStrictJson(decodeUtf8(shown)));
    if (!SOME.fits(vocabulary as JsonValue)) throw new ReceiptError("the receipt does not state its vocabulary");
    const stored = Object.hasOwn(given, "leaf") ? storedFromLeaf(given) : storedFromPresented(given);
    const event = parseEvent(stored.canonical);
    const seal = parseSeal(text.slice(end + 2));
    return {
      stored,
      event,
      index: Number(number[1]),
      path: path.map(asHash),
      seal,
      keys,
      vocabulary: vocabulary as number,
    };
  } catch (error) {
    const known = error instanceof EventFormatError || error instanceof JsonTextError || error instanceof NoteError;
    if (known) throw new ReceiptError(error.message);
    throw error;
  }
}

/**
 * Returns what is wrong with a receipt; null when it proves its event.
 * @param publicKey the sealing key, 32 raw bytes, known from elsewhere; null when the signature is not to be checked
 */
export function receiptProblem(
  { stored, event, index, path, seal, vocabulary }: Receipt,
  publicKey: Uint8Array | null,
): string | null {
  const hash = eventHash(stored.canonical);
  if (stored.hash !== hash) return "the event does not have the hash that it states";
  if (stored.details !== null || stored.salt !== null) {
    if (stored.details === null || stored.salt === null) return "details and salt are not both there or both erased";
    if (saltedDigest(stored.salt, stored.details) !== event.details_commitment) {
      return "the details do not fit the event's commitment";
    }
  }
  const mayBeErased = vocabulary > VOCABULARY || isErasable(event.operation);
  if (stored.details === null && !mayBeErased)
    return "the details are gone, and nothing can erase those of such an event";
  if (event.seq !== index) return "the proof is of another event";
  if (sealedWorkspace(seal) !== event.workspace_id) return "the seal is of another workspace";
  if (publicKey !== null && checkSeal(seal, publicKey) !== "good") return "the seal is not signed by this key";
  const included = verifyInclusion(Buffer.from(hash, "hex"), index, seal, path);
  return included ? null : "the proof does not lead from the event to the seal";
}

function asObject(value: unknown): JsonObject {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value as JsonObject;
  throw new ReceiptError("the receipt's extra data is not a JSON object");
}

function asHash(line: string): Uint8Array {
  const hash = fromBase64(line);
  if (hash?.length !== HASH_BYTES) throw new ReceiptError("a line of the receipt's proof is not a hash");
  return hash;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ReceiptError("the receipt's event is not UTF-8");
  }
}
