/** Reads several parts of an agent's state that were all there at one moment of the log. */
import type { Reader } from "../../../store/transaction.ts";
import { type AgentState, readAgent } from "../agents.ts";
import { ChangedMeanwhile } from "../entries.ts";
import { newestPlacement, unchangedSince } from "../entry-changes.ts";
import { headOf } from "../log/events.ts";

/** Runs what must see one state of the file, over a connection of its own. */
interface Apart {
  apart<T>(read: (reader: Reader) => Promise<T>): Promise<T>;
}

/**
 * Returns what `read` returns, and the position of the newest event of the state that it has read. If the agent's entries
 * changed meanwhile, it reads once more, of one state.
 * @param read gets null for an agent that does not exist
 */
export async function atOneMoment<T extends object>(
  reader: Reader,
  agentId: string,
  { apart }: Apart,
  read: (reader: Reader, agent: AgentState | null) => Promise<T>,
): Promise<T & { readSeq: number }> {
  const placement = await newestPlacement(reader);
  const agent = await readAgent(reader, agentId);
  const found = await unlessChanged(read(reader, agent));
  const readSeq = agent === null ? await headOf(reader) : await unchangedSince(reader, agent, placement);
  if (found !== null && readSeq !== null) return { ...found, readSeq };
  return apart(async (own) => ({ ...(await read(own, await readAgent(own, agentId))), readSeq: await headOf(own) }));
}

async function unlessChanged<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ChangedMeanwhile) return null;
    throw error;
  }
}
