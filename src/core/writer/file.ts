/** Creates a workspace's file with its genesis event, and opens it with its schema brought up to date. */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import foundation from "../../../sql/workspace/001-foundation.sql" with { type: "text" };
import { type Clock, IdSource, RandomPool, systemClock } from "../../ids.ts";
import { AUDIT_FORMAT, GENESIS, VOCABULARY } from "../../log/event.ts";
import { fingerprintOf, formatVerifierKey, type VerifierKey } from "../../log/note.ts";
import { rowChanges } from "../../log/row-effects.ts";
import { NO_WORKSPACE_POLICIES } from "../../screen/workspace-policies.ts";
import { type Connection, checked, openConnection } from "../../store/connection.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import { NEVER, type TakeLogRight } from "../../store/log-right.ts";
import { type Migration, newestSchema, openMigrated, schemaVersion } from "../../store/migrate.ts";
import { syncDirectory } from "../../store/sync.ts";
import { freshState } from "../rows/agents.ts";
import { applyRows } from "../rows/apply.ts";
import { insertSealingKey } from "../rows/log/seals.ts";
import { appendEvent } from "./append.ts";
import { checkTail, readHead } from "./head.ts";
import { DamagedWorkspace, MISSING, MissingWorkspace } from "./storage-failure.ts";

/** The migrations in their order. A released migration never changes. */
export const WORKSPACE_MIGRATIONS: readonly Migration[] = [foundation];
/** The newest schema version of a workspace. */
export const WORKSPACE_SCHEMA = newestSchema(WORKSPACE_MIGRATIONS);

/** The facts that the genesis event records. */
interface Genesis {
  workspaceId: string;
  name: string;
  actor: string;
  /** The account that owns it; by default none yet. */
  owner?: string | null;
  /** The sealing key of the workspace. Its name is the origin of the seals: `<host>/<workspace id>`. */
  sealKey: VerifierKey;
}

/**
 * Opens a workspace for writing, migrates its schema, and checks the end of its log.
 * @throws {MissingWorkspace} when there is no such file (SQLite would create an empty one)
 * @throws {DamagedWorkspace} when the file holds no workspace, or its log does not end with its head
 * @throws {NewerWorkspace} {UnknownSchema} {MigrationFailed} the file is then unchanged
 */
export function openWorkspaceFile(
  path: string,
  encryptionKey: EncryptionKey | null = null,
  takeLogRight?: TakeLogRight,
): Connection {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new MissingWorkspace(MISSING);
  if (size === 0) throw new DamagedWorkspace("the workspace's file is empty");
  const whenEmpty = () => new DamagedWorkspace("the file holds no workspace");
  return checked(openMigrated(path, WORKSPACE_MIGRATIONS, { encryptionKey, takeLogRight, whenEmpty }), checkTail);
}

/**
 * Opens a workspace for reading. A file with an older schema is migrated first.
 * @throws {DamagedWorkspace} when the file holds another workspace, which clients of this one must not see
 */
export function openWorkspaceReader(
  path: string,
  workspaceId: string,
  encryptionKey: EncryptionKey | null = null,
): Connection {
  const opened = openConnection(path, { readOnly: true, encryptionKey });
  if (schemaVersion(opened) < WORKSPACE_SCHEMA) {
    opened.close();
    // NEVER: only the thread that writes the workspace copies the write-ahead log back.
    openWorkspaceFile(path, encryptionKey, NEVER).close();
    return openWorkspaceReader(path, workspaceId, encryptionKey);
  }
  return checked(opened, (connection) => {
    if (readHead(connection).workspaceId !== workspaceId)
      throw new DamagedWorkspace("the file holds another workspace");
  });
}

/** Returns the genesis event, which states the first rows. */
function firstEvent({ workspaceId, name, actor, owner = null, sealKey }: Genesis, clock: Clock, random: RandomPool) {
  return {
    id: new IdSource(clock, random).event(0),
    seq: 0,
    workspace_id: workspaceId,
    timestamp: new Date(clock()).toISOString(),
    actor,
    operation: GENESIS,
    result: "ok",
    blocked_by: null,
    entries: 0,
    details: {
      format: AUDIT_FORMAT,
      name,
      origin: sealKey.name,
      owner,
      signing_key: fingerprintOf(sealKey.publicKey),
      vocabulary: VOCABULARY,
      workspace_id: workspaceId,
    },
  } as const;
}

/** Creates a workspace's file with its genesis event, durably. Fails when the file holds a workspace already. */
export async function createWorkspaceFile(
  path: string,
  genesis: Genesis,
  clock: Clock = systemClock,
  random = new RandomPool(),
  encryptionKey: EncryptionKey | null = null,
  takeLogRight?: TakeLogRight,
): Promise<void> {
  const connection = openMigrated(path, WORKSPACE_MIGRATIONS, { encryptionKey, takeLogRight });
  try {
    connection.exec("BEGIN IMMEDIATE");
    const event = firstEvent(genesis, clock, random);
    const { hash } = await appendEvent(connection, random, freshState(null, 0, NO_WORKSPACE_POLICIES), event);
    await applyRows(connection, rowChanges(event, event.details) ?? [], {});
    const head = "INSERT INTO head (one, workspace_id, format, vocabulary, seq, hash) VALUES (1, ?, ?, ?, 0, ?)";
    connection.run(head, [genesis.workspaceId, AUDIT_FORMAT, VOCABULARY, Buffer.from(hash, "hex")]);
    await insertSealingKey(connection, 0, formatVerifierKey(genesis.sealKey));
    connection.exec("COMMIT");
    // The driver keeps a closed connection, and its write-ahead log, until its statements are garbage-collected. The
    // log is copied into the file now, while nobody else has the file open.
    connection.truncateLog();
  } finally {
    connection.close();
  }
  // A new file is durable only once its directory is synced.
  syncDirectory(dirname(path));
}
