/** `npm run cluster`: what it prints to try works, and nothing of it is left in the end. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { eventually } from "../eventually.ts";
import { LIBSQL_SERVER } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const ROOT = join(import.meta.dir, "../..");

/** A port with three more behind it, below those that the system gives to connections. */
const somePort = (): number => 12_000 + ((crypto.getRandomValues(new Uint16Array(1))[0] as number) % 1_900) * 4;

/** Starts it, and returns what it has printed when it is ready. */
async function started(): Promise<{ child: Bun.Subprocess<"ignore", "pipe", "pipe">; said: string }> {
  const child = Bun.spawn([process.execPath, "scripts/cluster.ts", "--port", String(somePort())], {
    cwd: ROOT,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let said = "";
  for await (const piece of child.stdout) {
    said += new TextDecoder().decode(piece);
    if (said.includes("Ctrl-C ends everything")) break;
  }
  return { child, said };
}

const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`);

test.skipIf(LIBSQL_SERVER === null || Bun.which("curl") === null)("its commands do what they say", async () => {
  const { child, said } = await started();
  try {
    const commands = said.split("\n").filter((line) => /^ {2}(export|api|kill|for|npm) ?/.test(line));
    const only = (pattern: RegExp) => commands.filter((line) => pattern.test(line)).join("\n");
    const shell = async (...lines: string[]) => {
      const script = [only(/^ {2}(export KEY|api\(\))/), ...lines].join("\n");
      const run = Bun.spawn(["sh", "-c", script], { cwd: ROOT, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
      return (await new Response(run.stdout).text()) + (await new Response(run.stderr).text());
    };
    const written = await shell(only(/data\/write/));
    expect(written).toContain('"allowed":true');
    const reads = only(/^ {2}api .*data\/read/);
    expect(await shell(reads)).toContain('"value":"written on node 1"');
    const pids = [...said.matchAll(/process (\d+)/g)].map(([, pid]) => Number(pid));
    expect(pids).toHaveLength(4);
    expect(await shell(only(/^ {2}kill/))).toBe("");
    await eventually("another node serves the workspace at the one address", async () => {
      const once = only(/^ {2}for/)
        .replace(/for i in [\d ]+;/, "for i in 1;")
        .replace(/sleep \d+/, "true");
      return (await shell(once)).includes('"value":"written on node 1"');
    });
    const verified = await shell(only(/^ {2}export GOVERND_ENGINE_AUTH_TOKEN/), only(/^ {2}npm/));
    expect(verified).toContain("Verified: ");
    const directory = dirname(dirname(dirname(/CA=(\S+)/.exec(said)?.[1] as string)));
    expect(existsSync(directory)).toBe(true);
    child.kill("SIGINT");
    expect(await child.exited).toBe(0);
    expect(pids.filter(isRunning)).toEqual([]);
    expect(existsSync(directory)).toBe(false);
  } finally {
    child.kill("SIGINT");
    await child.exited;
  }
});
