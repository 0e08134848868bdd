/** The head of a workspace's log, as its file has it. */
import type { Connection } from "../store/connection.ts";
import { DamagedWorkspace } from "./storage-failure.ts";

/** The head of the log. */
export interface Head {
  seq: number;
  hash: string;
}

/** @throws {DamagedWorkspace} when the file holds no workspace */
export function readHead(connection: Connection): Head & { workspaceId: string } {
  const row = connection.get<[string, number, string]>(
    "SELECT workspace_id, seq, hash FROM head WHERE one = 1",
  );
  if (row === undefined) throw new DamagedWorkspace("the file holds no workspace");
  return { workspaceId: row[0], seq: row[1], hash: row[2] };
}
