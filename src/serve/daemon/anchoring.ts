/** Connects what follows seals with the daemon: anchors and state roots with its workspaces, its clients and its log. */

import { wholeText } from "../../core/long-text.ts";
import { jsonOf, type Reply, systemPrincipal, unrecorded, type WorkspaceClient } from "../../core/writer/contract.ts";
import { messageOf } from "../../failure.ts";
import type { Anchors } from "../../follow/anchors/anchors.ts";
import type { AnchorEvents } from "../../follow/anchors/queue.ts";
import { AnchorFailed } from "../../follow/anchors/targets.ts";
import { type RootPeriod, StateRoots } from "../../follow/state-roots.ts";
import type { Clock } from "../../ids.ts";
import { SYSTEM } from "../../log/event.ts";
import { isReport, STATE_ROOT } from "../../operations.ts";
import type { WorkspacePool } from "../threads/pool.ts";
import type { Logger } from "./logger.ts";

/** Returns a consistency proof from a workspace. @throws {AnchorFailed} when the workspace cannot make one now */
export async function proveConsistency(workspaces: WorkspaceClient, workspaceId: string, from: number, to: number) {
  const { answer } = await workspaces.perform({
    name: "audit.consistency",
    input: { from, to },
    principal: systemPrincipal(workspaceId),
  });
  if (answer.kind !== "json") throw new AnchorFailed("the workspace could not make the consistency proof");
  const { proof } = JSON.parse(wholeText(answer.body)) as { proof: string[] };
  return proof.map((hash) => Buffer.from(hash, "hex"));
}

/** Returns the follower that has state roots recorded. */
export function stateRootsOf(pool: WorkspacePool, period: RootPeriod, clock: Clock, logger: Logger): StateRoots {
  return new StateRoots(
    {
      async compute(workspaceId, input) {
        const principal = systemPrincipal(workspaceId);
        return jsonOf((await pool.perform({ name: "state.compute", input, principal })).answer);
      },
      async record(workspaceId, details) {
        const reply = await pool.record(workspaceId, { operation: STATE_ROOT, actor: SYSTEM, details });
        if (reply?.auditId == null) throw new Error("a state root could not be recorded");
      },
      clock,
      failed(error, failures) {
        if ((failures & (failures - 1)) === 0)
          logger.warn("a state root is not recorded yet", { reason: messageOf(error), attempt: failures });
      },
    },
    period,
  );
}

/** Returns a client of the workspaces that also answers requests about anchors. */
export function withAnchors(workspaces: WorkspaceClient, anchors: Anchors): WorkspaceClient {
  return {
    perform: (request) =>
      isReport(request.name) ? reportAnchors(anchors, request.principal.workspaceId) : workspaces.perform(request),
  };
}

async function reportAnchors(anchors: Anchors, workspaceId: string): Promise<Reply<never>> {
  const states = await anchors.of(workspaceId);
  const shown = states.map(({ kind, place, receipt, waiting }) => ({
    kind,
    name: place,
    anchored_at: moment(receipt?.takenMs),
    seal_size: receipt?.size ?? null,
    sealed_at: moment(receipt?.sealedMs),
    pending_since: moment(waiting?.sinceMs),
    failures: waiting?.failures ?? 0,
  }));
  return unrecorded({ kind: "json", status: 200, body: JSON.stringify({ anchors: shown }) });
}

const moment = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());

/** Logs the first failure of a target at once, and further ones each time their number doubles. */
export function anchorLog(logger: Logger): AnchorEvents {
  const describe = (lag: { waiting: number; sinceMs: number | null; dropped: number }) => ({
    waiting: lag.waiting,
    waiting_since: lag.sinceMs === null ? null : new Date(lag.sinceMs).toISOString(),
    dropped: lag.dropped,
  });
  return {
    onFailure(target, reason, attempt, lag) {
      if ((attempt & (attempt - 1)) !== 0) return;
      logger.warn("cannot anchor a seal", { sink: target, reason, attempt, ...describe(lag) });
    },
    onRecovery: (target, lag) => logger.info("seals are anchored again", { sink: target, ...describe(lag) }),
  };
}
