/** Live streams of the trail: the operation that starts one, and its messages on a reader thread. */

import { findPosition, scanEvents } from "../../core/rows/log/events.ts";
import type { StreamPlan } from "../../core/writer/contract.ts";
import { finished, notFound, type Run } from "../../core/writer/operation.ts";
import { presentEvent, presentEventJson } from "../../log/present.ts";
import type { StoredEvent } from "../../log/rows.ts";
import type { Reader } from "../../store/transaction.ts";
import { fits } from "../../trail-filter.ts";
import { agentIdOf, filterDetails, subjectOf } from "./scope.ts";

type TailPlan = Extract<StreamPlan, { kind: "tail" }>;

/** How often a stream polls for new events, ms: the longest delay between an event's commit and its message. */
const LOOK_EVERY_MS = 250;
/** The longest time without a message, ms. Intermediaries close connections that stay silent. */
const HEARTBEAT_MS = 15_000;
/** How long a client waits before it reconnects, ms. */
const RETRY_MS = 2_000;
/** The events that are read at once. */
const EVENTS_AT_ONCE = 100;

const NO_EVENT = "This trail has no event with the id in Last-Event-ID. Leave the header out to follow from now on.";

export const streamAudit: Run<"audit.stream"> = async (reader, context, { scope, after, filter }) => {
  const agentId = agentIdOf(scope);
  const { agent, asked, policies } = await subjectOf(context, scope);
  const details = { ...asked, ...filterDetails(filter ?? {}, policies), ...(after !== undefined && { after }) };
  // A new stream starts after this operation's own event. A resumed stream leaves no event out.
  let position = agentId === null ? context.seq : (agent?.headSeq ?? -1) + 1;
  if (after !== undefined) {
    const named = agentId === null ? filter?.agentIds : [agentId];
    const found = await findPosition(reader, after, named ?? context.principal.agents);
    if (found === undefined) {
      return notFound(agent, null, "audit_event_not_found", NO_EVENT, details);
    }
    position = agentId === null ? found.seq : found.agentSeq;
  }
  return finished(agent, details, {
    kind: "stream",
    contentType: "text/event-stream",
    live: true,
    body: { kind: "tail", agentId, after: position, ...(filter && { filter }) },
  });
};

/** Returns the messages of a live stream. Each piece is sent immediately. The stream never ends by itself. */
export async function* streamTail(reader: Reader, plan: TailPlan): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n\n`;
  let { after } = plan;
  let version = -1;
  let silentMs = 0;
  for (;;) {
    // The version is read before the events, so that a commit in between shows as another version.
    const [found] = (await reader.get<[number]>("PRAGMA data_version")) ?? [0];
    if (found !== version) {
      version = found;
      for (;;) {
        const page = await scanEvents(reader, plan.agentId, { from: after + 1, limit: EVENTS_AT_ONCE });
        const last = page.at(-1);
        if (last === undefined) break;
        // After pruning, positions have gaps.
        const { seq, agent_seq } = presentEvent(last);
        after = plan.agentId === null ? seq : agent_seq;
        const fitting = page.filter((one) => plan.filter === undefined || fits(plan.filter, presentEvent(one)));
        if (fitting.length > 0) {
          silentMs = 0;
          yield fitting.map(message).join("");
        }
        if (page.length < EVENTS_AT_ONCE) break;
      }
    } else if (silentMs >= HEARTBEAT_MS) {
      silentMs = 0;
      yield ": still here\n\n";
    }
    await Bun.sleep(LOOK_EVERY_MS);
    silentMs += LOOK_EVERY_MS;
  }
}

/** Returns one event as a message (WHATWG HTML, section 9.2). Its JSON is one line. */
function message(stored: StoredEvent): string {
  const json = presentEventJson(stored);
  return `id: ${JSON.parse(json).id}\nevent: audit\ndata: ${json}\n\n`;
}
