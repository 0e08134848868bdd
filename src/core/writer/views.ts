/**
 * Records what people look at in the dashboard. Looking is not an activity of an agent, and one look takes many
 * requests. So the first request appends one event to the workspace's own chain, which covers what the same person
 * looks at of the same agent within the next minutes, in the same session, which the event states. Other versions that are shown have an event of their own, which names them.
 */
import type { JsonObject } from "../../json.ts";
import { recallIn } from "../../log/recall.ts";
import { isLooking } from "../../operations.ts";
import type { Reader } from "../../store/transaction.ts";
import { HAS_ID, positionedId } from "../rows/log/events.ts";
import type { Job } from "./job.ts";
import type { Outcome } from "./operation.ts";

/** How long a view lasts, ms. */
const VIEW_MS = 600_000;
/** The most views that are remembered. When the oldest is forgotten, its next request is recorded again. */
const MOST_VIEWS = 4_096;

/** What a person looks at. */
export interface View {
  /** A key for the view: who looks at what. */
  name: string;
  details: JsonObject;
}

/** Returns the view to which an operation belongs; null for an operation that has its own event. */
export function viewOf({ operation, principal, retry }: Job, { agent, result, effect, details, answer }: Outcome) {
  if (principal.person !== true || retry !== undefined || effect.kind !== "none" || !isLooking(operation)) return null;
  if (result !== "ok" && result !== "not_found") return null;
  const agentId = agent?.agentId ?? details.agent_id;
  // The entity tag and not the key, since this event outlives an erasure of the key. The event of the write names the
  // key.
  const entry = operation.startsWith("data.read") && answer.kind === "json" ? answer.etag : undefined;
  const shown: JsonObject = {
    ...(typeof agentId === "string" && { agent_id: agentId }),
    ...(entry !== undefined && { entry }),
    ...(details.checkpoint_id !== undefined && { checkpoint_id: details.checkpoint_id }),
    ...(details.to !== undefined && { to: details.to }),
    ...(details.as_of !== undefined && { as_of: details.as_of }),
  };
  const { read_seq: readSeq, ...returned } = recallIn(details);
  return {
    name: JSON.stringify([principal.actor, principal.authorisedBy?.session_id ?? null, shown, returned]),
    details: { ...shown, operation, ...returned, ...(readSeq !== undefined && { read_seq: readSeq }) },
  } satisfies View;
}

/** The views that have not ended. */
export class Views {
  readonly #views = new Map<string, { auditId: string; untilMs: number }>();

  constructor(private readonly reader: Reader) {}

  /** Returns the event of a view that has not ended; null for a new view, and when its event was never committed. */
  async eventOf({ name }: View, nowMs: number): Promise<string | null> {
    const view = this.#views.get(name);
    // The clock was ahead when a view began that would last longer than any.
    if (view === undefined || view.untilMs <= nowMs || view.untilMs > nowMs + VIEW_MS) return null;
    const sql = `SELECT 1 FROM events WHERE ${HAS_ID}`;
    const found = await this.reader.value<number>(sql, positionedId(view.auditId));
    return found === undefined ? null : view.auditId;
  }

  begin({ name }: View, auditId: string, nowMs: number): void {
    this.#views.delete(name);
    this.#views.set(name, { auditId, untilMs: nowMs + VIEW_MS });
    if (this.#views.size <= MOST_VIEWS) return;
    const [oldest] = this.#views.keys();
    this.#views.delete(oldest as string);
  }
}
