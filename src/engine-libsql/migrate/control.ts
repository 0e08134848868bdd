/** Moves the control database from the server back to its file, as a workspace is moved. No daemon may have it open. */

import type { DataDirectory } from "../../core/datadir/layout.ts";
import { CONTROL_MIGRATIONS, CONTROL_SCHEMA } from "../../ops/directory/database.ts";
import { CONTROL_NAMESPACE, type ServerEngine } from "../server-engine.ts";
import { moveToFile } from "./to-file.ts";

/** @throws {Failure} `busy` when other nodes keep changing the control database */
export async function bringControlHome({ control, encryptionKey }: DataDirectory, engine: ServerEngine): Promise<void> {
  const options = { format: CONTROL_SCHEMA, log: null };
  await moveToFile({
    database: control,
    encryptionKey,
    namespace: engine.namespace(CONTROL_NAMESPACE),
    options,
    migrations: CONTROL_MIGRATIONS,
  });
}
