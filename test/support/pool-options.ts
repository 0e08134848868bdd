/** The options of a pool of workspace threads in tests, except those that each test states. */

import { NO_SITE } from "../../src/core/writer/site.ts";
import { AMPLE } from "../../src/serve/threads/descriptors.ts";
import type { PoolOptions } from "../../src/serve/threads/pool.ts";

const SEARCH_MEMORY_BYTES = 16 * 1024 * 1024;
/** As in the daemon: far more than a test stores. */
const FULL_TEXT_FROM = 300_000;
/** Longer than any test. */
const NEVER_MS = 3_600_000;

/** Returns the options with the workspaces and the files of seals in one directory. */
export function poolOptions(
  directory: string,
  key: PoolOptions["sealing"]["key"],
  stated: Pick<PoolOptions, "onFailure"> & Partial<PoolOptions> & { sealIntervalMs?: number },
): PoolOptions {
  const { sealIntervalMs = NEVER_MS, ...rest } = stated;
  return {
    workspacesDir: directory,
    encryptionKey: null,
    server: null,
    quota: null,
    site: NO_SITE,
    answerBytes: 0,
    clockOffsetMs: 0,
    searchMemoryBytes: SEARCH_MEMORY_BYTES,
    fullTextFrom: FULL_TEXT_FROM,
    embeddings: null,
    threads: 1,
    open: AMPLE,
    sealing: { sealsDir: directory, key, intervalMs: sealIntervalMs },
    ...rest,
  };
}
