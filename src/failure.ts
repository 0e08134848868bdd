import { readFileSync } from "node:fs";

/** Why a command can fail. The codes are stable, since scripts read them with `--json`. */
export const FAILURE_CODES = [
  "usage",
  "invalid_settings",
  "port_in_use",
  "address_unavailable",
  "data_directory_in_use",
  "data_directory_unusable",
  "engine_unusable",
  "certificate_unusable",
  "encryption_key",
  "newer_database",
  "migration_failed",
  "backup_unusable",
  "destination_unusable",
  "not_found",
  "busy",
  "last_owner",
  "engine_unavailable",
  "outcome_unknown",
  "evidence_unreadable",
  "path_unusable",
  "environment",
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

/** The exit codes of every command: success, the answer is no, usage or environment. */
export const EXIT = { done: 0, no: 1, trouble: 2 } as const;

/**
 * A failure with a message for the person who ran the command: it says what is wrong and what to do, and is printed
 * without a stack trace. Any other error is a bug and is reported as one.
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

/** The most stack frames to report. */
const MAX_FRAMES = 12;

/** Returns the stack frames of an error without its message, which may repeat what a client sent. */
export function stackFrames(error: unknown): string[] {
  const { stack } = (error ?? {}) as { stack?: unknown };
  if (typeof stack !== "string") return [];
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return frames.slice(0, MAX_FRAMES).map((frame) => frame.trim());
}

/** Returns the `code` of a system error (`ENOENT`, `EACCES`, …), or undefined. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return undefined;
}

/** Describes a system error for the end of a message: "permission denied", "no such file or directory". */
export function systemReason(error: unknown): string {
  switch (systemCode(error)) {
    case "EACCES":
      return "permission denied";
    case "EPERM":
      return "the system does not permit it, or the file system does not support it";
    case "ENOTSUP":
    case "EOPNOTSUPP":
    case "ENOSYS":
      return "the file system does not support it";
    case "ENOENT":
      return "no such file or directory";
    case "ENOTDIR":
      return "a part of the path is not a directory";
    case "EISDIR":
      return "it is a directory";
    case "ELOOP":
      return "too many symbolic links";
    case "ENAMETOOLONG":
      return "the name is too long";
    case "EROFS":
      return "the file system is read-only";
    case "ENOSPC":
      return "no space left on the device";
    case "EDQUOT":
      return "the quota of the disk is used up";
    default:
      return messageOf(error);
  }
}

/** Returns a system error as a failure with the message for its reason, and any other error as it is. */
export function asFailure(error: unknown, code: FailureCode, message: (reason: string) => string): unknown {
  if (error instanceof Failure || systemCode(error) === undefined) return error;
  return new Failure(code, message(systemReason(error)), { cause: error });
}

/** Returns the failure for something that cannot be read, given the error of the system. */
export function cannotRead(code: FailureCode, what: string, error: unknown): Failure {
  return new Failure(code, `Cannot read ${what}: ${systemReason(error)}.`, { cause: error });
}

/**
 * Returns the text of a file that a person named. `what` says what the file is: "the sealing key".
 * @throws {Failure} with this code when it cannot be read
 */
export function readText(code: FailureCode, path: string, what?: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw cannotRead(code, what === undefined ? path : `${what} ${path}`, error);
  }
}

/** Returns the message of an error, or any other thrown value as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns what `work` returns; null when it throws an error of this class. */
export function orNull<T>(errors: abstract new (...args: never[]) => Error, work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof errors) return null;
    throw error;
  }
}
