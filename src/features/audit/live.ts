/** Following the trail live: the operation that begins it, and the messages on a reader thread. */
import { presentEvent, presentEventJson } from "../../log/present.ts";
import type { StoredEvent } from "../../log/rows.ts";
import { NO_EFFECT } from "../../state/apply.ts";
import { findPosition, scanEvents } from "../../state/events.ts";
import type { Reader } from "../../store/transaction.ts";
import type { StreamPlan } from "../../workspace/contract.ts";
import { notFound, type Operation, requireAgentAllowed } from "../../workspace/operation.ts";
import { agentIdOf, subjectOf } from "./scope.ts";

type TailPlan = Extract<StreamPlan, { kind: "tail" }>;

/** How often a stream looks for what is new; an event is sent so much after its commit at the latest. */
const LOOK_EVERY_MS = 250;
/** The longest silence: intermediaries close connections that say nothing. */
const HEARTBEAT_MS = 15_000;
/** What a client waits before it connects again, ms. */
const RETRY_MS = 2_000;
/** Events read at once. */
const EVENTS_AT_ONCE = 100;

const NO_EVENT =
  "There is no such event in this trail to go on behind. Leave Last-Event-ID out to follow from now on.";

export const streamAudit: Operation<"audit.stream"> = async (reader, context, { scope, after }) => {
  const agentId = agentIdOf(scope);
  const { agent, asked } = await subjectOf(reader, context, scope);
  const details = after === undefined ? asked : { ...asked, after };
  // Its own event comes before the first that is sent; resumed, nothing is left out.
  let position = agentId === null ? context.seq : (agent?.headSeq ?? -1) + 1;
  if (after !== undefined) {
    const found = await findPosition(reader, after);
    if (found === undefined || (agentId !== null && found.agentId !== agentId)) {
      return notFound(agent, null, "audit_event_not_found", NO_EVENT, details);
    }
    requireAgentAllowed(context.principal, found.agentId);
    position = agentId === null ? found.seq : found.agentSeq;
  }
  return {
    agent,
    result: "ok",
    details,
    effect: NO_EFFECT,
    answer: {
      kind: "stream",
      contentType: "text/event-stream",
      live: true,
      body: { kind: "tail", agentId, after: position },
    },
  };
};

/** The messages of a live stream, each piece to be sent at once. It never ends. */
export async function* streamTail(reader: Reader, plan: TailPlan): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n\n`;
  let { after } = plan;
  let version = -1;
  let silentMs = 0;
  for (;;) {
    // Read before the events are: a commit in between shows as yet another version.
    const [found] = (await reader.get<[number]>("PRAGMA data_version")) ?? [0];
    if (found !== version) {
      version = found;
      for (;;) {
        const page = await nextEvents(reader, plan.agentId, after);
        const last = page.at(-1);
        if (last === undefined) break;
        silentMs = 0;
        after = positionIn(plan.agentId, last);
        yield page.map(message).join("");
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

function nextEvents(reader: Reader, agentId: string | null, after: number): Promise<StoredEvent[]> {
  return scanEvents(
    reader,
    { everything: agentId === null, agentId },
    { from: after + 1, limit: EVENTS_AT_ONCE },
  );
}

/** Where an event stands in what is followed. Behind an event that outlived a pruning, positions have gaps. */
function positionIn(agentId: string | null, stored: StoredEvent): number {
  const { seq, agent_seq } = presentEvent(stored);
  return agentId === null ? seq : agent_seq;
}

/** One event as a message (WHATWG HTML section 9.2). Its JSON is one line. */
function message(stored: StoredEvent): string {
  const json = presentEventJson(stored);
  return `id: ${JSON.parse(json).id}\nevent: audit\ndata: ${json}\n\n`;
}
