/** Creates workspaces, for the command line and the dashboard. */

import type { AuthorisedBy } from "../../core/writer/contract.ts";
import { Failure } from "../../failure.ts";
import type { Clock, IdSource, RandomPool } from "../../ids.ts";
import { FIRST_KEY, makeKey } from "../keys/new-key.ts";
import { recordHeads } from "./heads.ts";
import type { Installation } from "./installation.ts";
import type { WorkspaceJournal } from "./journal.ts";
import { nameProblem } from "./workspaces.ts";

/** A new workspace, and its first key, whose text is shown only now. */
interface Founded {
  workspaceId: string;
  keyId: string;
  apiKey: string;
  /** The event that recorded the key. */
  auditId: string;
}

/** What makes workspaces. */
export interface FoundingParts {
  installation: Installation;
  journal: WorkspaceJournal;
  ids: IdSource;
  clock: Clock;
  random: RandomPool;
  /** The session of the person who acts, for the details of the events. */
  authorisedBy?: AuthorisedBy;
}

/**
 * Creates a workspace and its first key, which has full scope. Its file comes first, then the row in the file of the
 * installation: a file without a row was never used, and the next start removes it.
 * @param actor `cli`, or `usr_…`, who then owns it
 * @param check called before the row is made, while nobody else makes one; it may refuse by throwing
 * @throws {Failure} `usage` for a name that is not valid; `busy` when the events could not be recorded, or others took too long;
 * `outcome_unknown`
 */
export async function createWorkspace(
  parts: FoundingParts,
  actor: string,
  name: string,
  check: () => void = () => {},
): Promise<Founded> {
  const problem = nameProblem(name);
  if (problem) throw new Failure("usage", `The name of a workspace must ${problem}.`);
  const { installation, journal, clock, ids, random } = parts;
  const log = await installation.ensure(parts);
  const id = ids.next("ws");
  const owner = actor.startsWith("usr_") ? actor : null;
  return await installation.alone(async () => {
    check();
    if (owner !== null) await journal.note(log, { kind: "joins", accountId: owner, workspaceIds: [id] });
    const { apiKey, details } = makeKey({ workspaceId: id, nowMs: clock(), ids, random }, FIRST_KEY);
    const made = { id, name, actor, owner };
    const by = { actor, ...(parts.authorisedBy && { authorisedBy: parts.authorisedBy }) };
    let auditId: string;
    try {
      auditId = await journal.create(made, { operation: "key.create", ...by, details });
      const genesis = journal.genesisOf(id);
      const added = { account_id: owner, for_workspace_id: id, name, genesis };
      await journal.record(log, { operation: "installation.add_workspace", ...by, details: added });
    } catch (error) {
      // Nobody has seen its key. If the row may be there, the file stays. What is left is removed at the next start.
      if (!(error instanceof Failure && error.code === "outcome_unknown")) await journal.discard(id).catch(() => {});
      throw error;
    }
    await recordHeads(parts, { made: [id] });
    return { workspaceId: id, apiKey, keyId: details.key_id, auditId };
  });
}
