/** Making workspaces and keys as the command line does, in this process. */

import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { IdSource, RandomPool, systemClock } from "../../src/ids.ts";
import { createLink } from "../../src/ops/accounts/links.ts";
import { Administration, type NewKey } from "../../src/ops/directory/administration.ts";
import { ControlDatabase } from "../../src/ops/directory/database.ts";
import { fileJournal } from "../../src/ops/directory/journal.ts";
import type { KeyScope } from "../../src/ops/directory/keys.ts";
import { serverOfDirectory } from "./engine.ts";

/** Calls `work` with the administration of a data directory, whether or not a daemon runs on it. */
export async function administer<T>(dataDir: string, work: (administration: Administration) => Promise<T>): Promise<T> {
  const directory = ensureDataDirectory(dataDir, { server: serverOfDirectory(dataDir) });
  using control = await ControlDatabase.openShared(directory, () => {});
  const random = new RandomPool();
  return await work(
    new Administration({
      control,
      journal: fileJournal(directory),
      clock: systemClock,
      ids: new IdSource(systemClock, random),
      random,
      actor: "cli",
      permit: () => {},
    }),
  );
}

export function makeKey(
  dataDir: string,
  workspaceId: string,
  wish: { scope?: KeyScope; agents?: readonly string[] } = {},
): Promise<NewKey> {
  const { scope = "full", agents = null } = wish;
  return administer(dataDir, (administration) =>
    administration.createKey({ workspaceId, label: null, scope, agents, expiresInMs: null }),
  );
}

/** Returns the token of a link that sets an account's password, as `governd account link --email` makes one. */
export async function passwordLink(dataDir: string, accountId: string): Promise<string> {
  const directory = dataDirectory(dataDir, null, serverOfDirectory(dataDir));
  using control = await ControlDatabase.openShared(directory, () => {});
  return (await createLink(control, systemClock, { kind: "reset", createdBy: "cli", accountId })).token;
}
