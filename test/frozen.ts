/** Stops processes. The kernel stops the threads of a process one by one, a moment after SIGSTOP is sent. */
import { readdirSync, readFileSync } from "node:fs";
import { eventually } from "./eventually.ts";

/** Stops a process. Resolves when all of its threads have stopped; SIGCONT continues it. Linux only. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  await eventually(`process ${pid} has stopped`, () => threadStates(pid).every((state) => state === "T"));
}

/** Returns the state of each thread, a letter of proc(5): `T` for a thread that has stopped. */
const threadStates = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
    // The name of the program is in parentheses, and may itself contain parentheses.
    return stat.slice(stat.lastIndexOf(")") + 2).charAt(0);
  });
