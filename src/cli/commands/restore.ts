/** `governd restore`: a backup into an empty data directory, verified before it is declared done. */
import type { Command } from "commander";
import { type Restored, restoreBackup } from "../../backup/restore.ts";
import { readEncryptionKey } from "../../datadir/encryption-key.ts";
import { systemClock } from "../../ids.ts";
import { loadSettings } from "../../settings/load.ts";
import { count } from "../check/findings.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { printResult } from "../terminal.ts";
import { Progress } from "../verify/progress.ts";

interface RestoreOptions {
  partial?: boolean;
  json?: boolean;
}

const DESCRIPTION = `restore a backup into an empty data directory

Every file is compared with the backup's manifest and every log is verified before anything is declared
done. Each workspace's log then says that it was restored, and from what: a new epoch, which auditors see.
All sessions and unused one-time links end; API keys that were revoked after the backup work again until
they are revoked again.`;

export function addRestore(program: Command, session: Session): void {
  const restore = program
    .command("restore")
    .summary("restore a backup into an empty data directory")
    .description(DESCRIPTION)
    .argument("<backup>", "one backup: a directory with a manifest.json")
    .option("--partial", "also one that lacks workspaces, which were damaged when it was made")
    .option("--json", "print JSON")
    .action((backup: string, options: RestoreOptions) => runRestore(session, backup, options));
  addSettingOptions(restore, ["data_dir", "encryption_key_file", "seal_key"]);
}

async function runRestore({ terminal }: Session, backup: string, options: RestoreOptions): Promise<void> {
  const { settings } = loadSettings(settingFlags({ ...options }));
  const progress = new Progress(terminal, !options.json);
  let restored: Restored;
  try {
    restored = await restoreBackup({
      backup,
      dataDir: settings.data_dir,
      sealKey: settings.seal_key,
      encryptionKey: readEncryptionKey(settings.encryption_key_file),
      partial: options.partial ?? false,
      clock: systemClock,
      onProgress: (done, total) => progress.step(done, total, "bytes"),
    });
  } finally {
    await progress.clear();
  }
  await printResult(terminal, options.json ?? false, resultOf(restored), linesOf(restored));
}

function resultOf(restored: Restored) {
  return {
    data_dir: restored.dataDir,
    backup_created_at: restored.backupCreatedAt,
    workspaces: restored.workspaces,
    left_out: restored.leftOut,
    unsealed: restored.unsealed.map(({ workspaceId, reason }) => ({ workspace_id: workspaceId, reason })),
    ended_sessions: restored.ended.sessions,
    ended_links: restored.ended.links,
  };
}

function linesOf(restored: Restored): string[] {
  const { workspaces, dataDir, backupCreatedAt, leftOut, unsealed, ended } = restored;
  const lines = [
    `Restored ${count(workspaces, "workspace")} into ${dataDir}, as they were at ${backupCreatedAt}, verified.`,
    "  The log of each says so (log.restore): what was recorded after the backup is gone, and auditors will see that.",
    `  Ended ${count(ended.sessions, "session")} and ${count(ended.links, "unused link")}. Keys that were revoked since work again: governd key list`,
  ];
  for (const { workspace_id: id, reason } of leftOut) lines.push(`  Not in the backup: ${id} (${reason})`);
  for (const { workspaceId, reason } of unsealed)
    lines.push(`  Not sealed yet, the daemon will try: ${workspaceId} (${reason})`);
  return lines;
}
