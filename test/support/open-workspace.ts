/** A workspace in this process, without threads and HTTP: its writer, with a clock that the test may choose. */

import { dirname, join } from "node:path";
import { wholeText } from "../../src/core/long-text.ts";
import { applyEffect } from "../../src/core/rows/apply.ts";
import { SearchIndexes } from "../../src/core/rows/search-indexes.ts";
import type { Principal, Reply } from "../../src/core/writer/contract.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import type { Job } from "../../src/core/writer/job.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { NO_SITE } from "../../src/core/writer/site.ts";
import { TimeSlice } from "../../src/core/writer/time-slice.ts";
import { type OpenedCopy, ServerEngine } from "../../src/engine-libsql/server-engine.ts";
import { IdSource, systemClock } from "../../src/ids.ts";
import type { JsonValue } from "../../src/json.ts";
import { seesSetAside } from "../../src/log/event.ts";
import { verifierKey } from "../../src/log/note.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { jobOf, lookOf } from "../../src/serve/threads/registry.ts";
import type { Connection } from "../../src/store/connection.ts";
import type { Reader } from "../../src/store/transaction.ts";
import { serverOfDirectory } from "./engine.ts";

/** Stands for a key that nobody has: what it would seal stays unsealed. */
const NO_KEY = new Uint8Array(32);

/** Makes a workspace's file in a directory, to be sealed with the key that `publicKey` belongs to. Returns its id. */
export async function makeWorkspace(
  directory: string,
  clock = systemClock,
  publicKey: Uint8Array = NO_KEY,
): Promise<string> {
  const workspaceId = new IdSource(clock).next("ws");
  const genesis = { workspaceId, name: "test", actor: "cli", sealKey: verifierKey(`test/${workspaceId}`, publicKey) };
  await createWorkspaceFile(join(directory, `${workspaceId}.db`), genesis, clock);
  return workspaceId;
}

/** Returns a principal that may do everything in a workspace. */
export function anybody(workspaceId: string): Principal {
  return { actor: "usr_01h455vb4pex5vsknk084sn02q", workspaceId, scope: "full", agents: null };
}

/** The host that sinks of these workspaces may deliver to. */
const RECEIVER = "siem.example.org";

/** A new sink that these workspaces accept. */
export const SINK_WISH: OperationInputs["sink.create"] = {
  ...({ type: "webhook", url: `https://${RECEIVER}/t0ken`, format: "ocsf", start: "now" } as const),
  ...{ filter: {}, includeDetails: false, enabled: true },
  ...{ ca: null, clientCertificate: null, clientKey: null, token: null },
};

export interface Failure {
  operation: string;
  error: unknown;
}

export class OpenWorkspace implements Disposable {
  readonly failures: Failure[] = [];
  readonly writer: WorkspaceWriter;
  readonly principal: Principal;

  constructor(
    readonly path: string,
    clock = systemClock,
    slice = TimeSlice.endless(),
    { connection, engine }: Partial<OpenedCopy> = {},
  ) {
    this.connection = connection ?? openWorkspaceFile(path);
    const onFailure = (operation: string, error: unknown) => void this.failures.push({ operation, error });
    const site = { sinkKey: join(dirname(path), "sinks.key"), places: { allow: [RECEIVER], directory: null } };
    this.writer = new WorkspaceWriter(this.connection, {
      ...{ clock, onFailure, slice, site: () => site },
      ...(engine && { engine }),
    });
    this.principal = anybody(this.writer.workspaceId);
  }

  readonly connection: Connection;

  static async make(directory: string, clock = systemClock, slice?: TimeSlice): Promise<OpenWorkspace> {
    return new OpenWorkspace(join(directory, `${await makeWorkspace(directory, clock)}.db`), clock, slice);
  }

  /**
   * Opens a workspace beside its daemon, as another process does: its file, or a copy in `folder` of what is on the
   * daemon's server.
   */
  static async beside(dataDir: string, workspaceId: string, folder: string): Promise<OpenWorkspace> {
    const server = serverOfDirectory(dataDir);
    if (server === null) return new OpenWorkspace(join(dataDir, "workspaces", `${workspaceId}.db`));
    const path = join(folder, `${workspaceId}.db`);
    const opened = await new ServerEngine(server, () => {}).open(workspaceId, path, null);
    return new OpenWorkspace(path, undefined, undefined, opened);
  }

  /** Returns the job of an operation, to be performed. */
  job<N extends OperationName>(name: N, input: OperationInputs[N]) {
    return jobOf<N>({ name, input, principal: this.principal });
  }

  /** Returns what an operation finds out before it is run, as a reader thread does. */
  async look<N extends OperationName>(name: N, input: OperationInputs[N]): Promise<JsonValue> {
    const { connection, principal, writer } = this;
    const who = { workspaceId: writer.workspaceId, principal, seesSetAside: seesSetAside(principal.actor) };
    const apart = <T>(read: (reader: Reader) => Promise<T>) => read(connection);
    const parts = { site: NO_SITE, indexes: new SearchIndexes(0), queryEmbedder: null };
    const context = { ...who, nowMs: writer.nowMs(), apart, ...parts };
    return (await lookOf(name)(connection, context, input)) as JsonValue;
  }

  /** Performs an operation that is looked up before. */
  async performLooked<N extends OperationName>(name: N, input: OperationInputs[N]): Promise<Reply> {
    const job = jobOf<N>({ name, input, principal: this.principal }, await this.look(name, input));
    return (await this.writer.perform([job]))[0] as Reply;
  }

  /** Sets the present version of a key aside. */
  async setAside(agentId: string, key: string): Promise<Reply> {
    const wish = { agentId, key, version: null, effects: null };
    const { digest } = bodyOf(await this.performLooked("quarantine.preview", wish));
    return this.performLooked("quarantine.set", { ...wish, reason: "r", digest });
  }

  /** Returns a job that applies its effect and then fails. */
  failing(job: Job, error: Error): Job {
    const run: Job["run"] = async (...given) => {
      const outcome = await job.run(...given);
      if ("unrecorded" in outcome || outcome.agent === null) throw new Error("a job that is to fail needs an agent");
      await applyEffect(this.connection, outcome.agent, outcome.effect, given[1]);
      throw error;
    };
    return { ...job, run };
  }

  async perform<N extends OperationName>(name: N, input: OperationInputs[N]): Promise<Reply> {
    const [settled] = await this.writer.perform([this.job(name, input)]);
    return settled as Reply;
  }

  [Symbol.dispose](): void {
    this.writer.close();
  }
}

/** Returns the body of a reply. @throws {Error} with the answer, when it is not JSON */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every form
export function bodyOf({ answer }: Reply): any {
  if (answer.kind !== "json") throw new Error(`answered ${JSON.stringify(answer)}`);
  return JSON.parse(wholeText(answer.body));
}
