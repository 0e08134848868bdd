/** Writes a workspace's own events straight to its file, beside a running daemon or before its first start. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import type { WorkspaceEvent, WorkspaceRecorder } from "../control/recorder.ts";
import { type DataDirectory, workspaceFile } from "../datadir/layout.ts";
import { readSealKey } from "../datadir/seal-key.ts";
import { Failure } from "../failure.ts";
import type { Principal } from "../workspace/contract.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../workspace/file.ts";
import { answered } from "../workspace/operation.ts";
import { WorkspaceWriter } from "../workspace/perform.ts";

/** The recorder of a process that owns no workspaces. */
export function workspaceRecorder(directory: DataDirectory): WorkspaceRecorder {
  return {
    async create({ id, name, actor }) {
      const { publicBytes } = readSealKey(directory);
      const signingKey = createHash("sha256").update(publicBytes).digest("hex");
      await createWorkspaceFile(workspaceFile(directory, id), { workspaceId: id, name, actor, signingKey });
    },
    async record(workspaceId, event) {
      const path = workspaceFile(directory, workspaceId);
      // Opening would make an empty database where there is none.
      if (!existsSync(path)) {
        throw new Failure(
          "data_directory_unusable",
          `The workspace's file ${path} is missing: restore it from a backup.`,
        );
      }
      const writer = new WorkspaceWriter(openWorkspaceFile(path));
      try {
        await append(writer, event);
      } finally {
        writer.close();
      }
    },
  };
}

async function append(writer: WorkspaceWriter, { operation, actor, details }: WorkspaceEvent): Promise<void> {
  const principal: Principal = { actor, workspaceId: writer.workspaceId, scope: "full", agents: null };
  const run = async () => answered(null, details, "{}");
  const [settled] = await writer.perform([{ operation, principal, run }]);
  if (settled?.auditId) return;
  throw new Failure(
    "busy",
    "The workspace could not be written just now, so nothing was changed. Is the disk full, or the daemon very busy? Try again.",
  );
}
