/** What is different in the compiled binary, whose modules are in one bundle. */

/** Whether this is the compiled binary, and not the source. */
export const IS_COMPILED = !import.meta.path.endsWith(".ts");

/**
 * Returns the URL of a worker thread's entry point, given its source path below `src/`.
 *
 * Under Bun this is the source file itself. In the compiled binary all modules are in one bundle at the root, so a path
 * relative to the importing module would not be found. But the build keeps each worker at its own path
 * (`serve/threads/worker.ts` becomes `threads/worker.js`). The URL is absolute in both cases, so that a file of that name in
 * the current directory is never run instead.
 *
 * The build compiles every `worker.ts` and `*-worker.ts` under `src/` as an entry point.
 */
export function workerEntry(source: string): URL {
  return new URL(`./${IS_COMPILED ? source.replace(/\.ts$/, ".js") : source}`, import.meta.url);
}
