/** What can stop a command, in the words of the field; stable, since scripts read them with `--json`. */
export type FailureCode =
  | "usage"
  | "invalid_settings"
  | "port_in_use"
  | "address_unavailable"
  | "data_directory_in_use"
  | "data_directory_unusable"
  | "certificate_unusable"
  | "encryption_key"
  | "newer_database"
  | "migration_failed"
  | "backup_unusable"
  | "destination_unusable"
  | "not_found"
  | "busy"
  | "evidence_unreadable"
  | "environment";

/** The exit codes of every command: done, the answer is no, usage or environment. */
export const EXIT = { done: 0, no: 1, trouble: 2 } as const;

/**
 * A failure that is explained to the person who typed the command: one clear line that says what to do,
 * without a stack trace. Anything else that is thrown is a defect of the program and is shown as one.
 */
export class Failure extends Error {
  override readonly name = "Failure";

  constructor(
    readonly code: FailureCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Stack frames that tell where an error happened. */
const MAX_FRAMES = 12;

/** Where an error happened; its message is left out, since it may repeat what a client sent. */
export function stackFrames(error: unknown): string[] {
  const { stack } = (error ?? {}) as { stack?: unknown };
  if (typeof stack !== "string") return [];
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return frames.slice(0, MAX_FRAMES).map((frame) => frame.trim());
}

/** The `code` of a system error (`ENOENT`, `EACCES`, …), or undefined. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return undefined;
}

/** A system error in words a person knows, for the end of a line: "permission denied", "no such file". */
export function systemReason(error: unknown): string {
  switch (systemCode(error)) {
    case "EACCES":
    case "EPERM":
      return "permission denied";
    case "ENOENT":
      return "no such file or directory";
    case "ENOTDIR":
      return "a part of the path is not a directory";
    case "EISDIR":
      return "it is a directory";
    case "EROFS":
      return "the file system is read-only";
    case "ENOSPC":
      return "no space left on the device";
    default:
      return messageOf(error);
  }
}

/** What an error says, or what was thrown in place of one. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
