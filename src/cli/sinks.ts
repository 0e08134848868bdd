/**
 * The actions of `governd sink`. They do what the API does, but on the data directory, beside a running daemon or
 * without one.
 */
import { readFileSync } from "node:fs";
import { Validator } from "../api/validate.ts";
import { type DataDirectory, workspaceFile } from "../core/datadir/layout.ts";
import { openWorkspaceReader } from "../core/writer/file.ts";
import { Failure } from "../failure.ts";
import { AllowedPlaces } from "../follow/sinks/allowed.ts";
import { eventsBehind, testMessage } from "../follow/sinks/batch.ts";
import { SinkFailed } from "../follow/sinks/config.ts";
import { receiverOf } from "../follow/sinks/receivers.ts";
import { RandomPool, systemClock } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import { requireWorkspace } from "../ops/directory/workspaces.ts";
import { askedOf, requestOf } from "../ops/sinks/asked.ts";
import {
  changeSink,
  createSink,
  recordTest,
  removeSink,
  rotateSink,
  type SinkActParts,
  type SinkDone,
} from "../ops/sinks/rows/acts.ts";
import { shownSink, sinkConfig, stateOf } from "../ops/sinks/rows/shown.ts";
import { findSink, listSinks, SinkKey, type SinkRecord } from "../ops/sinks/rows/sinks.ts";
import { ChangedSink, NewSink } from "../ops/sinks/schema.ts";
import { Problem } from "../problem.ts";
import { sinkPlaces } from "../sink.ts";
import type { Connection } from "../store/connection.ts";
import { ACTOR, administer, consult, dataDirectoryOf } from "./data-directory.ts";
import type { Session } from "./session.ts";

/** How long a test may take, ms. */
const TEST_MS = 10_000;

/** The options that describe a sink. */
export interface SinkOptions {
  workspace?: string;
  type?: string;
  url?: string;
  start?: string;
  format?: string;
  operation?: string[];
  result?: string[];
  agent?: string[];
  details?: "on" | "off";
  enabled?: "on" | "off";
  caFile?: string;
  clientCertificateFile?: string;
  clientKeyFile?: string;
  tokenFile?: string;
  without?: string[];
}

/** Returns one sink, the sinks of a workspace, or all, with their states; the oldest first. */
export async function shownSinks(options: object, which: { id: string } | { workspaceId: string | undefined }) {
  const { directory } = dataDirectoryOf(options);
  const sinks = await consult(options, ({ connection }) => {
    if ("id" in which) return [requireSink(connection, which.id)];
    if (which.workspaceId !== undefined) requireWorkspace(connection, which.workspaceId);
    return listSinks(connection, which.workspaceId);
  });
  const found: ReturnType<typeof shown>[] = [];
  for (const sink of sinks) found.push(shown(sink, await lagOf(directory, sink)));
  return found;
}

/** Makes a sink. @throws {Failure} when the options are not valid */
export const newSink = (session: Session, options: SinkOptions) =>
  changing(session, options, async (parts, { connection }) => {
    const workspaceId = options.workspace as string;
    requireWorkspace(connection, workspaceId);
    const { type, url, start } = options;
    const from = start === undefined ? {} : { start: /^\d{1,15}$/.test(start) ? Number(start) : start };
    const members = { ...(type && { type }), ...(url && { url }), ...from, ...membersOf(options, {}) };
    const wanted = requestOf(new Validator(NewSink, "argument").parse(members as JsonObject));
    return done(await createSink(parts, { actor: ACTOR, workspaceId }, wanted));
  });

/** Changes those settings of a sink that the options name. */
export const changedSink = (session: Session, id: string, options: SinkOptions) =>
  changing(session, options, async (parts, { connection }) => {
    const sink = requireSink(connection, id);
    const members = { ...(options.url && { url: options.url }), ...membersOf(options, sink.filter as JsonObject) };
    if (Object.keys(members).length === 0) throw new Failure("usage", "Name what to change: see --help.");
    const asked = askedOf(new Validator(ChangedSink, "argument").parse(members as JsonObject));
    return done(await changeSink(parts, actorOn(sink), id, asked));
  });

/** Gives a sink new signing keys. */
export const rotatedSink = (session: Session, id: string, options: object) =>
  changing(session, options, async (parts, { connection }) =>
    done(await rotateSink(parts, actorOn(requireSink(connection, id)), id)),
  );

/** Removes a sink. */
export const removedSink = (session: Session, id: string, options: object) =>
  changing(session, options, async (parts, { connection }) => {
    const { sink, auditId } = await removeSink(parts, actorOn(requireSink(connection, id)), id);
    return { id, deleted: 1, position: sink.position, audit_id: auditId };
  });

/** Sends a record to a sink from this process. */
export const testedSink = (session: Session, id: string, options: object) =>
  changing(session, options, async (parts, { connection }) => {
    const { sink, auditId } = await recordTest(parts, actorOn(requireSink(connection, id)), id);
    const config = sinkConfig(sink, parts.key);
    const { allow, directory } = parts.places;
    using receiver = receiverOf(config, { allowed: new AllowedPlaces(allow), directory, clock: systemClock });
    const message = await receiver
      .send(testMessage(config, systemClock()), AbortSignal.timeout(TEST_MS))
      .catch((error) => {
        if (error instanceof SinkFailed) return error.message;
        throw error;
      });
    return { id, delivered: message === null, message, audit_id: auditId };
  });

/** Runs `work` on the sinks, and turns a problem into a failure for the command line. */
async function changing<T>(
  session: Session,
  options: object,
  work: (parts: SinkActParts, control: { connection: Connection }) => Promise<T>,
): Promise<T> {
  const { settings, directory } = dataDirectoryOf(options);
  try {
    return await administer(session, options, (_, acts) => {
      const parts = { ...acts, random: new RandomPool(), key: new SinkKey(directory), places: sinkPlaces(settings) };
      return work(parts, acts.control);
    });
  } catch (error) {
    if (error instanceof Problem) throw new Failure("usage", error.message);
    throw error;
  }
}

function requireSink(connection: Connection, id: string): SinkRecord {
  const sink = findSink(connection, id);
  if (sink === undefined) throw new Failure("not_found", "There is no such sink. `governd sink list` lists all.");
  return sink;
}

const actorOn = ({ workspaceId }: SinkRecord) => ({ actor: ACTOR, workspaceId });

const shown = (sink: SinkRecord, lag: number | null) => ({
  ...shownSink(sink, { ...stateOf(sink), lag }),
  workspace_id: sink.workspaceId,
});

function done({ sink, keys, auditId }: SinkDone & { auditId: string | null }) {
  const { lag: _, ...others } = shown(sink, null);
  return { ...others, ...keys, audit_id: auditId };
}

/** Returns the size of a sink's backlog, in events; null when the workspace's file cannot be read. */
async function lagOf(directory: DataDirectory, sink: SinkRecord): Promise<number | null> {
  const { workspaceId, position } = sink;
  let connection: ReturnType<typeof openWorkspaceReader>;
  try {
    connection = openWorkspaceReader(workspaceFile(directory, workspaceId), workspaceId, directory.encryptionKey);
  } catch {
    return null; // `governd check` says why
  }
  try {
    return await eventsBehind(connection, sink, position);
  } finally {
    connection.close();
  }
}

/** Returns the options as members of a request's body. @param filter the sink's present filter */
function membersOf(options: SinkOptions, filter: JsonObject): JsonObject {
  const { format, details, enabled, without = [] } = options;
  const members: JsonObject = {};
  if (format !== undefined) members.format = format;
  if (details !== undefined) members.include_details = details === "on";
  if (enabled !== undefined) members.enabled = enabled === "on";
  for (const [member, path] of [
    ["ca", options.caFile],
    ["client_certificate", options.clientCertificateFile],
    ["client_key", options.clientKeyFile],
    ["token", options.tokenFile],
  ] as const) {
    if (path !== undefined) members[member] = readFileSync(path, "utf8").trim();
  }
  const { operation: operations, result: results, agent: agents } = options;
  const lists = Object.entries({ operations, results, agents }).filter(([, words]) => words !== undefined);
  if (lists.length > 0) members.filter = { ...filter, ...Object.fromEntries(lists) } as JsonObject;
  if (without.includes("filter")) members.filter = {};
  if (without.includes("ca")) members.ca = null;
  if (without.includes("token")) members.token = null;
  if (without.includes("client-certificate")) Object.assign(members, { client_certificate: null, client_key: null });
  return members;
}
