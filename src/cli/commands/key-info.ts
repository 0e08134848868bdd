/** `governd key-info`: the public key that auditors need, and under which name it seals each workspace. */
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { listWorkspaces } from "../../control/workspaces.ts";
import { type DataDirectory, workspaceFile } from "../../datadir/layout.ts";
import { publicPem, readSealKey, sealKeySource } from "../../datadir/seal-key.ts";
import { sha256Hex } from "../../log/hash.ts";
import { parseVerifierKey } from "../../log/note.ts";
import { loadSettings } from "../../settings/load.ts";
import { sealingKey } from "../../state/seals.ts";
import { openConnection } from "../../store/connection.ts";
import { consult, directoryOf } from "../administer.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { printResult } from "../terminal.ts";

interface NamedKey {
  workspace_id: string;
  verifier_key: string;
  /** Whether this is the key at hand; otherwise the workspace cannot be sealed with it. */
  current: boolean;
}

export function addKeyInfo(program: Command, session: Session): void {
  const info = program
    .command("key-info")
    .description("show the public key that signs seals: what auditors need, and nothing secret")
    .option("--json", "print JSON")
    .action((options: { json?: boolean }) => showKeyInfo(session, options));
  addSettingOptions(info, ["data_dir", "encryption_key_file", "seal_key"]);
}

async function showKeyInfo({ terminal }: Session, options: { json?: boolean }): Promise<void> {
  const { settings } = loadSettings(settingFlags({ ...options }));
  const directory = directoryOf(settings);
  const key = readSealKey(sealKeySource(directory, settings.seal_key));
  const fingerprint = sha256Hex(key.publicBytes);
  const ids = consult({ ...options }, ({ connection }) => listWorkspaces(connection).map(({ id }) => id));
  const workspaces: NamedKey[] = [];
  for (const id of ids) {
    const named = await namedKey(directory, id);
    if (named === null) continue;
    const current = sha256Hex(parseVerifierKey(named).publicKey) === fingerprint;
    workspaces.push({ workspace_id: id, verifier_key: named, current });
  }
  const pem = publicPem(key);
  await printResult(terminal, options.json ?? false, { fingerprint, public_key: pem, workspaces }, [
    `Fingerprint (SHA-256)  ${fingerprint}`,
    "",
    pem.trimEnd(),
    ...workspaces.flatMap((workspace) => [
      "",
      `${workspace.workspace_id}${workspace.current ? "" : "  (sealed by another key than the one at hand)"}`,
      `  ${workspace.verifier_key}`,
    ]),
  ]);
}

async function namedKey(directory: DataDirectory, workspaceId: string): Promise<string | null> {
  const path = workspaceFile(directory, workspaceId);
  if (!existsSync(path)) return null;
  using connection = openConnection(path, { readOnly: true, encryptionKey: directory.encryptionKey });
  return await sealingKey(connection);
}
