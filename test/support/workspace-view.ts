/** A view of a workspace's file beside the daemon: its trail, and everything that it stores. */

import { WITH_HEADS } from "../../src/core/rows/agents.ts";
import { readEvent } from "../../src/core/rows/log/events.ts";
import { eventId } from "../../src/ids.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import type { VerificationReport } from "../../src/verify/events/contract.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";

/** The parts of an event that tests look at. */
export interface SeenEvent {
  seq: number;
  id: string;
  agentId: string | null;
  operation: string;
  result: string;
  /** `<agent, or - for the workspace's own chain> <operation> <result>`. */
  line: string;
  details: Record<string, unknown> | null;
}

/** The rows of each table that an operation may change, apart from the trail itself, by table. */
export type Dump = Record<string, string[]>;

const TABLES: Record<string, string> = {
  agents: `SELECT a.first_seq, a.agent_id, h.entries FROM ${WITH_HEADS} ORDER BY a.first_seq`,
  configs: "SELECT * FROM configs ORDER BY agent, version",
  entries: "SELECT * FROM entries ORDER BY id",
  checkpoints: "SELECT * FROM checkpoints ORDER BY id",
};

export class WorkspaceView implements Disposable {
  readonly #path: string;
  #connection: Connection | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  get connection(): Connection {
    this.#connection ??= openConnection(this.#path, { readOnly: true });
    return this.#connection;
  }

  /** The position of the newest event. */
  get head(): number {
    return this.connection.get<[number]>("SELECT max(seq) FROM events")?.[0] ?? -1;
  }

  /** Returns the events after a position, oldest first. */
  eventsAfter(seq: number): SeenEvent[] {
    return this.connection
      .all<[number, Uint8Array, string | null, string, string, string | null]>(
        "SELECT seq, random, agent_id, operation, result, details FROM events WHERE seq > ? ORDER BY seq",
        [seq],
      )
      .map(([position, random, agentId, operation, result, details]) => ({
        seq: position,
        id: eventId(position, random),
        agentId,
        operation,
        result,
        line: `${agentId ?? "-"} ${operation} ${result}`,
        details: details === null ? null : JSON.parse(details),
      }));
  }

  dump(): Dump {
    const rows = Object.entries(TABLES).map(([name, sql]): [string, string[]] => [
      name,
      this.connection.all(sql).map((row) => JSON.stringify(row)),
    ]);
    return Object.fromEntries(rows);
  }

  /** Returns an event as the API shows it. */
  async event(id: string): Promise<unknown> {
    const found = await readEvent(this.connection, id, null);
    return found === undefined ? undefined : JSON.parse(found.json);
  }

  /** Verifies the whole log, and compares everything that is stored with it. */
  verify(): Promise<VerificationReport> {
    return verifyWorkspace(this.connection, { scope: "workspace" });
  }

  [Symbol.dispose](): void {
    this.#connection?.close();
    this.#connection = null;
  }
}

/** Returns the tables whose rows differ between the dumps. */
export function changedTables(before: Dump, after: Dump): string[] {
  return Object.keys(before)
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .sort();
}
