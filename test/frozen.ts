/** Waits until a process that was sent SIGSTOP has stopped: the kernel stops its threads one by one, a moment later. */
import { readdirSync, readFileSync } from "node:fs";
import { eventually } from "./eventually.ts";

/** Stops a process. Resolves when all of its threads have stopped; SIGCONT lets it go on. Linux only. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  await eventually(`process ${pid} has stopped`, () => threadStates(pid).every((state) => state === "T"));
}

/** Returns the state of each thread, a letter as proc(5) has it: `T` for one that has stopped. */
const threadStates = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
    // The name of the program is in parentheses and may itself hold some.
    return stat.slice(stat.lastIndexOf(")") + 2).charAt(0);
  });
