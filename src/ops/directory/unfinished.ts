/** Files of workspaces that a crash left before the log of the installation had them. */
import { type DataDirectory, workspaceFile } from "../../core/datadir/layout.ts";
import { WORKSPACE_SCHEMA } from "../../core/writer/file.ts";
import { openConnection } from "../../store/connection.ts";
import { schemaVersion } from "../../store/migrate.ts";
import { FIRST_OPERATIONS, isMaking } from "../../verify/installation.ts";

/** Whether a file has nothing but the making of its workspace, or less, so that nobody ever had its key. */
export function isUnfinished(directory: DataDirectory, workspaceId: string): boolean {
  try {
    const { encryptionKey } = directory;
    using connection = openConnection(workspaceFile(directory, workspaceId), { readOnly: true, encryptionKey });
    // A crash may come before the tables, which are made in one transaction.
    if (connection.value("SELECT count(*) FROM sqlite_master") === 0) return true;
    if (schemaVersion(connection) > WORKSPACE_SCHEMA) return false;
    return isMaking(connection.all<[string]>(FIRST_OPERATIONS).flat());
  } catch {
    // One that cannot be read is for `governd check`.
    return false;
  }
}
