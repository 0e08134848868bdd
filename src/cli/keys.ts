/** The actions of `governd key`, on the data directory, beside a running daemon or without one. */
import { findKey, listKeys, type StoredKey } from "../core/rows/access/keys.ts";
import { isReadFailure } from "../core/writer/storage-failure.ts";
import { Failure } from "../failure.ts";
import type { OperationInputs } from "../operations.ts";
import type { AccessChange } from "../ops/accounts/parts.ts";
import { listWorkspaces } from "../ops/directory/workspaces.ts";
import type { ShownKey } from "../ops/keys/shown.ts";
import { changeAccess } from "./access.ts";
import {
  bodyOf,
  consultInstallation,
  dataDirectoryOf,
  readWorkspace,
  requireNamedWorkspace,
} from "./data-directory.ts";
import type { Session } from "./session.ts";

type KeyChange = Extract<AccessChange, `key.${string}`>;

/** What a change of keys answers; `api_key` and what follows only for a new key. */
type Changed = ShownKey & { audit_id: string | null; api_key: string; replaces: string; replaced_expires_at: string };

/** Returns the keys of a workspace, the oldest first, also those that have ended. */
export async function keysOf(options: object, workspaceId: string): Promise<StoredKey[]> {
  await requireNamedWorkspace(options, workspaceId);
  const { directory } = dataDirectoryOf(options);
  return await readWorkspace(directory, workspaceId, listKeys);
}

/**
 * Returns the workspace of a key: the one that the command names, or the one that has the key.
 * @throws {Failure} `not_found`; `usage` on a libSQL server, whose workspaces are not searched
 */
export async function workspaceOfKeyId(options: { workspace?: string }, keyId: string): Promise<string> {
  const { directory } = dataDirectoryOf(options);
  const named = options.workspace;
  if (named !== undefined) {
    await requireNamedWorkspace(options, named);
    return named;
  }
  if (directory.server !== null) throw new Failure("usage", "Name the key's workspace with --workspace.");
  const all = await consultInstallation(options, (connection) => listWorkspaces(connection).map(({ id }) => id), []);
  const unread: string[] = [];
  for (const workspaceId of all) {
    try {
      const key = await readWorkspace(directory, workspaceId, (reader) => findKey(reader, keyId));
      if (key !== undefined) return workspaceId;
    } catch (error) {
      // A file that is missing or damaged keeps no key of another workspace from being revoked.
      if (!(error instanceof Failure) && !isReadFailure(error)) throw error;
      unread.push(workspaceId);
    }
  }
  throw noKey(unread);
}

/** Changes keys as the command line. Returns the answer. @throws {Failure} when the change is refused */
export async function changeKeys<N extends KeyChange>(
  session: Session,
  options: object,
  workspaceId: string,
  name: N,
  input: OperationInputs[N],
): Promise<Changed> {
  const reply = await changeAccess(session, options, workspaceId, name, input);
  if (reply?.answer.kind === "problem" && reply.answer.code === "key_not_found") throw noKey();
  return bodyOf(reply);
}

function noKey(unread: readonly string[] = []): Failure {
  const without = unread.length === 0 ? "" : ` These could not be read, so it may be there: ${unread.join(", ")}.`;
  const advice = "`governd key list --workspace W` lists the keys of a workspace.";
  return new Failure("not_found", `There is no such key.${without} ${advice}`);
}
