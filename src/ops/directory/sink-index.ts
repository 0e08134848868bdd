/** Which workspaces have sinks: an index that wakes the delivery up. What decides is in the workspaces' files. */
import type { Connection } from "../../store/connection.ts";
import type { ControlDatabase } from "./database.ts";

/** Returns the workspaces of the index, each with the number of changes of its sinks. */
export const sinkWorkspaces = (connection: Connection): Map<string, number> =>
  new Map(connection.all<[string, number]>("SELECT workspace_id, changes FROM sink_workspaces"));

/** Notes that the sinks of a workspace have changed. @param some whether it has any now */
export async function noteSinks(control: ControlDatabase, workspaceId: string, some: boolean): Promise<void> {
  await control.change((connection) => {
    if (!some) return connection.run("DELETE FROM sink_workspaces WHERE workspace_id = ?", [workspaceId]);
    const changed = "ON CONFLICT (workspace_id) DO UPDATE SET changes = changes + 1";
    const sql = `INSERT INTO sink_workspaces (workspace_id, changes) VALUES (?, 1) ${changed}`;
    return connection.run(sql, [workspaceId]);
  });
}
