/** Verifies a proof of what was stored: the event of the state root, and the entries under it. */
import { claimProblem, hasValues, type Proof, ProofError, parseProof, statedState } from "../../log/state/proof.ts";
import type { Place } from "../../log/state/tree.ts";
import type { Finding } from "../problems.ts";
import { verifySealedEvent } from "../receipt.ts";
import { obstacle, type SourceResult } from "../report.ts";
import type { SourceReport } from "../report-schema.ts";
import type { Trust } from "../trust.ts";

/** Verifies the bytes of a proof. Without a key nothing can be established. */
export function verifyProof(bytes: Uint8Array, path: string, trust: Trust): SourceResult {
  try {
    const proof = parseProof(bytes);
    const report = { proof: describe(proof) };
    return verifySealedEvent(proof.sealed, { path, kind: "proof", report }, trust, () => problemOf(proof));
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    return obstacle(path, "proof", "not_evidence", `the proof is not in order: ${error.message}`);
  }
}

function problemOf(proof: Proof): Finding | null {
  const stated = statedState(proof);
  const message =
    stated === null ? "the event is not that of a state root, or lacks its details" : claimProblem(proof, stated);
  return message === null ? null : { code: "proof_invalid", message };
}

/** Returns what a proof says, for its report. */
function describe(proof: Proof): NonNullable<SourceReport["proof"]> {
  const { file, sealed } = proof;
  const { claim, agent_id, key, prefix, entries, before, after } = file;
  const placeOf = (leaf: Place | null) => leaf && { agent_id: leaf.agent_id, key: leaf.key };
  return {
    ...{ claim, agent_id, key, prefix },
    seq: statedState(proof)?.seq ?? 0,
    recorded_at: sealed.event.timestamp,
    entries: entries.length,
    with_values: hasValues(file),
    before: placeOf(before),
    after: placeOf(after),
    time_rests_on: "clock",
  };
}
