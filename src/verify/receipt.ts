/** Verifies a receipt: one event, its proof, the seal, and the keys that lead to it. */
import { isFingerprint, KeyChainError, readKeyChain, trustedKeys } from "../log/key-chain.ts";
import { NoteError, type VerifierKey } from "../log/note.ts";
import { parseReceipt, type Receipt, ReceiptError, receiptProblem } from "../log/receipt.ts";
import { checkSeal, sealedWorkspace } from "../log/seal.ts";
import { causesOf } from "./causes.ts";
import type { ProblemCode } from "./codes.ts";
import { TAMPERED } from "./completeness.ts";
import { witnessesOf } from "./events/witnesses.ts";
import type { Problem } from "./problems.ts";
import { obstacle, reported, type SourceResult } from "./report.ts";
import type { Trust } from "./trust.ts";

/** Verifies the text of a receipt. Without a key nothing can be established: a receipt has no chain. */
export function verifyReceipt(text: string, path: string, { publicKeys = [], witnesses = [] }: Trust): SourceResult {
  let receipt: Receipt;
  try {
    receipt = parseReceipt(text);
  } catch (error) {
    if (!(error instanceof ReceiptError)) throw error;
    return obstacle(path, "receipt", "not_evidence", `the receipt is not in order: ${error.message}`);
  }
  const keys = keysOfReceipt(receipt);
  const publicKey = trustedKeys(publicKeys, keys ?? []).find((key) => checkSeal(receipt.seal, key) !== "absent");
  const found = problemOfReceipt(receipt, keys, publicKey ?? null, witnesses);
  const why = keys === null || publicKey !== undefined ? "" : whyNoKey(publicKeys, keys);
  const result = describe(obstacle(path, "receipt", "key_missing", why), receipt);
  if (found === null && publicKey === undefined) return result;
  const { seq, id } = receipt.event;
  const named: Problem[] = found === null ? [] : [{ ...found, seq, id, event: receipt.event }];
  result.report.problems = causesOf(named).map(reported);
  result.problemCount = result.report.problems.length;
  result.verdict = found === null ? "verified" : "tampered";
  result.report.sealed_through = found === null ? seq : null;
  result.completeness = found === null ? { is: "partial", part: `event ${seq} of ${receipt.seal.size}` } : TAMPERED;
  result.report.completeness = result.completeness.is;
  if (found === null && witnesses.length > 0) result.report.witnesses = witnessesOf(receipt.seal, witnesses);
  return result;
}

/** Returns the log's keys up to the one of the receipt's seal; empty when it names none, null when they were changed. */
function keysOfReceipt({ keys, seal, event }: Receipt): Uint8Array[] | null {
  if (keys === null) return [];
  try {
    const found = readKeyChain(event.workspace_id, keys);
    return checkSeal(seal, found.at(-1) as Uint8Array) === "good" ? found : null;
  } catch (error) {
    if (error instanceof KeyChainError) return null;
    throw error;
  }
}

function problemOfReceipt(
  receipt: Receipt,
  keys: readonly Uint8Array[] | null,
  publicKey: Uint8Array | null,
  witnesses: readonly VerifierKey[],
): { code: ProblemCode; message: string } | null {
  if (keys === null) {
    return { code: "seal_invalid", message: "the announcements of the log's keys do not lead to the receipt's seal" };
  }
  const message = receiptProblem(receipt, publicKey);
  const code = publicKey === null || checkSeal(receipt.seal, publicKey) === "good" ? "proof_invalid" : "seal_signature";
  if (message !== null) return { code, message };
  try {
    witnessesOf(receipt.seal, witnesses);
    return null;
  } catch (error) {
    if (error instanceof NoteError) return { code: "seal_signature", message: error.message };
    throw error;
  }
}

function whyNoKey(given: readonly Uint8Array[], keys: readonly Uint8Array[]): string {
  if (given.length === 0) return "a receipt is checked with the public key: give it with --public-key";
  if (isFingerprint(given, keys)) return "the given key is the fingerprint of this log's key: give the key itself";
  const earlier = keys.length === 0 ? ", a fingerprint, or an earlier key of this log" : "";
  return `the given key does not lead to the key that sealed this receipt: it is another log's key${earlier}`;
}

function describe(result: SourceResult, { event, seal, stored }: Receipt): SourceResult {
  result.report.workspace_id = sealedWorkspace(seal);
  result.report.events = 1;
  result.range = { first: event.seq, last: event.seq };
  result.erasedDetails = stored.details === null ? 1 : 0;
  return result;
}
