/** The retention sweep: what is past its retention is removed, one event per agent and sweep. */

import { removeExpired } from "../state/entries.ts";
import type { Reader } from "../store/transaction.ts";
import type { Principal } from "./contract.ts";
import { answered } from "./operation.ts";
import type { Job, WorkspaceWriter } from "./perform.ts";

/** Versions removed in one transaction, so that a large sweep never holds up other operations. */
const VERSIONS_AT_ONCE = 5_000;

/** Agents whose configuration in force has a retention period. */
export async function agentsWithRetention(reader: Reader): Promise<string[]> {
  const rows = await reader.all<[string]>(
    `SELECT a.agent_id FROM agents a JOIN configs c ON c.agent = a.first_seq
     WHERE c.version = (SELECT max(version) FROM configs WHERE agent = a.first_seq)
       AND c.config ->> '$.policies.retention_days' IS NOT NULL`,
  );
  return rows.map(([agentId]) => agentId);
}

function sweepJob(workspaceId: string, agentId: string, onRemoved: (versions: number) => void): Job {
  const principal: Principal = { actor: "system", workspaceId, scope: "full", agents: null };
  return {
    operation: "data.expire",
    principal,
    async run(tx, context) {
      const agent = await context.agents.find(tx, agentId);
      if (agent === null) return null;
      const { removed, live } = await removeExpired(tx, agent, context.nowMs, VERSIONS_AT_ONCE);
      onRemoved(removed);
      if (removed === 0) return null;
      return answered(agent, { count: removed }, "{}", { change: { liveEntries: agent.liveEntries - live } });
    },
  };
}

/** Sweeps every agent of a workspace until nothing expired is left. */
export async function sweepWorkspace(reader: Reader, writer: WorkspaceWriter): Promise<void> {
  for (const agentId of await agentsWithRetention(reader)) {
    for (let removed = VERSIONS_AT_ONCE; removed === VERSIONS_AT_ONCE; ) {
      removed = 0;
      const job = sweepJob(writer.workspaceId, agentId, (versions) => {
        removed = versions;
      });
      await writer.perform([job]);
    }
  }
}
