/** Nodes on one libSQL server, each a process with its own data directory. The network to the server can fail. */
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../src/failure.ts";
import { type RunningDaemon, type RunOptions, startGovernd } from "../cli/governd-process.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { administer } from "./administration.ts";
import { Client } from "./client.ts";
import { noteServer } from "./engine.ts";
import { FaultProxy } from "./fault-proxy.ts";
import { LibsqlServer } from "./libsql-server.ts";

interface NodesOptions extends RunOptions {
  nodes?: number;
  /** Where everything is: on a disk for nodes that are to last as long as the program. */
  parent?: string;
  /** More flags for `serve`, by the number of the node. */
  flags?: (node: number) => readonly string[];
}

/** One node. */
export class Node {
  #daemon: RunningDaemon | null = null;
  #isFrozen = false;

  constructor(
    readonly dataDir: string,
    private readonly words: readonly string[],
    private readonly options: RunOptions,
  ) {}

  async start(): Promise<void> {
    this.#daemon ??= await startGovernd(this.dataDir, this.words, this.options);
  }

  get isRunning(): boolean {
    return this.#daemon !== null && !this.#isFrozen;
  }

  /** @throws {Error} while it is not started */
  get daemon(): RunningDaemon {
    if (this.#daemon === null) throw new Error("the node is not started");
    return this.#daemon;
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = null;
    this.resume();
    await daemon?.stop(signal);
  }

  /** Stops its process until `resume`, at any point of its work, as a machine does that swaps. */
  freeze(): void {
    this.#isFrozen = true;
    this.#daemon?.signal("SIGSTOP");
  }

  resume(): void {
    this.#isFrozen = false;
    this.#daemon?.signal("SIGCONT");
  }
}

export class Nodes implements AsyncDisposable {
  private constructor(
    private readonly directory: TemporaryDirectory,
    readonly server: LibsqlServer,
    /** The network between the nodes and the server. */
    readonly network: FaultProxy,
    readonly nodes: readonly Node[],
    /** The certificate authority to trust, PEM. */
    readonly ca: string,
  ) {}

  /** Starts a server and nodes that share the keys and the certificate authority of the first one. */
  static async start({ nodes = 3, parent, flags = () => [], ...run }: NodesOptions = {}): Promise<Nodes> {
    const directory = temporaryDirectory(parent);
    const server = await LibsqlServer.start(parent === undefined ? {} : { parent });
    const network = await FaultProxy.start(server.url);
    const words = serverWords(server, network.url);
    const made = Array.from(
      { length: nodes },
      (_, at) => new Node(join(directory.path, `node${at + 1}`), [...words, ...flags(at)], run),
    );
    const [first, ...others] = made as [Node, ...Node[]];
    await first.start();
    for (const { dataDir } of others) shareKeys(first.dataDir, dataDir);
    await Promise.all(others.map((node) => node.start()));
    const ca = readFileSync(join(first.dataDir, "tls", "ca.crt"), "utf8");
    return new Nodes(directory, server, network, made, ca);
  }

  /** Makes a workspace. Returns its id, and a key of full scope. */
  async workspace(name: string): Promise<{ id: string; apiKey: string }> {
    const { dataDir } = this.nodes[0] as Node;
    const { url, token: authToken, adminUrl, adminToken } = this.server;
    noteServer(dataDir, { url, authToken, adminUrl, adminToken, replicaUrls: [] });
    const { workspace, apiKey } = await untilNotBusy(() =>
      administer(dataDir, (administration) => administration.createWorkspace(name)),
    );
    return { id: workspace.id, apiKey };
  }

  /** Returns a client for each node that is started and not frozen. */
  clients(apiKey: string): Client[] {
    return this.nodes.filter((node) => node.isRunning).map(({ daemon }) => new Client(daemon.url, this.ca, apiKey));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    await this.network[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
    this.directory[Symbol.dispose]();
  }
}

/** Does what a busy server refused again, as its message says. */
async function untilNotBusy<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "busy") throw error;
      await Bun.sleep(100);
    }
  }
}

/** Returns the settings of the server as words of the command line. */
const serverWords = ({ token, adminUrl, adminToken }: LibsqlServer, url: string): string[] => [
  ...["--engine", "libsql-server", "--engine-url", url, "--engine-auth-token", token],
  ...["--engine-admin-url", adminUrl, "--engine-admin-token", adminToken as string],
];

function shareKeys(from: string, to: string): void {
  for (const folder of ["keys", "tls"]) mkdirSync(join(to, folder), { recursive: true, mode: 0o700 });
  for (const file of ["keys/seal.key", "keys/seal.pub", "tls/ca.crt", "tls/ca.key"])
    cpSync(join(from, file), join(to, file));
}
