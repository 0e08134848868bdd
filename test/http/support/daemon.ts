/** Runs the daemon as its own process in a fresh directory, with one workspace and a key of each scope. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { GOVERND } from "../../cli/governd-process.ts";
import { inMemory } from "../../temporary.ts";
import type { Answered, Sent } from "./serve.ts";

export class DaemonProcess implements AsyncDisposable {
  readonly #process: Bun.Subprocess<"ignore", "pipe", "ignore">;
  readonly #directory: string;
  readonly #url: string;
  readonly #ca: string;
  readonly keys: Readonly<Record<"full" | "agent" | "auditor" | "limited", string>>;

  private constructor(
    process: Bun.Subprocess<"ignore", "pipe", "ignore">,
    directory: string,
    ready: { address: string; ca_file: string },
    ca: string,
    keys: DaemonProcess["keys"],
  ) {
    this.#process = process;
    this.#directory = directory;
    this.#url = ready.address;
    this.#ca = ca;
    this.keys = keys;
  }

  static async start(): Promise<DaemonProcess> {
    const directory = mkdtempSync(join(inMemory(), "governd-http-"));
    const dataDir = ["--data-dir", join(directory, "data")];
    const daemon = Bun.spawn([...GOVERND, "serve", ...dataDir, "--listen", "127.0.0.1:0"], {
      env: {},
      stdin: "ignore",
      stdout: "pipe",
      // The request log; what a test needs to know is in the answers.
      stderr: "ignore",
    });
    const ready = JSON.parse(await firstLine(daemon.stdout)) as { address: string; ca_file: string };
    const made = await command("workspace", "create", "--name", "tests", ...dataDir);
    const key = async (...options: string[]) =>
      (await command("key", "create", "--workspace", made.workspace_id as string, ...options, ...dataDir))
        .api_key as string;
    const keys = {
      full: made.api_key as string,
      agent: await key("--scope", "agent"),
      auditor: await key("--scope", "auditor"),
      limited: await key("--agent", "mine"),
    };
    return new DaemonProcess(daemon, directory, ready, await Bun.file(ready.ca_file).text(), keys);
  }

  /** Sends a request; `key` is one of this daemon's keys, the full one if none is named. */
  async send(sent: Sent): Promise<Answered> {
    const response = await fetch(this.#url + sent.path, {
      method: sent.method ?? (sent.body === undefined ? "GET" : "POST"),
      headers: {
        "x-api-key": sent.key ?? this.keys.full,
        ...(sent.body === undefined ? {} : { "content-type": "application/json" }),
        ...sent.headers,
      },
      ...(sent.body === undefined ? {} : { body: JSON.stringify(sent.body) }),
      tls: { ca: this.#ca },
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/") === true && text !== "";
    return { status: response.status, headers: response.headers, text, json: isJson ? tryJson(text) : null };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGTERM");
    await this.#process.exited;
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the daemon ended before it was ready");
    text += decoder.decode(value, { stream: true });
  }
  // What follows is drained, so that the daemon never waits for a full pipe.
  void (async () => {
    while (!(await reader.read()).done);
  })();
  return text.slice(0, text.indexOf("\n"));
}

async function command(...args: string[]): Promise<Record<string, unknown>> {
  const child = Bun.spawn([...GOVERND, ...args, "--json"], { env: {}, stdout: "pipe", stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${args.join(" ")} failed`);
  return JSON.parse(text) as Record<string, unknown>;
}
