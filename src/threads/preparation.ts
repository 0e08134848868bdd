/** Builds what the first screened write of a thread would otherwise wait for. */
import { setImmediate } from "node:timers/promises";
import { type Policies, prepare } from "../policy/decide.ts";

/** The one that most agents have comes first. */
const COMBINATIONS: readonly Policies[] = [
  { blockPii: true, blockSecrets: true },
  { blockPii: true, blockSecrets: false },
  { blockPii: false, blockSecrets: true },
];

/** One table after another; what waits on the thread has its turn in between. */
export async function prepareScreening(): Promise<void> {
  for (const policies of COMBINATIONS) {
    await setImmediate();
    prepare(policies);
  }
}
