/**
 * Events with their proofs, receipts, which can be verified on their own, and the seals to which both lead.
 *
 * Requests for the newest seal, the sealing keys and consistency proofs are not recorded. They concern the workspace as
 * a whole, and monitors repeat them constantly. If fetching a seal were an event, every seal would need another one.
 */

import { readEvent } from "../../core/rows/log/events.ts";
import { newestSeal, type StoredSeal, sealingKeys } from "../../core/rows/log/seals.ts";
import { treeReader, treeRoot } from "../../core/rows/log/tree.ts";
import { publicKeyPem } from "../../core/seals/keyring.ts";
import type { Answer } from "../../core/writer/contract.ts";
import { answered, type Context, finished, type LookContext, notFound, type Run } from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
import { VOCABULARY } from "../../log/event.ts";
import { fingerprintOf, parseVerifierKey } from "../../log/note.ts";
import { consistencyProof, inclusionProof } from "../../log/proof.ts";
import { makeReceipt } from "../../log/receipt.ts";
import { hexOf } from "../../log/rows.ts";
import type { OperationInputs } from "../../operations.ts";
import { Problem } from "../../problem.ts";
import { recordedOfNobody } from "../../screen/decide.ts";
import type { Reader } from "../../store/transaction.ts";
import { announcedKeys } from "./announced-keys.ts";

const PLAIN_TEXT = "text/plain; charset=utf-8";

const NO_EVENT =
  "There is no audit event with this id. GET /v1/audit lists the events of an agent. Pruned events are in the export that the operator kept, from which `governd receipt` makes receipts.";
const NOT_SEALED = "The event cannot be sealed now. The operator's log says why; try again later.";

/** Returns the event and its agent; null when there is no such event that the request may find. */
export async function findAllowed(reader: Reader, context: Context, eventId: string) {
  const event = await readEvent(reader, eventId, context.principal.agents);
  if (event === undefined) return null;
  return { event, agent: event.agentId === null ? null : await context.agents.find(event.agentId) };
}

export async function noEvent({ agents }: Context, id: string) {
  const details = recordedOfNobody("event_id", id, await agents.policiesOfWorkspace());
  return notFound(null, null, "audit_event_not_found", NO_EVENT, details);
}

export const readAuditEvent: Run<"audit.read"> = async (reader, context, { eventId, proof }) => {
  const found = await findAllowed(reader, context, eventId);
  if (found === null) return noEvent(context, eventId);
  const { event, agent } = found;
  if (!proof) return answered(agent, { event_id: eventId }, event.json);
  const proved = JSON.stringify(await presentProof(reader, context, event.seq));
  return answered(agent, { event_id: eventId, proof }, `${event.json.slice(0, -1)},"proof":${proved}}`);
};

/** Returns the proof that connects an event with a seal; null when the event cannot be sealed now. */
async function presentProof(reader: Reader, context: Context, seq: number): Promise<JsonObject | null> {
  const seal = await sealOver(reader, context, seq);
  if (seal === null) return null;
  const path = (await inclusionProof(seq, seal.size, treeReader(reader))).map(hexOf);
  return { leaf_index: seq, tree_size: seal.size, path, seal: seal.note };
}

export const giveReceipt: Run<"audit.receipt"> = async (reader, context, { eventId, format }) => {
  const found = await findAllowed(reader, context, eventId);
  if (found === null) return noEvent(context, eventId);
  const { event, agent } = found;
  const details = { event_id: eventId, ...(format === undefined ? {} : { format }) };
  const seal = await sealOver(reader, context, event.seq);
  if (seal === null) return notFound(agent, null, "seal_not_found", NOT_SEALED, details);
  const exact = format === "tlog-proof";
  const path = await inclusionProof(event.seq, seal.size, treeReader(reader));
  return finished(agent, details, {
    kind: "text",
    contentType: PLAIN_TEXT,
    filename: `receipt-${eventId}.${exact ? "tlog-proof" : "txt"}`,
    body: makeReceipt(event.stored, path, seal.note, {
      exact,
      vocabulary: VOCABULARY,
      ...(await announcedKeys(reader, seal.size)),
    }),
  });
};

/** Returns a seal that covers an event: the newest seal, or one that is made now. */
async function sealOver(reader: Reader, context: Context, seq: number): Promise<StoredSeal | null> {
  const newest = await newestSeal(reader);
  return newest !== null && newest.size > seq ? newest : context.seal();
}

const NO_SEAL = "There is no seal yet. The first one is made soon after the first event; try again later.";

async function requireSeal(reader: Reader): Promise<StoredSeal> {
  const seal = await newestSeal(reader);
  if (seal === null) throw new Problem("seal_not_found", NO_SEAL);
  return seal;
}

/** Returns the signed note of the newest seal. */
export async function showSeal(reader: Reader): Promise<Answer> {
  const { note } = await requireSeal(reader);
  return { kind: "text", contentType: PLAIN_TEXT, body: note };
}

/** Returns the present sealing key and the earlier ones. */
export async function showKey(reader: Reader): Promise<Answer> {
  const shown = (await sealingKeys(reader)).map(({ announcedSeq, verifierKey }) => {
    const { name, publicKey } = parseVerifierKey(verifierKey);
    return {
      origin: name,
      verifier_key: verifierKey,
      public_key: publicKeyPem(publicKey),
      fingerprint: fingerprintOf(publicKey),
      announced_seq: announcedSeq,
    };
  });
  const current = shown.pop();
  if (current === undefined) throw new Problem("internal", "The workspace names no sealing key.");
  return { kind: "json", status: 200, body: JSON.stringify({ ...current, earlier: shown }) };
}

/**
 * Returns the proof that the tree of `from` events is the beginning of the tree of `to` events. Without `to`, the newer
 * tree is that of the newest seal.
 */
export async function showConsistency(
  reader: Reader,
  _context: LookContext,
  input: OperationInputs["audit.consistency"],
): Promise<Answer> {
  const seal = await requireSeal(reader);
  const { from, to = seal.size } = input;
  if (to > seal.size) {
    throw new Problem("invalid_request", `"to" is beyond the newest seal, which covers ${seal.size} events.`);
  }
  if (from > to) throw new Problem("invalid_request", '"from" is greater than "to": send the smaller size as "from".');
  // The root is in base64, as in seals, so that people can compare the two.
  const tree = async (size: number) => ({ size, root: Buffer.from(await treeRoot(reader, size)).toString("base64") });
  const proof = (await consistencyProof(from, to, treeReader(reader))).map(hexOf);
  const body = JSON.stringify({ from: await tree(from), to: await tree(to), proof });
  return { kind: "json", status: 200, body };
}
