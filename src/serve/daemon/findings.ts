/** Counts findings over time for the dashboard. A count is recorded like any view of a workspace's trail. */

import { wholeText } from "../../core/long-text.ts";
import { INTERVALS } from "../../core/rows/counts/activity.ts";
import type { Clock } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { ActivityInterval } from "../../operation-facts.ts";
import type { AccountDeps } from "../../ops/accounts/routes/contract.ts";
import { Problem } from "../../problem.ts";
import type { WorkspacePool } from "../threads/pool.ts";

/** How many intervals of each length are counted, including the present one. */
const COUNTED: Readonly<Record<ActivityInterval, number>> = { minute: 60, hour: 24, day: 30 };

export const findingsFrom =
  (pool: Pick<WorkspacePool, "perform">, clock: Clock): AccountDeps["findings"] =>
  async ({ workspaceId, accountId }, interval) => {
    const startMs = clock() - (COUNTED[interval] - 1) * INTERVALS[interval].ms;
    const { answer, auditId } = await pool.perform({
      name: "audit.activity",
      principal: { actor: accountId, workspaceId, scope: "auditor", agents: null },
      input: { scope: { scope: "workspace" }, window: { startMs }, interval, byDetector: true },
    });
    if (answer.kind === "problem") throw new Problem(answer.code, answer.detail);
    if (answer.kind !== "json") throw new Error("counts of findings are JSON");
    return { body: JSON.parse(wholeText(answer.body)) as JsonObject, auditId };
  };
