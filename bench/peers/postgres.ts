/** PostgreSQL from Debian's packages, with a chain of SHA-256 that a trigger keeps, driven by pgbench. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { cpuSeconds } from "../processes.ts";
import { eventually, type Peer, Unavailable } from "./peer.ts";
import { pgbenchLoad } from "./pgbench.ts";

/** Where Debian keeps the programs of each version. */
const VERSIONS = "/usr/lib/postgresql";
const MAX_CONNECTIONS = 300;
const SETTINGS = {
  listen_addresses: "",
  max_connections: MAX_CONNECTIONS,
  shared_buffers: "256MB",
  max_wal_size: "4GB",
  fsync: "on",
  synchronous_commit: "on",
};

/** Returns the directory of the newest version's programs. Installs missing ones. @throws {Unavailable} if it cannot */
function programs(): string {
  const newest = () =>
    existsSync(VERSIONS)
      ? readdirSync(VERSIONS)
          .sort((a, b) => Number(a) - Number(b))
          .at(-1)
      : undefined;
  if (newest() === undefined) {
    const { success, stderr } = Bun.spawnSync(["sh", "-c", "apt-get update -qq && apt-get install -y -qq postgresql"], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      stdout: "ignore",
      stderr: "pipe",
    });
    const reason = stderr.toString().trim().split("\n").at(-1);
    if (!success)
      throw new Unavailable(`PostgreSQL was not measured: Debian's package could not be installed (${reason}).`);
  }
  return join(VERSIONS, newest() as string, "bin");
}

/** PostgreSQL refuses to run as root. */
const isRoot = userInfo().uid === 0;
const asUser = (command: string[]): string[] => (isRoot ? ["runuser", "-u", "postgres", "--", ...command] : command);

function run(command: string[], input?: string): string {
  const { success, stdout, stderr } = Bun.spawnSync(asUser(command), {
    cwd: "/",
    stderr: "pipe",
    ...(input === undefined ? {} : { stdin: Buffer.from(input) }),
  });
  if (!success) throw new Error(`${command[0]} failed: ${stderr}`);
  return stdout.toString();
}

export async function startPostgres(): Promise<Peer> {
  const bin = programs();
  const directory = mkdtempSync(join(tmpdir(), "governd-bench-postgres-"));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rmSync(directory, { recursive: true, force: true }));
  chmodSync(directory, 0o755);
  const own = join(directory, "own");
  mkdirSync(own);
  if (isRoot) Bun.spawnSync(["chown", "postgres", own]);
  const data = join(own, "data");
  run([join(bin, "initdb"), "--pgdata", data, "--auth", "trust", "--username", "bench", "--encoding", "UTF8"]);
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = Bun.spawn(asUser([join(bin, "postgres"), "-D", data, "-k", own, ...settings]), {
    cwd: "/",
    stdout: "ignore",
    stderr: Bun.file(join(directory, "log")),
  });
  const postmaster = () => Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
  cleanup.defer(async () => {
    // To the server itself, since runuser passes no signal on. SIGINT disconnects the clients.
    if (server.exitCode === null) process.kill(postmaster(), "SIGINT");
    await server.exited;
  });
  const psql = (input: string) =>
    run([join(bin, "psql"), "-h", own, "-U", "bench", "-qAt", "-v", "ON_ERROR_STOP=1", "postgres"], input);
  await eventually("PostgreSQL accepts connections", async () => psql("SELECT 1") === "1\n");
  psql(readFileSync(join(import.meta.dir, "postgres.sql"), "utf8"));
  const version = psql("SHOW server_version").split(" ")[0]?.trim();
  const resources = cleanup.move();
  return {
    name: `PostgreSQL ${version} with a chain`,
    does: "Its own protocol over a Unix socket, prepared statements, no account; upserts the entry, a trigger appends an event to a SHA-256 chain, and the commit is synced.",
    cpuSeconds: () => cpuSeconds(server.pid),
    write: (clients, seconds) => pgbenchLoad(join(bin, "pgbench"), { socket: own, clients, seconds }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
