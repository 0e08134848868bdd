/** Counting events over time. */
import type { JsonObject, JsonValue } from "../../json.ts";
import type { OperationInputs } from "../../operations.ts";
import { countActivity, INTERVALS } from "../../state/activity.ts";
import type { Reader } from "../../store/transaction.ts";
import { answered, type Inquiry, knownAgent, type QueryContext, Refusal } from "../../workspace/operation.ts";

/** Intervals unless a start is asked for, and at most. */
const DEFAULT_INTERVALS = 24;
const MAX_INTERVALS = 750;

type Input = OperationInputs["audit.activity"];

const time = (ms: number): string => new Date(ms).toISOString();

async function queryActivity(reader: Reader, { nowMs }: QueryContext, input: Input): Promise<JsonObject> {
  const { interval, scope, window } = input;
  const { ms } = INTERVALS[interval];
  const endMs = Math.ceil((window.endMs ?? nowMs + 1) / ms) * ms;
  const startMs =
    window.startMs === undefined ? endMs - DEFAULT_INTERVALS * ms : Math.floor(window.startMs / ms) * ms;
  if (endMs - startMs > MAX_INTERVALS * ms || endMs < startMs) {
    throw new Refusal(
      "invalid_request",
      `The window must hold 0 to ${MAX_INTERVALS} intervals. Choose a later start_time, an end_time behind it, or a longer interval.`,
    );
  }
  const agentId = "agentId" in scope ? scope.agentId : null;
  const data = await countActivity(reader, { agentId, interval, startMs, endMs });
  return {
    interval,
    start_time: time(startMs),
    end_time: time(endMs),
    data: data.map(({ startMs: at, events, allowed, blocked, denied }) => ({
      start_time: time(at),
      events,
      allowed,
      blocked,
      denied,
    })),
  };
}

export const countActivityOver: Inquiry<"audit.activity", JsonObject & JsonValue> = {
  query: queryActivity,
  async record(reader, context, { scope }, found) {
    const agent = "agentId" in scope ? await knownAgent(reader, context, scope.agentId) : null;
    const asked: JsonObject =
      agent !== null ? {} : "agentId" in scope ? { agent_id: scope.agentId } : { scope: scope.scope };
    const { interval, start_time, end_time } = found;
    return answered(
      agent,
      {
        ...asked,
        interval: interval as string,
        start_time: start_time as string,
        end_time: end_time as string,
      },
      JSON.stringify(found),
    );
  },
};
