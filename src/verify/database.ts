/** A database file as evidence. */

import { type Connection, openConnection } from "../store/connection.ts";
import { damageOf } from "../store/damage.ts";
import { type EncryptionKey, EncryptionMismatch } from "../store/encryption.ts";
import { schemaVersion } from "../store/migrate.ts";
import { WORKSPACE_MIGRATIONS } from "../workspace/file.ts";
import type { VerificationReport } from "./events/log-verifier.ts";
import type { WorkspaceVerificationOptions } from "./preparation.ts";
import { type ObstacleCode, obstacle, resultOf, type SourceResult } from "./report.ts";
import { hasSchemaOf, hasTable } from "./rows/schema.ts";
import { verifyWorkspace, type WorkspaceReport } from "./workspace.ts";

/** What is asked of a workspace file. */
export interface DatabaseWish extends WorkspaceVerificationOptions {
  /** How the file is named to the person. */
  path: string;
  /** Only this agent. */
  agentId?: string;
  /** The workspace that the file should be, as its place says. */
  workspaceId?: string;
  /** The key of an encrypted file. */
  encryptionKey?: EncryptionKey | null;
}

/** Verifies an open database. Never writes to it. */
export async function verifyDatabase(connection: Connection, wish: DatabaseWish): Promise<SourceResult> {
  try {
    const refusal = whyNotWorkspace(connection);
    if (refusal !== null) return obstacle(wish.path, "unknown", refusal.code, refusal.message);
    return await verifyTables(connection, wish);
  } catch (error) {
    return unreadable(wish, error);
  }
}

/** Opens a file and verifies it. `immutable`: nobody writes to it, and nothing beside it counts. */
export async function verifyDatabaseFile(
  file: { path: string; immutable: boolean },
  wish: DatabaseWish,
): Promise<SourceResult> {
  try {
    using connection = openConnection(file.path, {
      ...(file.immutable ? { immutable: true } : { readOnly: true }),
      encryptionKey: wish.encryptionKey ?? null,
    });
    return await verifyDatabase(connection, wish);
  } catch (error) {
    return unreadable(wish, error);
  }
}

type Refusal = { code: ObstacleCode; message: string };

function whyNotWorkspace(connection: Connection): Refusal | null {
  if (hasTable(connection, "api_keys")) {
    const message =
      "this is the control database, which has no audit log: name the data directory or a workspace";
    return { code: "not_evidence", message };
  }
  if (!hasTable(connection, "events")) {
    return { code: "not_evidence", message: "this database is no workspace of governd" };
  }
  const [found, known] = [schemaVersion(connection), WORKSPACE_MIGRATIONS.length];
  if (found > known) {
    const message = `a newer governd wrote this workspace (schema ${found}, this one knows ${known}): verify it with that one`;
    return { code: "newer_schema", message };
  }
  return null;
}

async function verifyTables(connection: Connection, wish: DatabaseWish): Promise<SourceResult> {
  const source = { path: wish.path, kind: "workspace" } as const;
  if (!hasSchemaOf(connection, WORKSPACE_MIGRATIONS.slice(0, schemaVersion(connection))))
    return changedSchema(source);
  // Seals are of the whole log, so who asks for one of them gets all of it verified.
  const whole = wish.agentId === undefined || wish.publicKey != null || (wish.anchors?.length ?? 0) > 0;
  const scope = whole ? ({ scope: "workspace" } as const) : { agentId: wish.agentId as string };
  const found = await verifyWorkspace(connection, scope, wish);
  const isOther =
    wish.workspaceId !== undefined && found.workspaceId !== null && found.workspaceId !== wish.workspaceId;
  if (isOther) return resultOf(source, withOtherWorkspace(found), []);
  return resultOf(source, found, obstaclesOf(found, wish));
}

function obstaclesOf(found: VerificationReport, wish: DatabaseWish): Refusal[] {
  const { agentId } = wish;
  const known = agentId === undefined || found.agents.some(({ agent_id }) => agent_id === agentId);
  if (found.eventsChecked > 0 && known) return [];
  if (!known) {
    return [{ code: "agent_unknown", message: "this workspace has no events of that agent" }];
  }
  return [{ code: "log_empty", message: "the log is empty, and without a seal nothing says what it held" }];
}

function withOtherWorkspace(found: WorkspaceReport): WorkspaceReport {
  const message = "the file stands in the place of another workspace";
  const problem = { code: "wrong_workspace", seq: null, id: null, message } as const;
  return {
    ...found,
    valid: false,
    problems: [problem, ...found.problems],
    problemCount: found.problemCount + 1,
  };
}

function changedSchema(source: { path: string; kind: "workspace" }): SourceResult {
  const message =
    "tables, indexes, views or triggers were added, changed or taken away; nothing more was looked at";
  const result = obstacle(source.path, source.kind, "not_evidence", message);
  result.report.problems = [{ code: "schema_mismatch", seq: null, id: null, message }];
  return { ...result, verdict: "tampered" };
}

const DAMAGE = {
  not_a_database: "this file is no database, or its beginning is damaged",
  corrupt: "the database is damaged or cut off: it cannot be read to its end",
} as const;

/** The failure as what is wrong with the file. @throws what it is when it is no matter of the file */
function unreadable({ path }: DatabaseWish, error: unknown): SourceResult {
  const message = whyUnreadable(error);
  if (message === null) throw error;
  return obstacle(path, "unknown", "evidence_unreadable", message);
}

/** What a failure says of the file; null when it is no matter of the file. */
function whyUnreadable(error: unknown): string | null {
  if (error instanceof EncryptionMismatch) return error.advice;
  const damage = damageOf(error);
  return damage === null ? null : DAMAGE[damage];
}
