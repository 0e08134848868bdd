/** Processor time and memory of processes, from /proc. Linux only. */
import { readdirSync, readFileSync } from "node:fs";

/** Linux counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

/** Returns the resident memory of one process, MiB. */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/**
 * Returns the processor time, user and system, of a process, its running descendants, and those that have ended,
 * seconds. A server with a process for each connection is counted as a whole.
 */
export function cpuSeconds(root: number): number {
  const children = new Map<number, number[]>();
  const ticks = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? readStat(name) : null;
    if (stat === null) continue;
    const pid = Number(name);
    ticks.set(pid, stat.ticks);
    children.set(stat.parent, [...(children.get(stat.parent) ?? []), pid]);
  }
  if (!ticks.has(root)) throw new Error(`there is no process ${root}`);
  let sum = 0;
  const pending = [root];
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    sum += ticks.get(pid) ?? 0;
    pending.push(...(children.get(pid) ?? []));
  }
  return sum / TICKS_PER_SECOND;
}

/** Returns the parent and the time of a process with its ended children, or null when it has just ended. */
function readStat(pid: string): { parent: number; ticks: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program's name, in parentheses, may contain spaces, so the fields are counted after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(fields[1]), ticks: fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) };
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}
