/** Records a state root and makes proofs, as the daemon does, in a workspace that a test has open. */

import { wholeText } from "../../src/core/long-text.ts";
import { jsonOf, type Principal, systemPrincipal } from "../../src/core/writer/contract.ts";
import { recordingJob } from "../../src/core/writer/job.ts";
import type { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { NO_SITE } from "../../src/core/writer/site.ts";
import type { ComputedRoot } from "../../src/follow/state-roots.ts";
import type { JsonValue } from "../../src/json.ts";
import { SYSTEM, seesSetAside } from "../../src/log/event.ts";
import { type OperationInputs, STATE_ROOT } from "../../src/operations.ts";
import { jobOf, lookOf } from "../../src/serve/threads/registry.ts";
import type { Reader } from "../../src/store/transaction.ts";

/** A workspace that a test has open. */
interface Open {
  writer: WorkspaceWriter;
  connection: Reader;
}

const aroundOf = ({ writer, connection }: Open, principal: Principal) => ({
  ...{ workspaceId: writer.workspaceId, principal, nowMs: writer.nowMs(), site: NO_SITE },
  seesSetAside: seesSetAside(principal.actor),
  ...{ apart: <T>(read: (reader: Reader) => Promise<T>) => read(connection) },
  ...{ indexes: undefined as never, queryEmbedder: null },
});

/** What a period of a millisecond leaves to be recorded: the newest root is always of an earlier one. */
const EVERY_TIME = { periodMs: 1, unchangedThrough: -1 };

export async function computedRoot(open: Open, input: OperationInputs["state.compute"] = EVERY_TIME) {
  const around = aroundOf(open, systemPrincipal(open.writer.workspaceId));
  return jsonOf<ComputedRoot>((await lookOf("state.compute")(open.connection, around, input)) as never);
}

/**
 * Records the root of the present entries, unless nothing has changed since the newest one. Returns the id of the event.
 * @param meanwhile is done between the two, as others do while the daemon computes
 */
export async function recordRoot(open: Open, meanwhile?: () => Promise<unknown>): Promise<string | null> {
  const found = await computedRoot(open);
  await meanwhile?.();
  if (found.is !== "root") return null;
  const { is: _, ...details } = found;
  const event = { operation: STATE_ROOT, actor: SYSTEM, details } as const;
  const [reply] = await open.writer.perform([recordingJob(open.writer.workspaceId, event)]);
  if (!reply?.auditId) throw new Error(JSON.stringify(reply));
  return reply.auditId;
}

/** Performs `proof.create`. Returns the answer: the file as JSON, or a problem. */
export async function prove(open: Open, principal: Principal, input: OperationInputs["proof.create"]) {
  const found = (await lookOf("proof.create")(open.connection, aroundOf(open, principal), input)) as JsonValue;
  const [reply] = await open.writer.perform([jobOf({ name: "proof.create", input, principal }, found)]);
  if (reply === undefined) throw new Error("no reply");
  return reply.answer;
}

/** Returns the file of a proof. */
export async function proofOf(open: Open, principal: Principal, input: OperationInputs["proof.create"]) {
  const answer = await prove(open, principal, input);
  if (answer.kind !== "json") throw new Error(JSON.stringify(answer));
  return `${wholeText(answer.body)}\n`;
}
