/**
 * The actions of `governd sink`: the operations of the API, on the data directory, beside a running daemon or without
 * one.
 */
import { readFileSync } from "node:fs";
import { Validator } from "../api/validate.ts";
import { sealKeySource } from "../core/datadir/seal-key.ts";
import type { Job } from "../core/writer/job.ts";
import type { WorkspaceWriter } from "../core/writer/perform.ts";
import { Failure } from "../failure.ts";
import { listSinks } from "../follow/sinks/stored.ts";
import type { JsonObject } from "../json.ts";
import type { OperationInputs } from "../operations.ts";
import { sinkWorkspaces } from "../ops/directory/directory.ts";
import { Installation } from "../ops/directory/installation.ts";
import { fileJournal, withWriter } from "../ops/directory/journal.ts";
import { askedOf, requestOf } from "../ops/sinks/asked.ts";
import { ChangedSink, NewSink } from "../ops/sinks/schema.ts";
import { shownWithLag } from "../ops/sinks/shown.ts";
import { jobOf, lookingRun } from "../serve/threads/registry.ts";
import { sinkPlaces } from "../sink.ts";
import type { Reader } from "../store/transaction.ts";
import {
  bodyOf,
  consultInstallation,
  dataDirectoryOf,
  performSealed,
  readWorkspace,
  requireNamedWorkspace,
} from "./data-directory.ts";
import type { Session } from "./session.ts";

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
  session?: string[];
  details?: "on" | "off";
  enabled?: "on" | "off";
  caFile?: string;
  clientCertificateFile?: string;
  clientKeyFile?: string;
  tokenFile?: string;
  without?: string[];
}

/** A sink as the API shows it, and its workspace. */
type Shown = Awaited<ReturnType<typeof shownWithLag>> & { workspace_id: string };
/** The answer to a change. */
type Changed = Omit<Shown, "lag"> & { audit_id: string | null; secret?: string; public_key?: string };

/** Returns one sink, the sinks of a workspace, or all, with their states; the oldest of each workspace first. */
export async function shownSinks(options: object, which: { id: string } | { workspaceId: string | undefined }) {
  const { directory } = dataDirectoryOf(options);
  const found: Shown[] = [];
  for (const workspaceId of await workspacesOf(options, which)) {
    await readWorkspace(directory, workspaceId, async (reader) => {
      const sinks = (await listSinks(reader)).filter(({ id }) => !("id" in which) || id === which.id);
      for (const sink of sinks) found.push({ ...(await shownWithLag(reader, sink)), workspace_id: workspaceId });
    });
  }
  if ("id" in which && found.length === 0) throw noSink();
  return found;
}

/** Makes a sink. @throws {Failure} when the options are not valid */
export async function newSink(session: Session, options: SinkOptions): Promise<Changed> {
  const workspaceId = options.workspace as string;
  await requireNamedWorkspace(options, workspaceId);
  const { type, url, start } = options;
  const from = start === undefined ? {} : { start: /^\d{1,15}$/.test(start) ? Number(start) : start };
  const members = { ...(type && { type }), ...(url && { url }), ...from, ...membersOf(options, {}) };
  const wanted = requestOf(new Validator(NewSink, "argument").parse(members as JsonObject));
  return changed(await performed(session, options, workspaceId, "sink.create", wanted), workspaceId);
}

/** Changes those settings of a sink that the options name. */
export async function changedSink(session: Session, sinkId: string, options: SinkOptions): Promise<Changed> {
  const [sink] = await shownSinks(options, { id: sinkId });
  const { workspace_id: workspaceId, filter } = sink as Shown;
  const members = { ...(options.url && { url: options.url }), ...membersOf(options, filter as JsonObject) };
  if (Object.keys(members).length === 0) throw new Failure("usage", "Name what to change: see --help.");
  const change = askedOf(new Validator(ChangedSink, "argument").parse(members as JsonObject));
  return changed(await performed(session, options, workspaceId, "sink.change", { sinkId, change }), workspaceId);
}

/** Gives a sink new signing keys. */
export async function rotatedSink(session: Session, sinkId: string, options: object): Promise<Changed> {
  const workspaceId = await workspaceOf(options, sinkId);
  return changed(await performed(session, options, workspaceId, "sink.rotate", { sinkId }), workspaceId);
}

/** Removes a sink. */
export async function removedSink(session: Session, sinkId: string, options: object) {
  const [sink] = await shownSinks(options, { id: sinkId });
  const { workspace_id: workspaceId, position } = sink as Shown;
  const { audit_id } = await performed(session, options, workspaceId, "sink.remove", { sinkId });
  return { id: sinkId, deleted: 1, position, audit_id: audit_id as string };
}

/** Sends a record to a sink from this process. */
export async function testedSink(session: Session, sinkId: string, options: object) {
  const workspaceId = await workspaceOf(options, sinkId);
  const tested = await performed(session, options, workspaceId, "sink.test", { sinkId });
  return { id: sinkId, ...tested } as { id: string; delivered: boolean; message: string | null; audit_id: string };
}

const workspaceOf = async (options: object, id: string): Promise<string> =>
  ((await shownSinks(options, { id }))[0] as Shown).workspace_id;

/** Returns the workspaces in which to look for sinks. */
async function workspacesOf(options: object, which: { id: string } | { workspaceId: string | undefined }) {
  const workspaceId = "id" in which ? undefined : which.workspaceId;
  if (workspaceId === undefined)
    return await consultInstallation(options, (connection) => [...sinkWorkspaces(connection).keys()], []);
  await requireNamedWorkspace(options, workspaceId);
  return [workspaceId];
}

type SinkOperation = "sink.create" | "sink.change" | "sink.rotate" | "sink.remove" | "sink.test";

/** Performs an operation as the command line. Returns its answer. @throws {Failure} when it is refused */
async function performed<N extends SinkOperation>(
  session: Session,
  options: object,
  workspaceId: string,
  name: N,
  input: OperationInputs[N],
): Promise<JsonObject> {
  const { settings, directory } = dataDirectoryOf(options);
  const work = async (writer: WorkspaceWriter, reader: Reader) => {
    const reply = await performSealed(session, writer, { operation: name, run: runOf(name, input) });
    return { reply, some: (await listSinks(reader)).length > 0 };
  };
  const site = { sinkKey: directory.sinkKey, places: sinkPlaces(settings) };
  const key = sealKeySource(directory, settings.seal_key);
  const { reply, some } = await withWriter(directory, key, workspaceId, work, { site: () => site });
  // A running daemon learns of it.
  using installation = await Installation.open(directory);
  await fileJournal(directory, { key }).note(installation.id, { kind: "sinks", workspaceId, some });
  await installation.changed();
  return bodyOf(reply);
}

function runOf<N extends SinkOperation>(name: N, input: OperationInputs[N]): Job["run"] {
  if (name !== "sink.test") return (...given) => jobOf({ name, input, principal: given[1].principal }).run(...given);
  return lookingRun(name, input);
}

const noSink = () => new Failure("not_found", "There is no such sink. `governd sink list` lists all.");

const changed = ({ lag: _, ...answer }: JsonObject, workspaceId: string): Changed =>
  ({ ...answer, workspace_id: workspaceId }) as unknown as Changed;

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
  const { operation: operations, result: results, agent: agents, session: sessions } = options;
  const lists = Object.entries({ operations, results, agents, sessions }).filter(([, words]) => words !== undefined);
  if (lists.length > 0) members.filter = { ...filter, ...Object.fromEntries(lists) } as JsonObject;
  if (without.includes("filter")) members.filter = {};
  if (without.includes("ca")) members.ca = null;
  if (without.includes("token")) members.token = null;
  if (without.includes("client-certificate")) Object.assign(members, { client_certificate: null, client_key: null });
  return members;
}
