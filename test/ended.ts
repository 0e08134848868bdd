/** Waits for a process to end. Returns its output and its exit code. */

export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** Reads both outputs while the process runs, so that a full pipe never blocks it. */
export async function ended(child: Bun.Subprocess<Bun.SpawnOptions.Writable, "pipe", "pipe">): Promise<Ended> {
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}
