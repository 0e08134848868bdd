/** Verifies a receipt, or what else has one event: the event, its proof, the seal, and the keys that lead to it. */
import { orNull } from "../failure.ts";
import type { JsonObject } from "../json.ts";
import { formProblem, VOCABULARY } from "../log/event.ts";
import { isFingerprint, KeyChainError, readKeyChain, trustedKeys } from "../log/key-chain.ts";
import { sameHash } from "../log/merkle.ts";
import { NoteError, type VerifierKey } from "../log/note.ts";
import { parseReceipt, type Receipt, ReceiptError, receiptProblem } from "../log/receipt.ts";
import { checkSeal, type Seal, sealedWorkspace } from "../log/seal.ts";
import { causesOf } from "./causes.ts";
import { TAMPERED } from "./completeness.ts";
import { WitnessedSeals, witnessesOf } from "./events/witnesses.ts";
import type { Finding } from "./problems.ts";
import { newerVocabulary, newResult, obstacle, reported, type SourceResult } from "./report.ts";
import type { SourceReport } from "./report-schema.ts";
import type { Trust } from "./trust.ts";

/** Verifies the text of a receipt. Without a key nothing can be established, since a receipt has no chain. */
export function verifyReceipt(text: string, path: string, trust: Trust): SourceResult {
  try {
    return verifySealedEvent(parseReceipt(text), { path, kind: "receipt" }, trust);
  } catch (error) {
    if (!(error instanceof ReceiptError)) throw error;
    return obstacle(path, "receipt", "not_evidence", `the receipt is not in order: ${error.message}`);
  }
}

/** A piece of evidence that is one event with its way to a seal. */
interface Carrier {
  path: string;
  kind: "receipt" | "proof";
  /** What its report says besides that of the event. */
  report?: Partial<SourceReport>;
}

/** Verifies an event with its way to a seal. @param more finds what else is wrong, if the event is genuine */
export function verifySealedEvent(
  receipt: Receipt,
  { path, kind, report = {} }: Carrier,
  { publicKeys = [], witnesses = [], anchors = [] }: Trust,
  more: () => Finding | null = () => null,
): SourceResult {
  const { event, seal, stored, vocabulary } = receipt;
  const keys = keysOfReceipt(receipt);
  const publicKey = trustedKeys(publicKeys, keys ?? []).find((key) => checkSeal(seal, key) !== "absent");
  // Only a kept seal over the same events can be compared.
  const kept = anchors.filter(({ origin, size }) => origin === seal.origin && size === seal.size);
  const sound = kept.filter((one) => publicKeys.every((key) => checkSeal(one, key) !== "bad"));
  const found =
    problemOfReceipt(receipt, kind, keys, { publicKey: publicKey ?? null, witnesses }) ??
    problemOfKept(seal, sound) ??
    (vocabulary > VOCABULARY ? null : more());
  const about = {
    report: {
      ...{ workspace_id: sealedWorkspace(seal), events: 1 },
      // The holder of a receipt can remove the details, so the receipt does not prove that they were erased.
      ...(stored.details === null && { not_covered: ["the details of the event, which are not in this receipt"] }),
    },
    range: { first: event.seq, last: event.seq },
  };
  if (found !== null) {
    const problems = causesOf([{ ...found, seq: event.seq, id: event.id, event }]).map(reported);
    return newResult(path, kind, { ...about, verdict: "tampered", problems, completeness: TAMPERED });
  }
  if (vocabulary > VOCABULARY) {
    return obstacle(path, kind, "newer_format", newerVocabulary(`the ${kind} states`, vocabulary), about);
  }
  if (publicKey === undefined)
    return obstacle(path, kind, "key_not_given", whyNoKey(kind, publicKeys, keys ?? []), about);
  const witnessed = new WitnessedSeals(witnesses);
  if (sound.length < kept.length || ![seal, ...kept].every((one) => witnessed.note(one))) {
    const message = "the given seal is damaged: its signature, or a witness's cosignature, is not right";
    return obstacle(path, kind, "seal_missing", message, about);
  }
  const cosigned = witnessed.found === null ? {} : { witnesses: witnessed.found };
  const anchored_through = kept.length === 0 ? null : event.seq;
  return newResult(path, kind, {
    ...about,
    report: { ...about.report, ...report, sealed_through: event.seq, anchored_through, ...cosigned },
    verdict: "verified",
    problems: [],
    stamped: witnessed.stamped,
    completeness: { is: "partial", part: `event ${event.seq} of ${seal.size}` },
  });
}

/** Returns the log's keys up to the key of the receipt's seal; empty when it has none, null when they were changed. */
function keysOfReceipt({ keys, seal, event }: Receipt): Uint8Array[] | null {
  if (keys === null) return [];
  return orNull(KeyChainError, () => {
    const found = readKeyChain(event.workspace_id, keys);
    return checkSeal(seal, found.at(-1) as Uint8Array) === "good" ? found : null;
  });
}

/** Returns the problem when a kept seal over the same events is another one. */
function problemOfKept({ size, root }: Seal, kept: readonly Seal[]): Finding | null {
  if (kept.every((one) => sameHash(one.root, root))) return null;
  return { code: "anchor_mismatch", message: `the first ${size} events are not the ones of the given seal` };
}

function problemOfReceipt(
  receipt: Receipt,
  kind: Carrier["kind"],
  keys: readonly Uint8Array[] | null,
  { publicKey, witnesses }: { publicKey: Uint8Array | null; witnesses: readonly VerifierKey[] },
): Finding | null {
  if (keys === null) {
    return { code: "seal_invalid", message: `the announcements of the log's keys do not lead to the ${kind}'s seal` };
  }
  const message = receiptProblem(receipt, publicKey);
  const code = publicKey === null || checkSeal(receipt.seal, publicKey) === "good" ? "proof_invalid" : "seal_signature";
  if (message !== null) return { code, message };
  const details = receipt.stored.details === null ? null : (JSON.parse(receipt.stored.details) as JsonObject);
  const impossible = receipt.vocabulary > VOCABULARY ? null : formProblem(receipt.event, details, null);
  if (impossible !== null) return impossible;
  try {
    witnessesOf(receipt.seal, witnesses);
    return null;
  } catch (error) {
    if (error instanceof NoteError) return { code: "seal_signature", message: error.message };
    throw error;
  }
}

function whyNoKey(kind: Carrier["kind"], given: readonly Uint8Array[], keys: readonly Uint8Array[]): string {
  if (given.length === 0) return `a ${kind} is checked with the public key: give it with --public-key`;
  if (isFingerprint(given, keys)) return "the given key is the fingerprint of this log's key: give the key itself";
  const earlier = keys.length === 0 ? ", a fingerprint, or an earlier key of this log" : "";
  return `the given key does not lead to the key that sealed this ${kind}: it is another log's key${earlier}`;
}
