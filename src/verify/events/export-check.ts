/**
 * Checks an export after all events were fed: its content (export-claims.ts), the seal that covers it, the seals that
 * the auditor kept, and the erasures after its last event.
 */

import { EventFormatError, parseEvent, VOCABULARY } from "../../log/event.ts";
import { rootBefore } from "../../log/export-binding.ts";
import type { ExportErasures, ExportHeader, ExportRestores } from "../../log/export-schema.ts";
import { eventHash } from "../../log/hash.ts";
import { type KeyChain, KeyChainError, readKeyChain } from "../../log/key-chain.ts";
import { CompactRange, sameHash } from "../../log/merkle.ts";
import { NoteError, parseVerifierKey } from "../../log/note.ts";
import { storedFromPresented } from "../../log/present.ts";
import { verifyInclusion, verifyRange } from "../../log/proof.ts";
import { declaredRestore } from "../../log/restores.ts";
import { hexOf } from "../../log/rows.ts";
import { checkSeal, parseSeal, type Seal, sealedWorkspace } from "../../log/seal.ts";
import type { ProblemCode } from "../codes.ts";
import { genuineDetails, isErasure, NO_ERASURE } from "./details.ts";
import { type Bound, boundOf, boundProblem, isWhole } from "./export-claims.ts";
import type { LogVerifier } from "./log-verifier.ts";

/** Checks all claims of an export about its events. */
export function checkExportClaims(
  verifier: LogVerifier,
  header: ExportHeader,
  form: "json" | "ndjson",
  erasures: ExportErasures | undefined,
): void {
  try {
    const bound = boundOf(header);
    const problem = boundProblem(verifier, header, bound, form);
    if (problem !== null) fail(verifier, "export_window", problem);
    checkSealOf(verifier, header, bound, problem === null);
    checkVocabulary(verifier, header, bound);
    // What an event under a greater vocabulary erased is not known.
    if (erasures !== undefined && header.vocabulary <= VOCABULARY) takeErasures(verifier, header, erasures);
  } catch (error) {
    if (!(error instanceof EventFormatError)) throw error;
    fail(verifier, "export_window", `what the export says of itself is not in order: ${error.message}`);
  }
}

/** Compares the vocabulary that an export states with its event, and with its events as far as they announce it. */
function checkVocabulary(verifier: LogVerifier, header: ExportHeader, { binding, after }: Bound): void {
  const { inForce } = verifier.vocabularies;
  const reachesEnd = after.event.seq === binding.event.seq && header.agent_id === null;
  const fits = inForce === null || (reachesEnd ? header.vocabulary === inForce : header.vocabulary >= inForce);
  if (!fits) fail(verifier, "vocabulary_invalid", "the export states another vocabulary than its events announce");
  else if (binding.said.vocabulary !== header.vocabulary) {
    fail(verifier, "vocabulary_invalid", "the export states another vocabulary than its event");
  }
}

/** Adds the erasures after the last event, which explain missing details. */
function takeErasures(verifier: LogVerifier, header: ExportHeader, { events, seal: note }: ExportErasures): void {
  const seal = note === null ? null : readSeal(verifier, header, note);
  const signature = seal === null ? "absent" : (verifier.seals?.signatureOf(seal) ?? "absent");
  if (signature === "bad") fail(verifier, "seal_signature", "the signature of the seal over the erasures is not right");
  for (const { event: shown, path } of events) {
    const stored = storedFromPresented(shown);
    const event = parseEvent(stored.canonical);
    const hash = eventHash(stored.canonical);
    const later = event.seq > (verifier.last?.event.seq ?? Number.POSITIVE_INFINITY);
    const related =
      event.workspace_id === header.workspace_id && (header.agent_id ?? event.agent_id) === event.agent_id;
    if (!isErasure(event) || stored.hash !== hash || !later || !related) {
      throw new EventFormatError("an erasure is not one of this log after the last event");
    }
    const included = seal !== null && path !== null && verifyInclusion(bytes(hash), event.seq, seal, path.map(bytes));
    // A changed seal explains why the proof does not lead to it.
    if (seal !== null && path !== null && !included && signature !== "bad")
      fail(verifier, "proof_invalid", "an erasure is not in the sealed log");
    const found = genuineDetails(stored, event);
    const proved = included && signature === "good";
    if (!("said" in found) || !verifier.blanks.noteLater(event, found.said, proved)) {
      throw new EventFormatError(`event ${event.seq}: ${NO_ERASURE}`);
    }
  }
}

const ANOTHER_SEAL = "the given seal is another one than the export was made under";

/** @param fits whether the events are those that the export claims; otherwise the proof cannot match them */
function checkSealOf(verifier: LogVerifier, header: ExportHeader, bound: Bound, fits: boolean): void {
  const { event } = bound.binding;
  const through = verifier.last?.event.seq ?? event.seq;
  const seal = ownSeal(verifier, header);
  // The announcements of keys are useless for a seal that its own key did not sign.
  const isFollowed = seal !== null || header.seal === null;
  const led = header.keys === undefined || !isFollowed ? null : followKeys(verifier, header, header.keys);
  const sealed = seal !== null && fits && isConnected(verifier, header, seal, bound);
  const isLog = header.agent_id === null && isWhole(header);
  const beginsLog = isLog && verifier.first?.event.seq === 0;
  const shown = beginsLog || seal === null ? header.restores : shownRestores(header, bound);
  if (shown !== undefined) takeRestores(verifier, header, shown, seal);
  const knowsEpochs = (beginsLog && fits) || shown !== undefined;
  if (seal !== null) {
    const own = header.keys === undefined && header.public_key !== null ? parseVerifierKey(header.public_key) : null;
    const first = own?.publicKey ?? led;
    verifier.seals?.proved(seal, sealed ? through : null, knowsEpochs, beginsLog && fits ? first : null);
  }
  for (const anchor of verifier.seals?.takeAnchors() ?? []) {
    // In a whole log from event 0, earlier seals were compared already, and the log ends at the export's event.
    const run = beginsLog ? runOf(verifier, bound) : null;
    const end = run?.end === anchor.size ? { size: anchor.size, root: run.root(), own: null } : null;
    const ours = sealedWorkspace(anchor) === header.workspace_id;
    if (ours && verifier.seals?.takeOtherEpoch(anchor)) continue;
    const root = end ?? (sealed ? { ...seal, own: seal } : null);
    if (isLog && anchor.size > event.seq + 1 && ours) {
      verifier.seals?.anchor(anchor);
    } else if (root === null) verifier.seals?.cannotTell(ANOTHER_SEAL);
    else compare(verifier, header, anchor, root, through);
  }
}

/**
 * Returns the restores that a sealed export lists.
 * @throws EventFormatError when their number differs from the one in its event
 */
function shownRestores({ restores }: ExportHeader, { binding: { said } }: Bound) {
  const count = restores?.length ?? 0;
  if (said.restores !== count) {
    throw new EventFormatError(`the export shows ${count} restores, and its event states ${said.restores}`);
  }
  return restores ?? [];
}

/** Adds the restores of the log, which an export that does not contain all events lists separately. */
function takeRestores(verifier: LogVerifier, header: ExportHeader, shown: ExportRestores, seal: Seal | null) {
  let lastSeq = -1;
  const restores = shown.map(({ event: one, path }) => {
    const stored = storedFromPresented(one);
    const event = parseEvent(stored.canonical);
    const hash = eventHash(stored.canonical);
    const found = genuineDetails(stored, event);
    const restore = "said" in found ? declaredRestore(event, found.said) : null;
    const genuine = stored.hash === hash;
    const related = event.workspace_id === header.workspace_id && event.seq > lastSeq;
    const included = seal !== null && verifyInclusion(bytes(hash), event.seq, seal, path.map(bytes));
    if (restore === null || !genuine || !related || !included) {
      throw new EventFormatError("a restore is not one of the sealed log");
    }
    lastSeq = event.seq;
    return restore;
  });
  verifier.restores.length = 0;
  verifier.seals?.forgetRestores();
  for (const restore of restores) verifier.takeRestore(restore);
}

/**
 * Compares a seal that the auditor kept with a tree whose root is known from all its events, or from the seal `own`.
 */
function compare(
  verifier: LogVerifier,
  header: ExportHeader,
  anchor: Seal,
  { size, root, own }: { size: number; root: Uint8Array; own: Seal | null },
  through: number | null,
): void {
  if (sealedWorkspace(anchor) !== header.workspace_id || anchor.size === size) {
    verifier.seals?.compareAnchor(anchor, root, header.workspace_id, through, own);
  } else verifier.seals?.cannotTell(ANOTHER_SEAL);
}

function ownSeal(verifier: LogVerifier, header: ExportHeader): Seal | null {
  if (header.seal === null) {
    if ((header.proof ?? null) !== null || header.public_key !== null) {
      fail(verifier, "seal_invalid", "the export has a proof or a key, and no seal");
    }
    return null;
  }
  if (header.public_key === null) {
    fail(verifier, "seal_invalid", "the export has a seal, and no key that signed it");
  }
  const seal = readSeal(verifier, header, header.seal);
  try {
    if (header.public_key !== null && seal !== null) {
      const { publicKey } = parseVerifierKey(header.public_key);
      verifier.seals?.offerKey(publicKey);
      // An edited seal does not say anything about the events.
      if (checkSeal(seal, publicKey) !== "good") {
        fail(verifier, "seal_signature", "the key that came with the seal did not sign it");
        return null;
      }
    }
    return seal;
  } catch (error) {
    if (!(error instanceof NoteError)) throw error;
    fail(verifier, "seal_invalid", `the export's key is not in order: ${error.message}`);
    return null;
  }
}

/** Adds the keys from the log's first key to the key of the export. Returns the first; null when they do not lead to it. */
function followKeys(verifier: LogVerifier, header: ExportHeader, chain: KeyChain): Uint8Array | null {
  try {
    const keys = readKeyChain(header.workspace_id, chain);
    // Keys are compared by their bytes, since a restore after the announcement gave the key another name.
    const own = header.public_key === null ? null : parseVerifierKey(header.public_key).publicKey;
    if (own === null || !sameHash(keys.at(-1) as Uint8Array, own)) {
      throw new KeyChainError("the announcements of the log's keys do not lead to the export's key");
    }
    verifier.seals?.follow(keys);
    return keys[0] ?? null;
  } catch (error) {
    if (!(error instanceof KeyChainError || error instanceof NoteError)) throw error;
    fail(verifier, "seal_invalid", error.message);
    return null;
  }
}

function readSeal(verifier: LogVerifier, header: ExportHeader, note: string): Seal | null {
  try {
    const seal = parseSeal(note);
    if (sealedWorkspace(seal) === header.workspace_id) return seal;
    fail(verifier, "seal_invalid", "the export's seal is of another workspace");
  } catch (error) {
    if (!(error instanceof NoteError)) throw error;
    fail(verifier, "seal_invalid", `the export's seal is not in order: ${error.message}`);
  }
  return null;
}

function isConnected(verifier: LogVerifier, header: ExportHeader, seal: Seal, bound: Bound): boolean {
  const { binding, after } = bound;
  const { proof } = header;
  if (seal.size !== binding.event.seq + 1) {
    fail(verifier, "seal_invalid", "the export's seal does not end with the event of the export");
    return false;
  }
  const path = (proof?.binding ?? []).map(bytes);
  let proved = verifyInclusion(bytes(binding.hash), binding.event.seq, seal, path);
  proved &&= hexOf(rootBefore(path)) === binding.said.tree_root;
  if (proof !== null && header.agent_id === null && "before" in proof) {
    const run = runOf(verifier, bound);
    proved &&=
      run !== null && verifyRange(run, seal, { before: proof.before.map(bytes), after: proof.after.map(bytes) });
  } else if (proof !== null && header.agent_id !== null && "path" in proof) {
    proved &&= verifyInclusion(bytes(after.hash), after.event.seq, seal, proof.path.map(bytes));
  } else proved = false;
  if (!proved) fail(verifier, "proof_invalid", "the export's events are not the ones that were sealed");
  return proved;
}

/** Returns the leaves from the event before the exported ones to the event after them; null when there is a gap. */
function runOf({ tree, first }: LogVerifier, { before, after }: Bound): CompactRange | null {
  const events = first === null ? null : tree;
  const run = new CompactRange((before?.event ?? first?.event ?? after.event).seq);
  if (before !== null) run.append(bytes(before.hash));
  if (events !== null && events.start !== run.end) return null;
  if (events !== null) run.appendRange(events);
  if (run.end !== after.event.seq) return null;
  run.append(bytes(after.hash));
  return run;
}

function fail(verifier: LogVerifier, code: ProblemCode, message: string): void {
  verifier.report(code, null, null, message);
}

const bytes = (hex: string): Uint8Array => Buffer.from(hex, "hex");
