/**
 * How long the allocator keeps freed memory before it returns it to the system.
 *
 * The runtime's allocator (Bun's fork of mimalloc) returns it after 0.1 s, and searches used blocks for free pages
 * whenever a thread waits. A busy daemon needs the same memory again at once, and each page must then be cleared anew,
 * which was a third of the processor time of a batch. After two seconds, the memory of a burst is still returned soon.
 */
const SETTINGS = {
  MIMALLOC_PURGE_DELAY: "2000", // ms
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "2000", // ms
};

/**
 * Makes the allocator keep freed memory for longer. Settings that the environment already has are kept. The allocator
 * reads them only when a process starts, so this replaces the running program by itself, once (execve(2)). If the
 * system refuses that, it returns, and the daemon takes more processor time.
 */
export function keepFreedMemory(): void {
  if (Object.keys(SETTINGS).every((name) => name in process.env)) return;
  const { argv0, argv, execArgv, execPath, env } = process;
  // The second word is the source file, or a path within the binary.
  const words = import.meta.path.endsWith(".ts") ? [...execArgv, ...argv.slice(1)] : argv.slice(2);
  try {
    process.execve?.(execPath, [argv0, ...words], { ...SETTINGS, ...env });
  } catch {
    // The daemon works without.
  }
}
