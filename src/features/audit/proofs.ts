/** Proofs about single events: under the newest seal, and as receipts that stand alone. */
import type { JsonObject } from "../../json.ts";
import { inclusionProof } from "../../log/proof.ts";
import { makeReceipt } from "../../log/receipt.ts";
import { NO_EFFECT } from "../../state/apply.ts";
import { type FoundEvent, readEvent } from "../../state/events.ts";
import { newestSeal, type StoredSeal } from "../../state/seals.ts";
import { treeReader } from "../../state/tree.ts";
import type { Reader } from "../../store/transaction.ts";
import {
  answered,
  type Context,
  knownAgent,
  notFound,
  type Operation,
  requireAgentAllowed,
} from "../../workspace/operation.ts";

const NO_EVENT = "There is no audit event with this id. GET /v1/audit lists the events of an agent.";
const NOT_SEALED = "The event cannot be sealed just now. The operator's log says why; try again later.";

export const readAuditEvent: Operation<"audit.read"> = async (reader, context, { eventId, proof }) => {
  const event = await readEvent(reader, eventId);
  if (event === undefined) {
    return notFound(null, null, "audit_event_not_found", NO_EVENT, { event_id: eventId });
  }
  requireAgentAllowed(context.principal, event.agentId);
  const agent = event.agentId === null ? null : await knownAgent(reader, context, event.agentId);
  if (!proof) return answered(agent, { event_id: eventId }, event.json);
  const proved = JSON.stringify(await presentProof(reader, context, event.seq));
  return answered(agent, { event_id: eventId, proof }, `${event.json.slice(0, -1)},"proof":${proved}}`);
};

/** What connects an event with the newest seal; null when it cannot be sealed just now. */
async function presentProof(reader: Reader, context: Context, seq: number): Promise<JsonObject | null> {
  const seal = await sealOver(reader, context, seq);
  if (seal === null) return null;
  const path = await inclusionProof(seq, seal.size, treeReader(reader));
  return {
    leaf_index: seq,
    tree_size: seal.size,
    path: path.map((hash) => Buffer.from(hash).toString("hex")),
    seal: seal.note,
  };
}

export const giveReceipt: Operation<"audit.receipt"> = async (reader, context, { eventId }) => {
  const event = await readEvent(reader, eventId);
  if (event === undefined) {
    return notFound(null, null, "audit_event_not_found", NO_EVENT, { event_id: eventId });
  }
  requireAgentAllowed(context.principal, event.agentId);
  const agent = event.agentId === null ? null : await knownAgent(reader, context, event.agentId);
  const details = { event_id: eventId };
  const seal = await sealOver(reader, context, event.seq);
  if (seal === null) return notFound(agent, null, "seal_not_found", NOT_SEALED, details);
  return {
    agent,
    result: "ok",
    details,
    effect: NO_EFFECT,
    answer: {
      kind: "text",
      contentType: "text/plain; charset=utf-8",
      filename: `receipt-${eventId}.txt`,
      body: await receiptText(reader, event, seal),
    },
  };
};

async function receiptText(reader: Reader, { stored, seq }: FoundEvent, seal: StoredSeal): Promise<string> {
  return makeReceipt(stored, await inclusionProof(seq, seal.size, treeReader(reader)), seal.note);
}

/** A seal that covers an event: the newest one, or one that is made now. */
async function sealOver(reader: Reader, context: Context, seq: number): Promise<StoredSeal | null> {
  const newest = await newestSeal(reader);
  return newest !== null && newest.size > seq ? newest : context.seal();
}
