/** The seal of an export: connecting it with the events, and with the seals that the auditor kept. */
import type { ExportHeader } from "../../log/export-format.ts";
import { CompactRange, sameHash } from "../../log/merkle.ts";
import { NoteError, parseVerifierKey } from "../../log/note.ts";
import { verifyInclusion, verifyRange } from "../../log/proof.ts";
import { parseSeal, type Seal, sealedWorkspace } from "../../log/seal.ts";
import type { ProblemCode } from "../problems.ts";
import { isWhole } from "./export-window.ts";
import type { LogVerifier } from "./log-verifier.ts";

/** The root of the tree without leaves (RFC 6962, 2.1). */
const EMPTY_ROOT = new CompactRange().root();

/** Checks the seal that an export carries, and given ones against it, after all events were fed. */
export function checkExportSeal(verifier: LogVerifier, header: ExportHeader): void {
  const seal = ownSeal(verifier, header);
  const last = verifier.last?.event.seq ?? null;
  const isLog = header.agent_id === null && isWhole(header);
  // The end of a whole export was compared with its seal's size already.
  const isCut = isLog && seal !== null && seal.size > (last === null ? 0 : last + 1);
  const sealed = seal !== null && !isCut && connected(verifier, header, seal);
  if (sealed || isCut) verifier.seals?.proved(seal, sealed ? last : null);
  for (const anchor of verifier.seals?.takeAnchors() ?? []) {
    if (sealedWorkspace(anchor) !== header.workspace_id) {
      verifier.seals?.cannotTell("the given seal is of another workspace");
    } else if (isLog) {
      // It covers more than the export holds. Where that is reported already, it is not reported twice.
      if (!isCut) verifier.seals?.anchor(anchor);
    } else if (!sealed || anchor.size !== seal.size) {
      verifier.seals?.cannotTell("the given seal is another one than the export was made under");
    } else if (!sameHash(anchor.root, seal.root)) {
      fail(verifier, "anchor_mismatch", "the export's seal is not the given one of the same size");
    } else if (last !== null) verifier.seals?.anchored(last);
  }
}

function ownSeal(verifier: LogVerifier, header: ExportHeader): Seal | null {
  if (header.seal === null) {
    if ((header.proof ?? null) !== null || header.public_key !== null) {
      fail(verifier, "seal_invalid", "the export has a proof or a key, and no seal");
    }
    return null;
  }
  try {
    const seal = parseSeal(header.seal);
    if (sealedWorkspace(seal) !== header.workspace_id) {
      fail(verifier, "seal_invalid", "the export's seal is of another workspace");
      return null;
    }
    if (header.public_key !== null) verifier.seals?.offerKey(parseVerifierKey(header.public_key).publicKey);
    return seal;
  } catch (error) {
    if (!(error instanceof NoteError)) throw error;
    fail(verifier, "seal_invalid", `the export's seal is not in order: ${error.message}`);
    return null;
  }
}

function connected(verifier: LogVerifier, header: ExportHeader, seal: Seal): boolean {
  const { last, tree } = verifier;
  // Without events there is nothing to connect.
  if (last === null) return seal.size > 0 || sameHash(seal.root, EMPTY_ROOT);
  const proof = header.proof ?? null;
  let proved = false;
  if (proof !== null && header.agent_id === null && "before" in proof && tree !== null) {
    proved = verifyRange(tree, seal, { before: proof.before.map(bytes), after: proof.after.map(bytes) });
  } else if (proof !== null && header.agent_id !== null && "path" in proof) {
    proved = verifyInclusion(bytes(last.hash), last.event.seq, seal, proof.path.map(bytes));
  }
  if (!proved) fail(verifier, "proof_invalid", "the export's events are not the ones that were sealed");
  return proved;
}

function fail(verifier: LogVerifier, code: ProblemCode, message: string): void {
  verifier.report(code, null, null, message);
}

function bytes(hex: string): Uint8Array {
  return Buffer.from(hex, "hex");
}
