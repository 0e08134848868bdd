/**
 * Verifies a control database: compares its rows with those that the events of all workspaces lead to. Only what events
 * record can be verified; {@link NOT_COVERED} lists the rest.
 */

import { randomPartOf } from "../../ids.ts";
import type { ControlTable } from "../../log/control-effects.ts";
import { CONTROL_MIGRATIONS, CONTROL_SCHEMA } from "../../ops/directory/database.ts";
import { INSTALLATION_CREATOR } from "../../ops/directory/workspaces.ts";
import type { Connection } from "../../store/connection.ts";
import { schemaVersion } from "../../store/migrate.ts";
import type { Reader } from "../../store/transaction.ts";
import { alone } from "../causes.ts";
import type { ProblemCode } from "../codes.ts";
import type { Problem } from "../problems.ts";
import { newResult, type Obstacle, obstacle, reported, reportedObstacle, type SourceResult } from "../report.ts";
import type { SourceReport } from "../report-schema.ts";
import { checkFile, hasTable, schemaChanges } from "../rows/schema.ts";
import { damageObstacle, schemaProblem, unknownSchema, unreadable, withAnySchema } from "../sources.ts";
import { type ControlEvent, type ControlLog, readControlLog } from "./events.ts";
import { besideBackup, type ExpectedRow, expectedRows, type Lag, workspacesNamed } from "./expected.ts";
import { differences, finish, isActOf, type PendingAct, pendingActs, type StoredRow, storedRows } from "./stored.ts";

/** Data that no event records, whose changes cannot be detected. */
const NOT_COVERED = [
  "accounts: names, mail addresses, passwords and codes; what passkeys are called, and when they were used",
  "sessions, recovery_codes, devices",
  "identities at an issuer, and which roles its groups gave",
  "links that create an account or set a password, and invitations that the operator made",
  "api_keys.last_used_at, workspaces.created_at, when a founder joined",
] as const;

/** One workspace of the data directory. */
interface KnownLog {
  workspaceId: string;
  /** Null when the log could not be read or is not intact. Nothing is then compared with it. */
  log: ControlLog | null;
}

interface ControlRequest {
  /** The name of the file in reports. */
  path: string;
  logs: readonly KnownLog[];
  /** When the backup was made; null when the directory is not a backup. */
  backupCreatedAt: string | null;
  /** Reads the log of a workspace again, with events that were recorded meanwhile; null when it cannot be read. */
  again(workspaceId: string): Promise<ControlLog | null>;
  /** The only workspace whose rows are compared; by default, all rows are. */
  only?: string;
}

/** The name of a row of each table in problems, before its id. */
export const ROW_NAMES = {
  ...({ workspaces: "workspace", api_keys: "key", members: "member", links: "invitation" } as const),
  ...({ passkeys: "passkey" } as const),
} satisfies Record<ControlTable, string>;

/** The result for the rows of one workspace in the control database. */
interface OwnRows {
  verdict: SourceResult["verdict"];
  /** The number of rows that agree with the log. */
  rows: number;
  problems: SourceResult["report"]["problems"];
}

/**
 * Compares the rows of one workspace with its log while both may be written to. Returns null for a log without a head.
 */
export async function verifyOwnRows(connection: Connection, reader: Reader): Promise<OwnRows | null> {
  const log = await readControlLog(reader);
  if (log === null) return null;
  const { workspaceId } = log;
  const again = () => readControlLog(reader);
  const request = { path: "control.db", logs: [{ workspaceId, log }], backupCreatedAt: null, again, only: workspaceId };
  const { verdict, agreeing, report } = await verifyControl(connection, request);
  const rows = Object.values(agreeing ?? {}).reduce((sum, count) => sum + count, 0);
  return { verdict, rows, problems: report.problems };
}

/** Verifies a control database. It must have been opened after the logs were read. Never writes to it. */
export async function verifyControl(connection: Connection, request: ControlRequest): Promise<SourceResult> {
  try {
    if (schemaVersion(connection) === 0 && !withAnySchema(connection, () => hasTable(connection, "workspaces"))) {
      return obstacle(request.path, "control", "not_evidence", "this is not the control database of governd");
    }
    const unknown = unknownSchema(connection, CONTROL_SCHEMA);
    if (unknown !== null) return obstacle(request.path, "control", unknown.code, unknown.message);
    const { problems, damage, unclear } = await checkFile(connection);
    const unread = damage ?? unclear;
    if (unread !== null) {
      const { code, message } = damageObstacle(unread);
      return obstacle(request.path, "control", code, message);
    }
    const changes = withAnySchema(connection, () => schemaChanges(connection, CONTROL_MIGRATIONS));
    const changed = changes.map(({ message, table }) => ({ message: `${message}; no row was compared`, table }));
    if (changed.length > 0) return resultOf(request.path, changed.map(schemaProblem));
    return await verifyRows(connection, request, problems.map(schemaProblem));
  } catch (error) {
    return unreadable(request, error);
  }
}

async function verifyRows(connection: Connection, request: ControlRequest, before: Problem[]): Promise<SourceResult> {
  const { stored, pending } = readRows(connection, request);
  const logs = new Map(request.logs.map(({ workspaceId, log }) => [workspaceId, log]));
  for (const { workspaceId } of stored.values()) {
    if (logs.has(workspaceId)) continue;
    // The workspace was created while the others were verified.
    if ((await request.again(workspaceId)) !== null) logs.set(workspaceId, null);
  }
  const problems = [...before, ...finishPending(pending, logs, stored, request.backupCreatedAt)];
  const expected = new Map<string, ExpectedRow>();
  const isBehind = new Set<string>();
  for (const log of logs.values()) {
    if (log === null) continue;
    const lag: Lag = { backupCreatedAt: request.backupCreatedAt, afterSeq: log.headSeq };
    const rows = await expectedNow(log, lag, stored, request);
    for (const [name, row] of rows) expected.set(name, row);
    for (const name of behind(log, lag, stored)) isBehind.add(name);
    if (request.only === undefined) problems.push(...(await missingWorkspaces(log, lag, logs, request)));
  }
  const agreeing = { workspaces: 0, api_keys: 0, members: 0, links: 0, passkeys: 0 };
  const uncovered = new Map<string, number>();
  for (const [name, row] of expected) {
    const problem = problemOf(row, stored.get(name));
    if (problem !== null) problems.push(problem);
    else if (stored.has(name) && !isBehind.has(name) && !isInstallation(stored.get(name))) agreeing[row.table] += 1;
  }
  for (const [name, row] of stored) {
    if (expected.has(name) || (request.only !== undefined && row.workspaceId !== request.only)) continue;
    const why = whyUncovered(row, logs);
    if (why === null) problems.push(addedProblem(row));
    else uncovered.set(why, (uncovered.get(why) ?? 0) + 1);
  }
  const notCovered = [...uncovered].filter(([why]) => why !== "").map(([why, count]) => `${count} rows: ${why}`);
  const window = besideOf([...logs.values()], request.backupCreatedAt);
  const obstacles = isBehind.size === 0 ? [] : [behindObstacle(isBehind.size, request.backupCreatedAt ?? "")];
  return resultOf(request.path, problems, { notCovered, agreeing, window, obstacles });
}

/** Returns the rows of a backup that are in their state before acts that its logs have. */
function behind(log: ControlLog, lag: Lag, stored: ReadonlyMap<string, StoredRow>): string[] {
  if (lag.backupCreatedAt === null) return [];
  const newest = expectedRows(log, { ...lag, backupCreatedAt: null });
  return [...newest].filter(([name, row]) => problemOf(row, stored.get(name)) !== null).map(([name]) => name);
}

const behindObstacle = (rows: number, since: string): Obstacle => ({
  code: "copied_while_written",
  message: `${rows} ${rows === 1 ? "row" : "rows"} of it ${rows === 1 ? "is as it was" : "are as they were"} before acts that the logs have since ${since} (created_at of manifest.json, which nobody signs): a backup copies it before the logs, so such acts are missing in it, or somebody put older rows back: restore the backup, which makes the acts again, and verify that`,
});

/** Returns the missing workspaces that the log of the installation names. (governd never deletes workspaces.) */
async function missingWorkspaces(
  log: ControlLog,
  lag: Lag,
  logs: ReadonlyMap<string, ControlLog | null>,
  { again }: ControlRequest,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { id, event } of workspacesNamed(log, lag)) {
    // The workspace may have been created while the others were verified.
    if (logs.has(id) || (await again(id)) !== null) continue;
    const message = `workspaces ${id}: nothing of it is there; ${log.workspaceId} says in event ${event.seq} (${event.operation}, ${event.timestamp}) that it was made`;
    problems.push({ code: "workspace_missing", ...placeOf(event), message, row: { table: "workspaces", key: id } });
  }
  return problems;
}

/** Returns the acts of all logs that a backup may lack; null when this is not a backup. */
function besideOf(logs: readonly (ControlLog | null)[], backupCreatedAt: string | null) {
  if (backupCreatedAt === null) return null;
  const events = logs.flatMap((log) => (log === null ? [] : besideBackup(log, backupCreatedAt)));
  return { since: backupCreatedAt, acts: events.filter(({ changes }) => changes.length > 0).length };
}

/** Whether a row is that of the log of the installation, which is not shown as a workspace. */
const isInstallation = (row: StoredRow | undefined): boolean =>
  row?.table === "workspaces" && row.columns.created_by === INSTALLATION_CREATOR;

/** Reads rows and pending acts in one transaction, since an act that is finished in between would be in neither. */
function readRows(connection: Connection, { only, logs }: ControlRequest) {
  const ids = logs.flatMap(({ log }) => log?.events.flatMap(({ changes }) => changes.map(({ id }) => id)) ?? []);
  connection.exec("BEGIN");
  try {
    const stored = storedRows(connection, only === undefined ? undefined : { workspaceId: only, ids });
    return { stored, pending: pendingActs(connection) };
  } finally {
    connection.exec("COMMIT");
  }
}

/**
 * Applies the pending acts whose events are in the logs, as the next start of the daemon will. Until then the rows must
 * be in their state before the act, which could otherwise hide changes.
 */
function finishPending(
  pending: readonly (PendingAct | null)[],
  logs: ReadonlyMap<string, ControlLog | null>,
  stored: Map<string, StoredRow>,
  backupCreatedAt: string | null,
): Problem[] {
  return pending.flatMap((act): Problem[] => {
    const changed = (message: string, event?: ControlEvent, key: string | null = null): Problem[] => [
      { code: "act_changed", ...placeOf(event), message, row: { table: "pending_acts", key } },
    ];
    if (act === null) return changed("pending_acts: a row does not have the form of an act");
    const { workspaceId, event } = act;
    const log = logs.get(workspaceId);
    const recorded = log?.events.find(({ id }) => randomPartOf(id) === randomPartOf(event.id));
    // An act without its event will be dropped.
    if (log == null || recorded === undefined) return [];
    if (!isActOf(act, recorded)) {
      const message = `pending_acts ${workspaceId}: the act is not what event ${recorded.seq} of this workspace says`;
      return changed(message, recorded, workspaceId);
    }
    const touched = finish(stored, act);
    if (touched === null || [...touched.values()].some((row) => row.workspaceId !== workspaceId)) {
      return changed(
        `pending_acts ${workspaceId}: the act changes rows that it cannot be about`,
        recorded,
        workspaceId,
      );
    }
    const events = log.events.filter(({ seq }) => seq < recorded.seq);
    const earlier = expectedRows({ ...log, events }, { backupCreatedAt, afterSeq: log.headSeq });
    return [...touched].flatMap(([name, row]) => {
      const expected = earlier.get(name);
      return (expected && problemOf(expected, row)) ?? [];
    });
  });
}

/**
 * Returns the rows to which a log leads. If the stored rows differ, reads the log again, with events recorded
 * meanwhile.
 */
async function expectedNow(
  log: ControlLog,
  lag: Lag,
  stored: ReadonlyMap<string, StoredRow>,
  { again }: ControlRequest,
) {
  const rows = expectedRows(log, lag);
  const agrees =
    [...rows].every(([name, row]) => problemOf(row, stored.get(name)) === null) &&
    [...stored].every(([name, row]) => row.workspaceId !== log.workspaceId || rows.has(name));
  if (agrees) return rows;
  const now = await again(log.workspaceId);
  return now === null || now.headSeq <= log.headSeq ? rows : expectedRows(now, lag);
}

function problemOf(expected: ExpectedRow, row: StoredRow | undefined): Problem | null {
  const found = expected.states.map((state) => differences(state, row));
  if (found.some((columns) => columns?.length === 0)) return null;
  const prefix = ROW_NAMES[expected.table];
  const wrong = found.filter((columns) => columns !== null).toSorted((a, b) => a.length - b.length)[0];
  if (wrong === undefined) {
    const missing = row === undefined;
    const code: ProblemCode = missing ? `${prefix}_missing` : `${prefix}_added`;
    return problem(code, expected, null, missing ? "the row is gone" : "the row is there again");
  }
  const moved = expected.table === "api_keys" && wrong.includes("workspace_id");
  const code: ProblemCode = moved ? "key_moved" : `${prefix}_changed`;
  return problem(
    code,
    expected,
    wrong[0] as string,
    `${wrong.join(", ")} ${wrong.length === 1 ? "is" : "are"} changed`,
  );
}

/** Returns a problem of a row, with the last event that states the column, or else the last event about the row. */
function problem(code: ProblemCode, row: ExpectedRow, column: string | null, what: string): Problem {
  const said = row.events.findLast(({ columns }) => column !== null && column in columns) ?? row.events.at(-1);
  const place = placeOf(said?.event);
  const { operation = "", timestamp = "" } = said?.event ?? {};
  const message = `${row.table} ${row.id}: ${what}; ${row.workspaceId} says otherwise in event ${place.seq} (${operation}, ${timestamp})`;
  return { code, ...place, message, row: { table: row.table, key: row.id } };
}

/** Returns the members of a problem that name the contradicting event. */
function placeOf(event: ControlEvent | undefined): Pick<Problem, "seq" | "id" | "event"> {
  if (event === undefined) return { seq: null, id: null };
  const { seq, id, agent_seq, operation, timestamp } = event;
  return { seq, id, event: { agent_id: null, agent_seq, operation, timestamp } };
}

function addedProblem({ table, id, workspaceId }: StoredRow): Problem {
  const message = `${table} ${id}: no event of ${workspaceId} created this row`;
  return { code: `${ROW_NAMES[table]}_added`, seq: null, id: null, message, row: { table, key: id } };
}

/** Returns why a row that no event names is not a problem; null when it is one, "" when it need not be mentioned. */
function whyUncovered({ table, workspaceId, columns }: StoredRow, logs: ReadonlyMap<string, ControlLog | null>) {
  if (table === "links" && columns.kind !== "invitation") return "";
  if (table === "links" && (columns.created_by === "cli" || columns.created_by === "system")) return "";
  const log = logs.get(workspaceId);
  if (log === undefined) return null;
  if (log === null) return "the log of their workspace is missing or not intact";
  return null;
}

interface ControlFindings {
  notCovered: readonly string[];
  agreeing: SourceResult["agreeing"];
  window: SourceReport["window"] | null;
  obstacles: readonly Obstacle[];
}

function resultOf(path: string, problems: readonly Problem[], found: Partial<ControlFindings> = {}): SourceResult {
  const { notCovered = [], agreeing, window = null, obstacles = [] } = found;
  return newResult(path, "control", {
    report: { ...(window && { window }), not_covered: [...NOT_COVERED, ...notCovered] },
    verdict: problems.length > 0 ? "tampered" : obstacles.length > 0 ? "undetermined" : "verified",
    problems: [
      ...obstacles.map(({ code, message }) => reportedObstacle(code, message)),
      ...problems.map(alone).map(reported),
    ],
    completeness: { is: "partial", part: "the rows that events record" },
    ...(agreeing && { agreeing }),
  });
}
