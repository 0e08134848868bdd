/** Failures of disk and file: they concern the whole transaction, not the operation that met them. */

/** Raised when the file's own state contradicts itself; the workspace must not be written then. */
export class DamagedWorkspace extends Error {
  override readonly name = "DamagedWorkspace";
}

export function isStorageFailure(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return (
    error instanceof DamagedWorkspace ||
    (typeof code === "string" &&
      /^SQLITE_(IOERR|FULL|READONLY|CORRUPT|NOTADB|CANTOPEN|BUSY|LOCKED|NOMEM|PROTOCOL)/.test(code))
  );
}

/**
 * For readers: whatever the database itself refuses. All SQL is ours, so a table that is not there, say,
 * is the file's fault.
 */
export function isReadFailure(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return isStorageFailure(error) || (typeof code === "string" && code.startsWith("SQLITE_"));
}
