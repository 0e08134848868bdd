/** Operations on the audit trail itself. */

import type { JsonObject, JsonValue } from "../../json.ts";
import { encodeCursor, encodeExportCursor, listFilters } from "../../lists.ts";
import type { AuditScope } from "../../operation-facts.ts";
import type { OperationInputs } from "../../operations.ts";
import { readAgent } from "../../state/agents.ts";
import { NO_EFFECT } from "../../state/apply.ts";
import { listEvents } from "../../state/events.ts";
import { sealingKey, sealOfSize } from "../../state/seals.ts";
import type { Reader } from "../../store/transaction.ts";
import {
  answered,
  type Context,
  type Inquiry,
  knownAgent,
  notFound,
  type Operation,
  type OperationsOf,
  type QueryContext,
} from "../../workspace/operation.ts";
import { countActivityOver } from "./activity.ts";
import { exportHeaders } from "./export.ts";
import { streamAudit } from "./live.ts";
import { giveReceipt, readAuditEvent } from "./proofs.ts";
import { type VerificationAnswer, verifyTrail } from "./verification.ts";

const NO_AGENT = "This agent never began: nothing was written, configured or checkpointed for it.";

/** The chain that an audit operation on a scope is recorded in. */
async function scopeAgent(reader: Reader, context: Context, scope: AuditScope) {
  return "agentId" in scope ? knownAgent(reader, context, scope.agentId) : null;
}

const askedScope = (scope: AuditScope): JsonObject =>
  "agentId" in scope ? { agent_id: scope.agentId } : { scope: scope.scope };

/** A page of events, each as JSON text. */
interface FoundEvents extends JsonObject {
  events: string[];
  hasMore: boolean;
  lastSeq: number;
}

type QueryInput = OperationInputs["audit.query"];

async function queryEvents(reader: Reader, _context: QueryContext, input: QueryInput): Promise<FoundEvents> {
  const agentId = "agentId" in input.scope ? input.scope.agentId : null;
  const { limit, offset, after } = input.page;
  const rows = await listEvents(reader, {
    agentId,
    operations: input.operations ?? null,
    result: input.result ?? null,
    window: input.window,
    before: after === undefined ? null : Number(after),
    offset,
    limit: limit + 1,
  });
  const page = rows.slice(0, limit);
  return {
    events: page.map((row) => row.json),
    hasMore: rows.length > limit,
    lastSeq: page.at(-1)?.agentSeq ?? 0,
  };
}

const queryAudit: Inquiry<"audit.query", FoundEvents & JsonValue> = {
  query: queryEvents,
  async record(reader, context, input, found) {
    const agent = await scopeAgent(reader, context, input.scope);
    const cursor = found.hasMore ? encodeCursor(listFilters("audit.query", input), found.lastSeq) : null;
    const asked = agent === null ? askedScope(input.scope) : {};
    return answered(
      agent,
      { ...asked, ...askedFilters(input), count: found.events.length },
      `{"data":[${found.events.join(",")}],"has_more":${found.hasMore},"next_cursor":${JSON.stringify(cursor)}}`,
    );
  },
};

function askedFilters(input: QueryInput): JsonObject {
  const asked: JsonObject = {};
  if (input.operations !== undefined) asked.operations = [...input.operations];
  if (input.result !== undefined) asked.result = input.result;
  if (input.window.startMs !== undefined) asked.start_time = new Date(input.window.startMs).toISOString();
  if (input.window.endMs !== undefined) asked.end_time = new Date(input.window.endMs).toISOString();
  return asked;
}

/** Null when the agent never began. */
type FoundVerification = VerificationAnswer | null;

const verifyAudit: Inquiry<"audit.verify", FoundVerification & JsonValue> = {
  long: true,
  async query(reader, _context, { scope }) {
    if ("agentId" in scope && (await readAgent(reader, scope.agentId)) === null) return null as never;
    return (await verifyTrail(reader, "agentId" in scope ? scope.agentId : null)) as never;
  },
  async record(reader, context, input, found: FoundVerification) {
    if (found === null) {
      const agentId = "agentId" in input.scope ? input.scope.agentId : null;
      return notFound(null, agentId, "agent_not_found", NO_AGENT, {});
    }
    const agent = await scopeAgent(reader, context, input.scope);
    const details = {
      valid: found.valid,
      chain_intact: found.chain_intact,
      events_checked: found.events_checked,
    };
    const asked = agent === null ? askedScope(input.scope) : {};
    const body = JSON.stringify({ ...found, verified_at: context.timestamp });
    return answered(agent, { ...asked, ...details }, body);
  },
};

const exportAudit: Operation<"audit.export"> = async (reader, context, input) => {
  const { scope, format, window, resume } = input;
  const agent = await scopeAgent(reader, context, scope);
  if ("agentId" in scope && agent === null) {
    return notFound(null, scope.agentId, "agent_not_found", NO_AGENT, { format });
  }
  const asked = agent === null ? askedScope(scope) : {};
  const seal = resume === undefined ? await context.seal() : await sealOfSize(reader, resume.beforeSeq);
  const verifierKey = await sealingKey(reader);
  const { exportedAt, received, ...end } = resume ?? {
    beforeSeq: context.seq,
    exportedAt: context.timestamp,
    received: 0,
  };
  // A cursor is no secret: it cannot reach beyond what was there when this was asked.
  const beforeSeq = Math.min(end.beforeSeq, context.seq);
  const plan = {
    kind: "export" as const,
    scope,
    format,
    window,
    beforeSeq,
    seal: seal === null || verifierKey === null ? null : { size: seal.size, note: seal.note, verifierKey },
    exportedAt,
    received,
  };
  return {
    agent,
    result: "ok",
    details: {
      ...asked,
      ...askedFilters({ scope, window } as QueryInput),
      format,
      ...(received > 0 ? { received } : {}),
    },
    effect: NO_EFFECT,
    answer: {
      kind: "stream",
      ...exportHeaders(plan, context.workspaceId),
      cursor: encodeExportCursor({ scope, format, window }, beforeSeq, exportedAt),
      body: plan,
    },
  };
};

/** What runs each operation of this feature. */
export const auditOperations: OperationsOf<"audit"> = {
  "audit.read": readAuditEvent,
  "audit.receipt": giveReceipt,
  "audit.export": exportAudit,
  "audit.stream": streamAudit,
  "audit.query": queryAudit,
  "audit.verify": verifyAudit,
  "audit.activity": countActivityOver,
};
