/**
 * What is known of each agent between operations: its chain head, the policies in force, how far its checkpoints reach.
 * A cache in front of the workspace file, owned by one writer.
 *
 * A state object never changes: an operation that succeeds replaces it, one that fails leaves it.
 */
import { ZERO_HASH } from "../../log/hash.ts";
import { NO_POLICIES, type PolicySettings } from "../../screen/policies.ts";
import type { RecentWrites } from "../../screen/recent-writes.ts";
import { effectivePolicies, type WorkspacePolicies } from "../../screen/workspace-policies.ts";
import type { MaybePromise, Reader } from "../../store/transaction.ts";
import { loadWorkspacePolicies, policiesIn } from "./configs.ts";
import { isSuspended } from "./suspension.ts";
import { historyFrom } from "./sweeps.ts";

export interface AgentState {
  /** Position of the agent's first event: its name in the file. */
  readonly firstSeq: number;
  /** Null for the workspace itself. */
  readonly agentId: string | null;
  /** `agent_seq` and hash of its newest event; 0 and zeros before the first. */
  readonly headSeq: number;
  readonly headHash: string;
  /** Rows of entries that are the present, expired ones that no sweep has met yet included. */
  readonly liveEntries: number;
  /** The config in force; null when there is none. */
  readonly configVersion: number | null;
  /** The policies of the config in force. */
  readonly own: PolicySettings;
  /** The policies of the workspace. */
  readonly workspacePolicies: WorkspacePolicies;
  /** The policies in force for the agent: those of its config and of the workspace. */
  readonly policies: PolicySettings;
  /** The highest position that a checkpoint of this agent sees; -1 without checkpoints. */
  readonly newestCheckpoint: number;
  /** Of the versions that ended before this position, only those that checkpoints see are there. */
  readonly historyFrom: number;
  /** Its data and checkpoint operations are refused. */
  readonly suspended: boolean;
  /** When it wrote in the last minute. Null without a limit on that, and until a write asks: the log has it. */
  readonly recentWrites: RecentWrites | null;
}

/** What an operation may change about its agent; the chain head is not its business. */
export type AgentChange = Partial<
  Pick<
    AgentState,
    "liveEntries" | "configVersion" | "own" | "newestCheckpoint" | "historyFrom" | "suspended" | "recentWrites"
  > & {
    /** Of the workspace's own state: the workspace policies that take effect. */
    workspacePolicies: WorkspacePolicies;
  }
>;

type Writable<T> = { -readonly [M in keyof T]: T[M] };

/** Agents whose state one workspace keeps in memory. */
const MAX_CACHED_AGENTS = 4_096;

/** SQL: a join of agents `a` with the newest event `h` of each. */
export const WITH_HEADS = `agents a JOIN events h
  ON h.seq = (SELECT seq FROM events WHERE agent_id IS a.agent_id ORDER BY agent_seq DESC LIMIT 1)`;

/** One statement, since every search and every list on a reader thread runs it. */
const STATE = `SELECT a.first_seq, h.agent_seq, lower(hex(h.hash)), h.entries, c.version, c.config,
    (SELECT max(as_of_seq) FROM checkpoints WHERE agent = a.first_seq), (${historyFrom("a.agent_id")}),
    (${isSuspended("a.agent_id")})
  FROM ${WITH_HEADS} LEFT JOIN configs c
    ON c.agent = a.first_seq AND c.version = (SELECT max(version) FROM configs WHERE agent = a.first_seq)
  WHERE a.agent_id IS ?`;

type StateRow = [
  firstSeq: number,
  headSeq: number,
  headHash: string,
  liveEntries: number,
  configVersion: number | null,
  config: string | null,
  newestCheckpoint: number | null,
  historyFrom: number | null,
  suspended: number | null,
];

/** The agent's state read from the file, for readers that keep no cache; null if it never began. */
export async function readAgent(
  reader: Reader,
  agentId: string | null,
  workspacePolicies?: WorkspacePolicies,
): Promise<AgentState | null> {
  const row = await reader.get<StateRow>(STATE, [agentId]);
  if (row === undefined) return null;
  const [firstSeq, headSeq, headHash, liveEntries, configVersion, config, newestCheckpoint, from, suspended] = row;
  const beginning = freshState(agentId, firstSeq, workspacePolicies ?? (await loadWorkspacePolicies(reader)));
  const own = config === null ? NO_POLICIES : policiesIn(config);
  return {
    ...beginning,
    headSeq,
    headHash,
    liveEntries,
    configVersion,
    own,
    policies: effectivePolicies(beginning.workspacePolicies, own),
    newestCheckpoint: newestCheckpoint ?? -1,
    historyFrom: from ?? 0,
    suspended: suspended === 1,
    recentWrites: null,
  };
}

/** Returns the policies in force for an agent, also for one that never began: those of the workspace count for it. */
export async function readPolicies(reader: Reader, agentId: string): Promise<PolicySettings> {
  return (await readAgent(reader, agentId))?.policies ?? (await loadWorkspacePolicies(reader)).policies;
}

/** The state of an agent whose first event takes position `seq`, under workspace policies. */
export const freshState = (agentId: string | null, seq: number, workspacePolicies: WorkspacePolicies): AgentState => ({
  firstSeq: seq,
  agentId,
  headSeq: 0,
  headHash: ZERO_HASH,
  liveEntries: 0,
  configVersion: null,
  own: NO_POLICIES,
  workspacePolicies,
  policies: workspacePolicies.policies,
  newestCheckpoint: -1,
  historyFrom: 0,
  suspended: false,
  recentWrites: null,
});

/** Returns the highest position that a checkpoint of an agent sees; -1 without checkpoints. */
export async function readNewestCheckpoint(reader: Reader, agent: number): Promise<number> {
  return (await reader.value<number | null>("SELECT max(as_of_seq) FROM checkpoints WHERE agent = ?", [agent])) ?? -1;
}

/** The agents of one workspace, cached. */
export class AgentDirectory {
  readonly #cache = new Map<string | null, AgentState>();
  /** The states before they changed since {@link mark}, undefined for agents that were not in memory; null without a mark. */
  #marked: Map<string | null, AgentState | undefined> | null = null;
  /** Live entries of all agents; null until first needed. */
  #liveEntries: number | null = null;
  /** Null until first needed. */
  #workspacePolicies: WorkspacePolicies | null = null;

  constructor(private readonly reader: Reader) {}

  /** The agent's state, or null when it never began. */
  find(agentId: string | null): MaybePromise<AgentState | null> {
    // Without a promise when it is cached: every operation asks.
    return this.#cache.get(agentId) ?? this.#load(agentId);
  }

  async #load(agentId: string | null): Promise<AgentState | null> {
    this.#workspacePolicies ??= await loadWorkspacePolicies(this.reader);
    const loaded = await readAgent(this.reader, agentId, this.#workspacePolicies);
    if (loaded !== null) this.#cache.set(agentId, loaded);
    return loaded;
  }

  /** The agent's state if it is in memory. */
  known(agentId: string): AgentState | undefined {
    return this.#cache.get(agentId);
  }

  /** By its name in the file. */
  async findByFirstSeq(firstSeq: number): Promise<AgentState> {
    const id = await this.reader.value<string | null>("SELECT agent_id FROM agents WHERE first_seq = ?", [firstSeq]);
    const agent = id === undefined ? null : await this.find(id);
    if (agent === null) throw new Error(`no agent begins at position ${firstSeq}`);
    return agent;
  }

  /** The workspace policies in force, once an agent was looked for. */
  get workspacePolicies(): WorkspacePolicies {
    if (this.#workspacePolicies === null) throw new Error("the workspace policies are not loaded");
    return this.#workspacePolicies;
  }

  /**
   * A state for an agent that was looked for and never began, whose first event will take position `seq`; kept only once
   * it advances.
   */
  fresh(agentId: string, seq: number): AgentState {
    return freshState(agentId, seq, this.workspacePolicies);
  }

  /** Returns the policies of the workspace, also before any agent was looked for. */
  async policiesOfWorkspace(): Promise<PolicySettings> {
    this.#workspacePolicies ??= await loadWorkspacePolicies(this.reader);
    return this.#workspacePolicies.policies;
  }

  /** The policies in force for an agent that was looked for; those of the workspace when it never began. */
  policiesOf(agent: AgentState | null): PolicySettings {
    return agent?.policies ?? this.workspacePolicies.policies;
  }

  /** Live entries of the whole workspace. Counted on the first call; `advance` keeps the count. */
  async liveEntries(): Promise<number> {
    if (this.#liveEntries === null) {
      this.#liveEntries = (await this.reader.value<number | null>(`SELECT sum(h.entries) FROM ${WITH_HEADS}`)) ?? 0;
    }
    return this.#liveEntries;
  }

  /** Takes an agent's state after its newest event. */
  advance(before: AgentState, change: AgentChange | undefined, headSeq: number, headHash: string): void {
    // Member by member: every operation runs this, and copying an object by spreading it is slow.
    const state: Writable<AgentState> = {
      firstSeq: before.firstSeq,
      agentId: before.agentId,
      headSeq,
      headHash,
      liveEntries: before.liveEntries,
      configVersion: before.configVersion,
      own: before.own,
      workspacePolicies: before.workspacePolicies,
      policies: before.policies,
      newestCheckpoint: before.newestCheckpoint,
      historyFrom: before.historyFrom,
      suspended: before.suspended,
      recentWrites: before.recentWrites,
    };
    if (change !== undefined) Object.assign(state, change);
    if (change?.own !== undefined) state.policies = effectivePolicies(state.workspacePolicies, state.own);
    if (this.#liveEntries !== null) {
      this.#liveEntries += state.liveEntries - (this.#cache.get(state.agentId)?.liveEntries ?? 0);
    }
    if (this.#marked?.has(state.agentId) === false) this.#marked.set(state.agentId, this.#cache.get(state.agentId));
    this.#cache.delete(state.agentId);
    this.#cache.set(state.agentId, state);
    if (change?.workspacePolicies !== undefined) this.#putUnder(change.workspacePolicies);
  }

  /** Has workspace policies in force for all agents. */
  #putUnder(workspacePolicies: WorkspacePolicies): void {
    this.#workspacePolicies = workspacePolicies;
    for (const [agentId, state] of this.#cache) {
      this.#cache.set(agentId, {
        ...state,
        workspacePolicies,
        policies: effectivePolicies(workspacePolicies, state.own),
      });
    }
  }

  /**
   * Notes what is known now. The first returned function puts that back, once the file is as it was; the second forgets
   * the note. There is one note at a time.
   */
  mark(): { putBack(): void; forget(): void } {
    const liveEntries = this.#liveEntries;
    const marked = new Map<string | null, AgentState | undefined>();
    this.#marked = marked;
    const forget = () => {
      this.#marked = null;
    };
    const putBack = () => {
      for (const [agentId, state] of marked) {
        if (state === undefined) this.#cache.delete(agentId);
        else this.#cache.set(agentId, state);
      }
      this.#liveEntries = liveEntries;
      marked.clear();
    };
    return { putBack, forget };
  }

  /** Drops the oldest states past the bound. Only between transactions. */
  trim(): void {
    for (const agentId of this.#cache.keys()) {
      if (this.#cache.size <= MAX_CACHED_AGENTS) return;
      this.#cache.delete(agentId);
    }
  }

  /** Forgets everything: after a failed transaction, or when another process wrote to the file. */
  clear(): void {
    this.#cache.clear();
    this.#liveEntries = null;
    this.#workspacePolicies = null;
    this.#marked = null;
  }
}
