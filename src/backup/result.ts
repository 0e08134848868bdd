/** What `governd backup --json` prints. The daemon reads it from the backups that it runs. */
export interface BackupResult {
  path: string;
  created_at: string;
  completed_at: string;
  workspaces: number;
  left_out: readonly { workspace_id: string; reason: string }[];
  files: number;
  files_unchanged: number;
  bytes: number;
  has_seal_key: boolean;
  removed: readonly string[];
}
