/** A receipt as evidence: one event under one seal, checked with the key alone. */

import { parseReceipt, type Receipt, ReceiptError, receiptProblem } from "../log/receipt.ts";
import { checkSeal, sealedWorkspace } from "../log/seal.ts";
import { obstacle, type SourceResult } from "./report.ts";
import type { Trust } from "./trust.ts";

/** Verifies the text of a receipt. Without a key nothing can be established: a receipt has no chain. */
export function verifyReceipt(text: string, path: string, { publicKey }: Trust): SourceResult {
  let receipt: Receipt;
  try {
    receipt = parseReceipt(text);
  } catch (error) {
    if (!(error instanceof ReceiptError)) throw error;
    return obstacle(path, "receipt", "not_evidence", `the receipt is not in order: ${error.message}`);
  }
  if (publicKey === null) {
    const message = "a receipt is checked with the public key: bring it with --public-key";
    return describe(obstacle(path, "receipt", "key_missing", message), receipt);
  }
  const result = describe(obstacle(path, "receipt", "key_missing", ""), receipt);
  const problem = receiptProblem(receipt, publicKey);
  const { seq, id } = receipt.event;
  const code = checkSeal(receipt.seal, publicKey) === "good" ? "proof_invalid" : "seal_signature";
  result.report.problems = problem === null ? [] : [{ code, seq, id, message: problem }];
  result.problemCount = result.report.problems.length;
  result.verdict = problem === null ? "verified" : "tampered";
  result.report.sealed_through = problem === null ? seq : null;
  return result;
}

function describe(result: SourceResult, { event, seal, stored }: Receipt): SourceResult {
  result.report.workspace_id = sealedWorkspace(seal);
  result.report.events = 1;
  result.range = { first: event.seq, last: event.seq };
  result.erasedDetails = stored.details === null ? 1 : 0;
  return result;
}
