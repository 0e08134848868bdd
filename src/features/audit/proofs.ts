/** Proofs about single events: under the newest seal, and as receipts that stand alone. */
import type { JsonObject } from "../../json.ts";
import { inclusionProof } from "../../log/proof.ts";
import { makeReceipt } from "../../log/receipt.ts";
import { type FoundEvent, readEvent } from "../../state/events.ts";
import { newestSeal, type StoredSeal } from "../../state/seals.ts";
import { treeReader } from "../../state/tree.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
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

export const readAuditEvent: Operation<"audit.read"> = async (tx, context, { eventId, proof }) => {
  const event = await readEvent(tx, eventId);
  if (event === undefined) {
    return notFound(null, null, "audit_event_not_found", NO_EVENT, { event_id: eventId });
  }
  requireAgentAllowed(context.principal, event.agentId);
  const agent = event.agentId === null ? null : await knownAgent(tx, context, event.agentId);
  if (!proof) return answered(agent, { event_id: eventId }, event.json);
  const proved = JSON.stringify(await presentProof(tx, context, event.seq));
  return answered(agent, { event_id: eventId, proof }, `${event.json.slice(0, -1)},"proof":${proved}}`);
};

/** What connects an event with the newest seal; null when it cannot be sealed just now. */
async function presentProof(tx: Transaction, context: Context, seq: number): Promise<JsonObject | null> {
  const seal = await sealOver(tx, context, seq);
  if (seal === null) return null;
  const path = await inclusionProof(seq, seal.size, treeReader(tx));
  return {
    leaf_index: seq,
    tree_size: seal.size,
    path: path.map((hash) => Buffer.from(hash).toString("hex")),
    seal: seal.note,
  };
}

export const giveReceipt: Operation<"audit.receipt"> = async (tx, context, { eventId }) => {
  const event = await readEvent(tx, eventId);
  if (event === undefined) {
    return notFound(null, null, "audit_event_not_found", NO_EVENT, { event_id: eventId });
  }
  requireAgentAllowed(context.principal, event.agentId);
  const agent = event.agentId === null ? null : await knownAgent(tx, context, event.agentId);
  const details = { event_id: eventId };
  const seal = await sealOver(tx, context, event.seq);
  if (seal === null) return notFound(agent, null, "seal_not_found", NOT_SEALED, details);
  return {
    agent,
    result: "ok",
    details,
    answer: {
      kind: "text",
      contentType: "text/plain; charset=utf-8",
      filename: `receipt-${eventId}.txt`,
      body: await receiptText(tx, event, seal),
    },
  };
};

async function receiptText(reader: Reader, { stored, seq }: FoundEvent, seal: StoredSeal): Promise<string> {
  return makeReceipt(stored, await inclusionProof(seq, seal.size, treeReader(reader)), seal.note);
}

/** A seal that covers an event: the newest one, or one that is made now. */
async function sealOver(tx: Transaction, context: Context, seq: number): Promise<StoredSeal | null> {
  const newest = await newestSeal(tx);
  return newest !== null && newest.size > seq ? newest : context.seal();
}
