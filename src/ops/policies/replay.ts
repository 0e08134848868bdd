/** Replays policies: decides about everything that is stored. */

import { type AgentState, readAgent } from "../../core/rows/agents.ts";
import { countBlockedBy } from "../../core/rows/counts/activity.ts";
import { contentOf } from "../../core/rows/entries.ts";
import { countHidden } from "../../core/rows/expiry.ts";
import { partsOf } from "../../core/rows/listing/parts.ts";
import { versionOf } from "../../core/rows/log/events.ts";
import { decideAlone } from "../../core/writer/admission.ts";
import type { StreamPlan } from "../../core/writer/contract.ts";
import { readHead } from "../../core/writer/head.ts";
import { TimeSlice } from "../../core/writer/time-slice.ts";
import { type Finding, findingsOf, outcomeOf } from "../../screen/decide.ts";
import { type PolicySettings, policiesOf } from "../../screen/policies.ts";
import { freshAt } from "../../screen/retention.ts";
import type { Connection } from "../../store/connection.ts";
import type { Reader } from "../../store/transaction.ts";

type ReplayPlan = Extract<StreamPlan, { kind: "replay" }>;

/** The most entries that the answer shows. */
const MOST_SAMPLES = 100;
/** The time between two lines of progress, ms. */
const PROGRESS_MS = 250;

/** An entry with findings, without its text. */
interface Sample {
  agent_id: string;
  key: string;
  /** The version of the entry. */
  audit_id: string;
  findings: readonly Finding[];
}

/**
 * Yields the answer, and in the form `ndjson` the progress before it. The replay does not wait for the client, so a
 * client that does not read cannot keep its snapshot open.
 */
export async function* streamReplay(connection: Connection, plan: ReplayPlan): AsyncGenerator<string> {
  const replay = new Replay(connection, plan);
  const ended = replay.run();
  // After the client has gone and the connection is closed, nobody awaits this promise.
  ended.catch(() => {});
  if (plan.form === "json") return yield JSON.stringify(await ended);
  for (;;) {
    const result = await Promise.race([ended, Bun.sleep(PROGRESS_MS)]);
    // Progress is also sent before the result, so that a client shows 100 % even for a short replay.
    yield `${JSON.stringify({ type: "progress", ...replay.progress })}\n`;
    if (result !== undefined) return yield `${JSON.stringify({ type: "result", ...result })}\n`;
  }
}

class Replay {
  readonly #policies: PolicySettings;
  readonly #slice = new TimeSlice(
    () => performance.now(),
    () => new Promise((resolve) => setImmediate(resolve)),
  );
  readonly #counts = { unchanged: 0, block: 0, redact: 0, audit: 0 };
  readonly #samples: Sample[] = [];
  readonly progress = { examined: 0, total: 0 };

  constructor(
    private readonly connection: Connection,
    private readonly plan: ReplayPlan,
  ) {
    this.#policies = policiesOf({ policies: plan.policies });
  }

  async run() {
    const { connection, plan } = this;
    connection.exec("BEGIN");
    const { seq } = readHead(connection);
    this.#slice.begin();
    const agents = await agentsOf(connection, plan.agentId);
    for (const agent of agents) {
      this.progress.total += agent.liveEntries - (await countHidden(connection, agent, freshAt(agent.policies, plan)));
    }
    for (const agent of agents) await this.#replayAgent(agent);
    const blocked_before = await countBlockedBy(connection, plan.agentId, () => this.#slice.pause());
    connection.exec("COMMIT");
    const { examined } = this.progress;
    const { unchanged, block: would_block, redact: would_redact, audit: would_audit } = this.#counts;
    const counts = { examined, unchanged, would_block, would_redact, would_audit };
    return { ...counts, samples: this.#samples, as_of_seq: seq, blocked_before };
  }

  async #replayAgent(agent: AgentState): Promise<void> {
    const moment = { ...this.plan, pause: () => this.#slice.pause() };
    for await (const { sql, bound } of partsOf(this.connection, agent, "", moment)) {
      const ids = this.connection.all<[number]>(`SELECT id FROM entries WHERE ${sql}`, bound);
      for (const [id] of ids) {
        this.#replayEntry(agent.agentId as string, id);
        await this.#slice.pause();
      }
    }
  }

  #replayEntry(agentId: string, id: number): void {
    const [key, value, metadata, writtenSeq] = this.connection.get<[string, string, string, number]>(
      "SELECT key, value, metadata, written_seq FROM entries WHERE id = ?",
      [id],
    ) as [string, string, string, number];
    const decision = decideAlone(this.#policies, contentOf(key, value, metadata), this.plan.nowMs);
    this.progress.examined++;
    const outcome = outcomeOf(decision);
    this.#counts[outcome]++;
    if (outcome === "unchanged" || this.#samples.length === MOST_SAMPLES) return;
    const findings = findingsOf(decision);
    const random = this.connection.value<Uint8Array>("SELECT random FROM events WHERE seq = ?", [writtenSeq]);
    this.#samples.push({ agent_id: agentId, key, audit_id: versionOf(writtenSeq, random ?? null), findings });
  }
}

/** Returns the agent if it exists; without an id, all agents in the order of their first events. */
async function agentsOf(reader: Reader, agentId: string | null): Promise<AgentState[]> {
  const ids =
    agentId === null
      ? await reader.all<[string]>("SELECT agent_id FROM agents WHERE agent_id IS NOT NULL ORDER BY first_seq")
      : [[agentId] as const];
  const agents: AgentState[] = [];
  for (const [id] of ids) {
    const agent = await readAgent(reader, id);
    if (agent !== null) agents.push(agent);
  }
  return agents;
}
