/** The built binary as a subprocess, with a workspace to load. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cpuSeconds, residentMiB } from "./processes.ts";

/** Where a daemon listens, and the authority of its certificate (PEM). */
export interface Server {
  url: string;
  authority: string;
}

/** Sends a request with a JSON body. */
export type Ask = (method: string, path: string, body?: unknown) => Promise<Response>;

/** Returns a function that sends requests with an API key. */
export const asking =
  ({ url, authority }: Server, apiKey: string): Ask =>
  (method, path, body) =>
    fetch(url + path, {
      method,
      headers: { "X-API-Key": apiKey, "Content-Type": "application/json" },
      tls: { ca: authority },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

/** How a daemon is started. */
interface StartOptions {
  /** Settings, as variables of the environment. */
  env?: Record<string, string>;
  /** Called with the path of the data directory before the first start. */
  prepare?(dataDir: string): void;
  /** Replaces the workspace's file while no daemon runs; the new one is sealed with the same key (PEM). */
  fill?(workspace: { id: string; file: string; sealKey: string }): void | Promise<void>;
}

export interface Daemon extends AsyncDisposable {
  url: string;
  server: Server;
  apiKey: string;
  workspaceId: string;
  workspaceFile: string;
  dataDir: string;
  /** From the start of the process to its first answer, ms. */
  startMs: number;
  /** Resident memory now, MiB. */
  residentMiB(): number;
  /** Processor time of the process so far, user and system, seconds. */
  cpuSeconds(): number;
  call: Ask;
  /** Creates another workspace and returns its API key. */
  createWorkspace(name: string): string;
}

/** Starts `binary` on a new data directory and creates a workspace. */
export async function startDaemon(
  binary: string,
  { env = {}, prepare = () => {}, fill }: StartOptions = {},
): Promise<Daemon> {
  await using stack = new AsyncDisposableStack();
  const dataDir = mkdtempSync(join(tmpdir(), "governd-bench-"));
  stack.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  prepare(dataDir);
  const environment = { ...process.env, ...env };
  const run = (...words: string[]): Record<string, string> => {
    const command = [binary, ...words, "--json", "--data-dir", dataDir];
    return JSON.parse(Bun.spawnSync(command, { env: environment, stderr: "inherit" }).stdout.toString());
  };
  const create = (name: string) => run("workspace", "create", "--name", name);
  const createFirst = async () => {
    // The first start creates keys and certificates, so only later starts are measured.
    await using _ = await spawnDaemon(binary, dataDir, environment);
    return create("bench");
  };
  const { workspace_id, api_key: first } = await createFirst();
  const workspaceFile = join(dataDir, "workspaces", `${workspace_id}.db`);
  const sealKey = readFileSync(join(dataDir, "keys", "seal.key"), "utf8");
  await fill?.({ id: workspace_id as string, file: workspaceFile, sealKey });
  // The new file has no keys.
  const api_key = fill === undefined ? first : run("key", "create", "--workspace", workspace_id as string).api_key;
  const { pid, url, startMs } = stack.use(await spawnDaemon(binary, dataDir, environment));
  const authority = readFileSync(join(dataDir, "tls", "ca.crt"), "utf8");
  const server = { url, authority };
  const running = stack.move();
  return {
    url,
    server,
    apiKey: api_key as string,
    workspaceFile,
    dataDir,
    startMs,
    residentMiB: () => residentMiB(pid),
    cpuSeconds: () => cpuSeconds(pid),
    call: asking(server, api_key as string),
    workspaceId: workspace_id as string,
    createWorkspace: (name) => create(name).api_key as string,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function spawnDaemon(binary: string, dataDir: string, env: Record<string, string | undefined>) {
  const started = performance.now();
  const child = Bun.spawn(
    [binary, "serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "warn"],
    { env, stdout: "pipe", stderr: "inherit" },
  );
  try {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk);
      if (text.includes("\n")) break;
    }
    const { address } = JSON.parse(text.slice(0, text.indexOf("\n"))) as { address: string };
    await fetch(`${address}/healthz`, { tls: { rejectUnauthorized: false } });
    const stop = async () => {
      child.kill("SIGTERM");
      await child.exited;
    };
    return { pid: child.pid, url: address, startMs: performance.now() - started, [Symbol.asyncDispose]: stop };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

/** The agents of the loads `write`, `read` and `search`: eight, each under both policies and with 100 entries. */
export async function prepareAgents({ call }: Daemon): Promise<void> {
  for (let agent = 0; agent < 8; agent++) {
    const agent_id = `bench-${agent}`;
    await succeed(call("PUT", `/v1/config/${agent_id}`, { policies: { block_pii: true, block_secrets: true } }));
    for (let i = 0; i < 100; i++) {
      const entry = { agent_id, key: `known/${i}`, value: "A note of some length." };
      await succeed(call("POST", "/v1/data/write", entry));
    }
  }
}

/** Reads a response to its end. Fails unless its status is one of success. */
export async function succeed(sent: Promise<Response>): Promise<string> {
  const answer = await sent;
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${new URL(answer.url).pathname} returned ${answer.status}: ${text.slice(0, 500)}`);
  return text;
}
