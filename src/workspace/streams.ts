/** What a reader thread streams once the operation that asked for it is recorded. Plain data. */
import type { AuditScope, ExportFormat, TimeWindow } from "../operation-facts.ts";

export type StreamPlan =
  | {
      kind: "export";
      scope: AuditScope;
      format: ExportFormat;
      window: TimeWindow;
      /** Events before this position only: the trail as it was when the export began. */
      beforeSeq: number;
      /** The seal over all of them; null when the workspace could not be sealed. */
      seal: { size: number; note: string; verifierKey: string } | null;
      exportedAt: string;
      /** Events that the client has already; 0 for an export from its beginning. */
      received: number;
    }
  | {
      /** New events as they come. */
      kind: "tail";
      /** Null for everything in the workspace. */
      agentId: string | null;
      /** The last position that is not sent: `agent_seq` of an agent, else `seq`. */
      after: number;
    }
  | {
      kind: "checkpoint";
      checkpointId: string;
      /** The members of the answer before `state`, as JSON text without the closing brace. */
      head: string;
      /** Entries written before this moment are past their retention, ms. */
      cutoffMs: number;
    };
