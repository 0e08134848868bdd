/** Something that must not be left behind by a process that a signal ends. */
import { rmSync } from "node:fs";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Has a signal remove `paths` before it ends the process, until the returned object is disposed of. */
export function removedOnSignal(paths: () => readonly string[]): Disposable {
  const onSignal = (signal: NodeJS.Signals) => {
    stop();
    for (const path of paths()) rmSync(path, { recursive: true, force: true });
    // With the handler gone, the signal does what it does by default.
    process.kill(process.pid, signal);
  };
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return { [Symbol.dispose]: stop };
}
