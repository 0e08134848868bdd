/**
 * The request of `governd compact` to the running daemon, which alone may work on the files that it has open. The
 * command leaves a file with the request, which the daemon looks for, and the daemon writes a file with its answer.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { systemCode } from "../../failure.ts";
import type { Compacted } from "../../store/compaction.ts";
import type { DataDirectory } from "./layout.ts";
import { createPrivateFile, replaceFile } from "./private-files.ts";

export interface CompactRequest {
  /** Distinguishes the answer from the answer to an earlier request. */
  id: string;
  workspaceId: string;
}

interface CompactAnswer {
  id: string;
  compacted: Compacted;
}

/** Leaves a request for the daemon. Returns false when another request waits. */
export const leaveRequest = ({ compactRequest }: DataDirectory, request: CompactRequest): boolean =>
  createPrivateFile(compactRequest, JSON.stringify(request));

/** Returns the waiting request; null without one. @throws {SyntaxError} when the file is not JSON */
export const readRequest = ({ compactRequest }: DataDirectory): CompactRequest | null => read(compactRequest);

export function answerRequest(directory: DataDirectory, answer: CompactAnswer): void {
  replaceFile(directory.compactResult, JSON.stringify(answer));
  dropRequest(directory);
}

export const dropRequest = ({ compactRequest }: DataDirectory): void => rmSync(compactRequest, { force: true });

/** Returns the answer to a request and removes its file. Returns null as long as there is no answer. */
export function takeAnswer({ compactResult }: DataDirectory, id: string): CompactAnswer | null {
  const answer = read<CompactAnswer>(compactResult);
  if (answer?.id !== id) return null;
  rmSync(compactResult, { force: true });
  return answer;
}

function read<T>(path: string): T | null {
  if (!existsSync(path)) return null;
  try {
    return JSON.parse(readFileSync(path, "utf8")) as T;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null; // removed meanwhile
    throw error;
  }
}
