/** The real daemon in this process: real certificates, real files, a free port. */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { readPointer } from "../../src/core/datadir/pointer.ts";
import { systemClock } from "../../src/ids.ts";
import { type Daemon, startDaemon } from "../../src/serve/daemon/daemon.ts";
import { Logger } from "../../src/serve/daemon/logger.ts";
import type { SettingName, Settings } from "../../src/settings/definitions.ts";
import { resolveSettings } from "../../src/settings/resolve.ts";
import { serverOptions } from "../../src/settings/server-options.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { administer, makeKey } from "./administration.ts";
import { keepAuthority, lendAuthority } from "./authority.ts";
import { Client } from "./client.ts";
import { Confidences } from "./confidences.ts";
import { flagsFor, noteServer, TEST_ENGINE, type TestEngine } from "./engine.ts";
import { LibsqlServer } from "./libsql-server.ts";
import { WorkspaceView } from "./workspace-view.ts";

/** A workspace for a test, with a client of full scope and a view of its file. */
export interface TestWorkspace {
  id: string;
  client: Client;
  view: WorkspaceView;
}

export interface TestDaemonOptions {
  flags?: Partial<Record<SettingName, string>>;
  /** By default the engine of the whole test run. */
  engine?: TestEngine;
  /** Added to the system's clock, ms. */
  clockOffsetMs?: number;
  /** At its end, its output is searched for its clients' confidential texts: see {@link Confidences}. */
  confided?: true;
}

export class TestDaemon implements AsyncDisposable {
  readonly #directory: TemporaryDirectory;
  /** The libSQL server that was started for it; null without one. */
  readonly server: LibsqlServer | null;
  readonly #settings: Settings;
  readonly #views: WorkspaceView[] = [];
  readonly #log: LogText;
  readonly #confidences: Confidences | null;
  readonly #workspaceKeys: string[] = [];
  #launched: Launched;
  #isStopped = false;

  private constructor(
    directory: TemporaryDirectory,
    settings: Settings,
    log: LogText,
    launched: Launched,
    confidences: Confidences | null,
    server: LibsqlServer | null,
  ) {
    this.server = server;
    this.#confidences = confidences;
    this.#directory = directory;
    this.#settings = settings;
    this.#log = log;
    this.#launched = launched;
  }

  static async start(options: TestDaemonOptions = {}): Promise<TestDaemon> {
    const directory = temporaryDirectory();
    const watched = options.confided ? { log_level: "debug", metrics_listen: "127.0.0.1:0" } : {};
    const dataDir = join(directory.path, "data");
    const engine = options.engine ?? TEST_ENGINE;
    const server = engine === "embedded" ? null : await LibsqlServer.start({ maxActiveNamespaces: 1_000 });
    const onServer = server === null ? {} : flagsFor(server);
    // A state root would be an event that no request of a test makes.
    const settings = settingsOf(dataDir, { state_roots: "off", ...watched, ...onServer, ...options.flags });
    noteServer(dataDir, serverOptions(settings));
    const isLent = settings.tls === "auto" && options.clockOffsetMs === undefined;
    if (isLent) lendAuthority(dataDir);
    const log: LogText = { text: "" };
    const launched = await launch(settings, options.clockOffsetMs ?? 0, log);
    if (isLent) keepAuthority(dataDir);
    const confidences = options.confided ? new Confidences() : null;
    return new TestDaemon(directory, settings, log, launched, confidences, server);
  }

  /** Starts another node on the libSQL server of this one, with the same seal key. */
  anotherNode(flags: TestDaemonOptions["flags"] = {}): Promise<TestDaemon> {
    const seal_key = join(this.dataDir, "keys", "seal.key");
    return TestDaemon.start({
      engine: "embedded",
      flags: { ...flagsFor(this.server as LibsqlServer), seal_key, ...flags },
    });
  }

  get url(): string {
    return this.#launched.daemon.url;
  }

  /** Where metrics are served; null without `metrics_listen`. */
  get metricsUrl(): string | null {
    return this.#launched.daemon.metricsUrl;
  }

  /** The page with the one-time token that the start printed; null if there was an account. */
  get signUpUrl(): string | null {
    return this.#launched.daemon.signUpUrl;
  }

  /** The id of the log of the installation. */
  get installationId(): string {
    return readPointer(dataDirectory(this.dataDir))?.installation_id as string;
  }

  /** Returns a view of the file of a workspace that was made over HTTP. */
  viewOf(workspaceId: string): WorkspaceView {
    const view = new WorkspaceView(join(this.dataDir, "workspaces", `${workspaceId}.db`));
    this.#views.push(view);
    return view;
  }

  get dataDir(): string {
    return this.#launched.daemon.dataDir;
  }

  /** The certificate authority to trust, PEM. */
  get ca(): string {
    return readFileSync(this.#launched.daemon.authorityFile as string, "utf8");
  }

  client(apiKey: string): Client {
    return new Client(this.url, this.ca, apiKey, this.#confidences);
  }

  /** Makes a workspace with a key of full scope. */
  async workspace(name = "test"): Promise<TestWorkspace> {
    const { workspace, apiKey } = await administer(this.dataDir, (administration) =>
      administration.createWorkspace(name),
    );
    const view = new WorkspaceView(join(this.dataDir, "workspaces", `${workspace.id}.db`));
    this.#views.push(view);
    this.#workspaceKeys.push(apiKey);
    return { id: workspace.id, client: this.client(apiKey), view };
  }

  /** Returns a client with a new key of the workspace. */
  async clientWith(workspaceId: string, wish: Parameters<typeof makeKey>[2]): Promise<Client> {
    return this.client((await makeKey(this.dataDir, workspaceId, wish)).apiKey);
  }

  /** Returns everything that the daemon has written to its log. */
  async log(): Promise<string> {
    await this.#launched.logger.flush();
    return this.#log.text;
  }

  /** Restarts the daemon on the same directory, with its clock moved, or with other settings. */
  async restart(clockOffsetMs = 0, settings: Partial<Settings> = {}): Promise<void> {
    await this.stop();
    this.#launched = await launch({ ...this.#settings, ...settings }, clockOffsetMs, this.#log);
    this.#isStopped = false;
  }

  /** Applies other settings to the running daemon, as SIGHUP does. Settings that are not named are those of `start`. */
  reload(settings: Partial<Settings>): Promise<void> {
    return this.#launched.daemon.reload({ ...this.#settings, ...settings });
  }

  /** Sets the main thread's clock, by which sessions and keys expire. Other threads keep theirs until `restart`. */
  setClock(offsetMs: number): void {
    this.#launched.time.offsetMs = offsetMs;
  }

  /** Searches the metrics and the audit exports, which only a running daemon gives. Returns the given texts. */
  async #searched(confidences: Confidences): Promise<Confidences> {
    const metrics = await fetch(this.metricsUrl as string);
    // Names and help texts are fixed; only labels could contain a client's text.
    const labels = [...(await metrics.text()).matchAll(/="([^"]*)"/g)].map(([, label]) => label).join("\n");
    confidences.assertKeptBy("the metrics", labels);
    for (const apiKey of this.#workspaceKeys) {
      const body = { scope: "workspace", format: "ndjson" };
      const trail = await new Client(this.url, this.ca, apiKey).post("/v1/audit/export", body);
      expect(trail.status).toBe(200);
      confidences.assertKeptByTrail(trail.text);
    }
    return confidences;
  }

  /** Stops the daemon; `restart` starts it again. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    await this.#launched.daemon[Symbol.asyncDispose]();
    await this.#launched.logger[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const leaks = this.#confidences === null ? null : await this.#searched(this.#confidences);
    await this.stop();
    leaks?.assertKeptBy("the log", this.#log.text);
    for (const view of this.#views) view[Symbol.dispose]();
    this.#directory[Symbol.dispose]();
    await this.server?.[Symbol.asyncDispose]();
  }
}

interface LogText {
  text: string;
}

interface Launched {
  logger: Logger;
  time: { offsetMs: number };
  daemon: Daemon;
}

async function launch(settings: Settings, clockOffsetMs: number, log: LogText): Promise<Launched> {
  const time = { offsetMs: clockOffsetMs };
  const clock = () => systemClock() + time.offsetMs;
  const sink = {
    write: async (piece: string) => {
      log.text += piece;
    },
  };
  const logger = new Logger({ level: settings.log_level, format: "json", clock, sink });
  return { logger, time, daemon: await startDaemon(settings, clock, logger) };
}

function settingsOf(dataDir: string, flags: Partial<Record<SettingName, string>>): Settings {
  const resolution = resolveSettings({
    flags: { data_dir: dataDir, listen: "127.0.0.1:0", ...flags },
    environment: {},
    file: null,
    // One workspace thread unless a test sets more: each takes a seventh of a second of processor time to start.
    world: { cwd: dataDir, cores: 1 },
  });
  if (!resolution.ok) throw new Error(resolution.mistakes.join("\n"));
  return resolution.settings;
}
